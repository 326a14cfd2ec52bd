"""From results to the tables of README.md and DETAILS.md."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import mean
from typing import Any

from experiments.ihdp.settings import (
    BEST,
    CONDITIONAL,
    GROUPS,
    HYPER,
    HYPER_SHARE,
    PRINTED,
    PRINTED_ERRORS,
    REFERENCE,
    SHARES,
    SIMILARITY,
)
from experiments.results import Results
from experiments.tables import NONE, Table, Tables, bold, marked

RESPECTED = ("MI, ridge per arm", REFERENCE, BEST)
PRINTED_AS = (SIMILARITY, CONDITIONAL)
"""The paper's two models: every reading is shown as it is, not in its doubly robust form."""
Row = dict[str, Any]


@dataclass(frozen=True)
class Column:
    """How one number of a row is written, and the number whose smallest value marks the best row (or None)."""

    write: Callable[[Row], str]
    rank: Callable[[Row], float] | None = None

    def cells(self, rows: dict[str, Row], names: Sequence[str]) -> list[str]:
        """In the order of `names`; the best row that is not a limit in bold."""
        rank = self.rank
        rivals = {name: row for name, row in rows.items() if row["group"] != "limit"}
        best = min(rivals, key=lambda name: rank(rivals[name])) if rank and rivals else None
        return [bold(self.write(rows[name]), name == best) if name in rows else NONE for name in names]


ERROR = Column(lambda row: _with_error(row["error"], row["error_se"]), lambda row: row["error"])
MEDIAN = Column(lambda row: f"{row['error_median']:.3f}", lambda row: row["error_median"])
DELTA = Column(lambda row: _with_error(row["delta"], row["delta_se"]), lambda row: row["delta"])
PEHE = Column(lambda row: f"{row['pehe']:.2f} ({row['pehe_median']:.2f})", lambda row: row["pehe"])
POLICY = Column(lambda row: f"{row['policy_value']:.3f}", lambda row: -row["policy_value"])
PAIRED = Column(lambda row: _paired(row["paired"]))
AGAINST = Column(lambda row: _paired(row["best_against"]))


def errors_table(results: Results) -> Table:
    """|τ̂ − 4| at every share by the best estimators of each method, with what the paper prints beside it."""
    shares = results["pages"]["shared"]["shares"]
    names = _best_names(shares)
    beside = _printed_beside(shares, names)
    columns, heads = [], []
    for share, rows in shares.items():
        at = SHARES.index(float(share)) if float(share) in SHARES else None
        printed = {} if at is None else {name: f"{numbers[at]:.2f}" for name, numbers in beside.items()}
        columns += [ERROR.cells(rows, names), [printed.get(name, "") for name in names]]
        heads += [_percent(share), "paper"]
    return _table("row", heads, names, columns, shares)


def _printed_beside(shares: Results, names: Sequence[str]) -> dict[str, tuple[float, ...]]:
    """The paper prints the best of a method's estimators, so its numbers belong to the best of our rows; its two
    methods are printed as they are."""
    beside = {}
    for key, numbers in PRINTED.items():
        variants = [name for name in names if _begins(name, key)]
        if key in PRINTED_AS:
            beside |= dict.fromkeys(variants, numbers)
        elif variants:
            beside[min(variants, key=partial(_mean_error, shares))] = numbers
    return beside


def _best_names(shares: Results) -> list[str]:
    """Of each method the row of least mean error, and the rows that the experiment must respect."""
    names = _names(shares)
    method_of = {name: row["method"] for rows in shares.values() for name, row in rows.items()}
    of_paper = {name for rows in shares.values() for name, row in rows.items() if row["group"] == "paper"}
    others = [name for name in names if name not in of_paper]
    families = [[name for name in others if method_of[name] == method] for method in method_of.values()]
    families += [[name for name in others if _begins(name, key)] for key in PRINTED]
    best = {min(family, key=partial(_mean_error, shares)) for family in families if family}
    readings = {name for name in of_paper if name == method_of[name]}
    return [name for name in names if name in best or name in readings or name in RESPECTED]


def _mean_error(shares: Results, name: str) -> float:
    return mean(rows[name]["error"] for rows in shares.values() if name in rows)


def against_table(results: Results) -> Table:
    """Our best row against the best of every method, on the same replications."""
    shares = results["pages"]["shared"]["shares"]
    names = [name for name in _best_names(shares) if name != BEST]
    columns = [AGAINST.cells(rows, names) for rows in shares.values()]
    return _table(f"{BEST} against", [_percent(share) for share in shares], names, columns, shares)


def reached_table(results: Results) -> Table:
    """For every number the paper prints of its two models the readings that reach it, or the nearest one."""
    shares, lines = results["pages"]["shared"]["shares"], []
    for key in PRINTED_AS:
        for share, rows in shares.items():
            theirs = {name: row for name, row in rows.items() if _begins(name, key) and row["method"] == name}
            if float(share) not in SHARES or not theirs:
                continue
            at = SHARES.index(float(share))
            printed, error = PRINTED[key][at], PRINTED_ERRORS[key][at]
            near = [name for name, row in theirs.items() if _is_reached(row, printed, error)]
            nearest = min(theirs, key=lambda name, rows=theirs, to=printed: abs(rows[name]["error"] - to))
            words = [name.removeprefix(f"{key}, ") for name in (*near, nearest)]
            reached = "; ".join(words[:-1]) or "none"
            what = f"{key.partition(' ')[0]}, {_percent(share)}", f"{printed:.2f} ± {error:.2f}"
            lines.append((*what, reached, words[-1], ERROR.write(rows[nearest])))
    return Table(("the paper prints", "error", "reached by", "nearest", "its error"), lines)


def _is_reached(row: Row, printed: float, error: float) -> bool:
    """Whether a printed error is within two standard errors of the difference; printed numbers are rounded."""
    return abs(row["error"] - printed) <= 2 * (row["error_se"] ** 2 + error**2) ** 0.5 + 0.005


def short_table(results: Results) -> Table:
    """For the project's results page: the rows to respect, the best of every other rival, ours and what is possible."""
    shares = results["pages"]["shared"]["shares"]
    groups = {name: row["group"] for rows in shares.values() for name, row in rows.items()}
    kept = [name for name in _best_names(shares) if groups[name] != "ours" or name == BEST or name in PRINTED_AS]
    columns = [ERROR.cells(rows, kept) for rows in shares.values()]
    return _table("row", [_percent(share) for share in shares], kept, columns, shares)


def every_error_table(results: Results) -> Table:
    return _by_share(results, "shared", [("", ERROR)])


def paired_table(results: Results) -> Table:
    """The difference to the reference on the same replications."""
    return _by_share(results, "shared", [("", PAIRED)])


def medians_table(results: Results) -> Table:
    return _by_share(results, "shared", [("median, ", MEDIAN), ("Δ, ", DELTA)])


def policies_table(results: Results) -> Table:
    """Effects of single rows, and what treating by them earns, between what needs no method and what none can beat."""
    table = _by_share(results, "shared", [("PEHE, ", PEHE), ("policy, ", POLICY)])
    page = results["pages"]["shared"]
    count = len(page["shares"])
    known = [(name, *([NONE] * count), *([f"{value:.3f}"] * count)) for name, value in page["policy_values"].items()]
    return Table(table.header, [*known[:-1], *table.rows, *known[-1:]])


def second_table(page: str) -> Callable[[Results], Table]:
    """Errors and paired differences of another kind of gaps."""
    return lambda results: _by_share(results, page, [("", ERROR), ("paired, ", PAIRED)])


def hyper_table(results: Results) -> Table:
    """SPVAE at the sizes of the paper's table, in the paper's order."""
    rows = results["pages"]["hyper"]["shares"].get(f"{HYPER_SHARE:g}", {})
    lines = []
    for sizes in HYPER:
        row = next((row for name, row in rows.items() if _begins(name, sizes.name)), None)
        measured = (DELTA.write(row), ERROR.write(row)) if row else (NONE, NONE)
        lines.append((str(sizes.latent), str(sizes.batch), str(sizes.summary), f"{sizes.printed:.4f}", *measured))
    return Table(("latent", "batch", "summary", "paper", "Δ", r"\|τ̂ − 4\|"), lines)


def seconds_table(results: Results) -> Table:
    """How long each method took for one share of the first page, all of its variants together."""
    shares = results["pages"]["shared"]["shares"]
    lines = []
    for method, group in {row["method"]: row["group"] for rows in shares.values() for row in rows.values()}.items():
        first = [next((row for row in rows.values() if row["method"] == method), None) for rows in shares.values()]
        rows = [row for row in first if row is not None]
        seconds = sum(row["seconds"] for row in rows) / len(rows)
        machines = "; ".join(dict.fromkeys(row["machine"] for row in rows))
        speed = rows[0]["n"] / max(seconds, 1e-9)
        lines.append(
            (marked(method, group), f"{seconds:,.1f}", f"{speed:,.3g}" if speed < 100 else f"{speed:,.0f}", machines)
        )
    return Table(("method", "seconds", "replications per second", "machine"), lines)


def runs_table(results: Results) -> Table:
    words = {"shared": "one mask for all", "fresh": "a mask for each", "mar": "a mask for each, missing at random"}
    pages = results["pages"].items()
    lines = [(name, words[page["gaps"]], str(page["replications"]), str(results["seed"])) for name, page in pages]
    return Table(("page", "gaps", "replications", "seed"), lines)


TABLES: Tables = {
    "errors": errors_table,
    "against": against_table,
    "reached": reached_table,
    "ihdp": short_table,
    "every error": every_error_table,
    "paired": paired_table,
    "medians": medians_table,
    "policies": policies_table,
    "hyper": hyper_table,
    "fresh": second_table("fresh"),
    "mar": second_table("mar"),
    "seconds": seconds_table,
    "runs": runs_table,
}


# --- parts ---


def _by_share(results: Results, page: str, kinds: Sequence[tuple[str, Column]]) -> Table:
    shares = results["pages"][page]["shares"]
    names = _names(shares)
    heads = [word + _percent(share) for word, _ in kinds for share in shares]
    return _table(
        "row", heads, names, [kind.cells(rows, names) for _, kind in kinds for rows in shares.values()], shares
    )


def _table(corner: str, heads: Sequence[str], names: list[str], columns: list[list[str]], shares: Results) -> Table:
    groups = {name: row["group"] for rows in shares.values() for name, row in rows.items()}
    first = [marked(name, groups[name]) for name in names]
    return Table((corner, *heads), [tuple(line) for line in zip(first, *columns, strict=True)])


def _names(shares: Results) -> list[str]:
    """Every row of any share, group by group."""
    groups = {name: row["group"] for rows in shares.values() for name, row in rows.items()}
    return sorted(groups, key=lambda name: GROUPS.index(groups[name]))


def _begins(name: str, key: str) -> bool:
    return name == key or name.startswith((f"{key},", f"{key} "))


def _percent(share: str) -> str:
    return f"{100 * float(share):g} %"


def _with_error(mean: float, error: float) -> str:
    return f"{mean:.3f} ± {error:.3f}"


def _paired(difference: Row | None) -> str:
    """Bold where the whole interval is on the better side."""
    if difference is None:
        return NONE
    low, high = difference["low"], difference["high"]
    if low == high == 0:
        return "0"
    text = f"{difference['difference']:+.3f} ({low:+.3f} to {high:+.3f})".replace("-", "−")
    return bold(text, high < 0)
