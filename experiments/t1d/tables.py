"""From results to the tables of README.md and DETAILS.md."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from experiments.results import Results
from experiments.t1d.data import MECHANISMS
from experiments.t1d.settings import BEST, GROUPS, PRINTED
from experiments.t1d.verdict import (
    CarefulVerdict,
    Difference,
    ExpectedVerdict,
    Measure,
    best,
    careful_verdict,
    expected_verdict,
    paired,
    rivals_of,
)
from experiments.tables import NONE, Table, Tables, bold, marked, number, row_name

Row = dict[str, Any]
HEADS = ("row", "mean R", "R < −2, %", "under 70 mg/dl, %", "under 54, %", "mean dose", "replications")
PRINTED_HEADS = ("mean R", "R < −2, %")
AHEAD = "ahead in"
TUNED = f"{BEST}, tuned (four members, ordered, varying noise, 400 rounds)"
DEFAULTS = f"{BEST}, defaults"

CLAIMED = ("MaximumExpectedReward", "Conservative(c=0.4)", "PerAttribute(c=0.4)")
"""The strategies that the paper's claims are about."""
SHOWN = (
    "MaximumExpectedReward",
    *(f"TailAverse(risk={risk})" for risk in (0.5, 0.2, 0.05)),
    *(f"Conservative(risk={risk})" for risk in (0.1, 0.01)),
)
"""The strategies of ours on the first page; of the others all are there, of several variants the best one."""


def rows_of(results: Results, clinic: str) -> Sequence[Row]:
    """Group by group; none where a clinic was not run."""
    rows = results.get("clinics", {}).get(clinic, {}).get("rows", [])
    return sorted(rows, key=lambda row: GROUPS.index(row["group"]))


def best_variants(rows: Sequence[Row]) -> list[Row]:
    """Of a rival's imputations, and of the constant doses, the one with the best mean, as the paper does."""
    best_rows: dict[object, Row] = {}
    for row in rows:
        merged = row["group"] in ("rival", "trivial")
        key = (row["group"], row["model"]) if merged else row["name"]
        if key not in best_rows or row["mean"] > best_rows[key]["mean"]:
            best_rows[key] = row
    return list(best_rows.values())


def main_table(results: Results, clinic: str = MECHANISMS[0]) -> Table:
    rows = [
        row for row in best_variants(rows_of(results, clinic)) if row["group"] != "ours" or row["strategy"] in SHOWN
    ]
    top = max((row["mean"] for row in rows if row["group"] != "limit"), default=None)
    lines = [(*_main(row, row["mean"] == top), *_printed(row)) for row in rows]
    # the virtual patients are not the paper's
    whose = "paper, other data" if clinic in MECHANISMS else "paper"
    return Table((*HEADS, *(f"{whose}: {head}" for head in PRINTED_HEADS)), lines)


def claims_table(results: Results, clinic: str = MECHANISMS[0]) -> Table:
    """What the paper claims of its models, as differences, for each reading: they can be held against other data."""
    rows = {row["name"]: row for row in rows_of(results, clinic)}
    rival = best(rivals_of(list(rows.values())), "mean")
    lines: list[tuple[str, ...]] = [
        ("as the paper prints, SPVAE", "+0.02", "−0.70", ""),
        ("as the paper prints, CPVAE", "+0.03", "−1.30", ""),
    ]
    for model in dict.fromkeys(row["model"] for row in rows.values() if row["group"] == "paper"):
        expected, *careful = (rows.get(f"{model}, {name}") for name in CLAIMED)
        ahead = _against(expected, rival, "mean") if expected else None
        fewer = [_against(row, expected, "below") if row else None for row in careful]
        lines.append(
            (model, *(_difference(one, times)[0] for one, times in ((ahead, 1), *((one, 100) for one in fewer))))
        )
    whose = f"mean R of MaximumExpectedReward less {rival['name'] if rival else 'that of the best rival'}"
    points = "R < −2 of {}(c=0.4) less that of MaximumExpectedReward, points"
    return Table(("reading", whose, *(points.format(name) for name in ("Conservative", "PerAttribute"))), lines)


def short_table(results: Results) -> Table:
    """For the page of all results: ours by their settings, the rivals, and what bounds them."""
    wanted = {"ours": ("MaximumExpectedReward", "TailAverse(risk=0.5)"), "paper": ("MaximumExpectedReward",)}
    rows = [
        row
        for row in best_variants(rows_of(results, MECHANISMS[0]))
        if row["strategy"] in wanted.get(row["group"], (row["strategy"],))
        and row["name"] != "uniform"
        and (row["group"] != "ours" or row["model"] in (BEST, f"{BEST}, noise=0.5", DEFAULTS))
    ]
    return Table(HEADS, [_main(row | {"name": _with_settings(row)}) for row in rows])


def _with_settings(row: Row) -> str:
    """The row's name with the settings that its model was tuned to."""
    return row["name"] if row["model"] == DEFAULTS else row["name"].replace(BEST, TUNED)


def every_table(results: Results, clinic: str) -> Table:
    lines = [(*_main(row), _percent(row["correct"])) for row in rows_of(results, clinic)]
    return Table((*HEADS, "a best dose, %"), lines)


def paired_table(results: Results, clinic: str) -> Table:
    """Every row against the best rival of each measure."""
    rows = rows_of(results, clinic)
    measures: dict[Measure, tuple[int, str]] = {"mean": (1, "mean R"), "below": (100, "R < −2, points")}
    heads: list[str] = []
    columns: list[list[tuple[str, str]]] = []
    for measure, (times, word) in measures.items():
        rival = best(rivals_of(rows), measure)
        heads += [f"{word} against {_counted(rival) if rival else 'the best rival'}", AHEAD]
        columns.append([_difference(_against(row, rival, measure), times) for row in rows])
    lines = [(row_name(row), *first, *second) for row, first, second in zip(rows, *columns, strict=True)]
    return Table(("row", *heads), lines)


def against_table(results: Results, clinic: str) -> Table:
    """Our expected reward against every rival."""
    verdict = expected_verdict(rows_of(results, clinic))
    lines = [(name, *_difference(difference, 1)) for name, difference in (verdict.against if verdict else ())]
    return Table(("rival", f"{BEST}, MaximumExpectedReward: mean R above it", AHEAD), lines)


def verdict_table(results: Results) -> Table:
    lines: list[tuple[str, ...]] = []
    for name, clinic in results.get("clinics", {}).items():
        rows = rows_of(results, name)
        expected = expected_verdict(rows, clinic.get("rivals", ()))
        if expected is not None:
            lines.append((clinic["title"], "with MaximumExpectedReward, every rival in mean R", *_expected(expected)))
        readings: dict[Measure, str] = {"below": "lowest share", "mean": "best mean"}
        for measure, word in readings.items():
            careful = careful_verdict(rows, best(rivals_of(rows), measure))
            if careful is not None:
                aim = f"half the R < −2 of the rival with the {word}, at no lower mean"
                lines.append((clinic["title"], aim, *_careful(careful)))
    return Table(("clinic", "to beat", "reached", "how"), lines)


def doses_table(results: Results, clinic: str) -> Table:
    units = results.get("clinics", {}).get(clinic, {}).get("units", [])
    lines = [(row_name(row), *(_percent(share) for share in row["doses"])) for row in rows_of(results, clinic)]
    return Table(("row, % of meals by units", *(f"{unit:g}" for unit in units)), lines)


def seconds_table(results: Results) -> Table:
    rows = {
        row["model"]: row
        for clinic in reversed(list(results.get("clinics", {})))
        for row in rows_of(results, clinic)
        if row["seconds"] > 0
    }
    lines = [(marked(name, row["group"]), f"{row['seconds']:.1f}", row["machine"]) for name, row in rows.items()]
    return Table(("model", "seconds for one replication", "machine"), lines)


def runs_table(results: Results) -> Table:
    keys = ("learnt_from", "tested", "replications", "seed")
    lines = [tuple(str(results[key]) for key in keys)] if "seed" in results else []
    return Table(("learnt from", "tested", "replications", "seed"), lines)


TABLES: Tables = {
    **{f"insulin {clinic}": partial(main_table, clinic=clinic) for clinic in MECHANISMS},
    "verdict": verdict_table,
    "claims": claims_table,
    "t1d": short_table,
    **{f"every row {clinic}": partial(every_table, clinic=clinic) for clinic in MECHANISMS},
    **{f"against {clinic}": partial(against_table, clinic=clinic) for clinic in MECHANISMS},
    **{f"paired {clinic}": partial(paired_table, clinic=clinic) for clinic in MECHANISMS},
    **{f"doses {clinic}": partial(doses_table, clinic=clinic) for clinic in MECHANISMS},
    "seconds": seconds_table,
    "runs": runs_table,
}


# --- parts ---


def _main(row: Row, best: bool = False) -> tuple[str, ...]:
    mean = f"{number(row['mean'])} ± {row['mean_error']:.3f}"
    shares = (
        NONE if row[key] is None else f"{_percent(row[key])} ± {_percent(row[f'{key}_error'])}"
        for key in ("below", "low", "serious")
    )
    return row_name(row), bold(mean, best), *shares, f"{row['dose']:.2f}", str(row["replications"])


def _printed(row: Row) -> tuple[str, str]:
    """What the paper prints for a row."""
    own = f"{row['model'].partition(' ')[0]}, {row['strategy'].replace('PerAttribute', 'Conservative')}"
    printed = PRINTED.get(own if row["group"] == "paper" else row["model"])
    if printed is None:
        return "", ""
    mean, mean_error, below, below_error = printed
    return f"{number(mean, 2)} ± {mean_error:.2f}", f"{_percent(below)} ± {_percent(below_error)}"


def _against(row: Row, rival: Row | None, measure: Measure) -> Difference | None:
    return None if rival is None or rival["name"] == row["name"] else paired(row, rival, measure)


def _difference(difference: Difference | None, times: float) -> tuple[str, str]:
    if difference is None:
        return "", ""
    digits = 3 if times == 1 else 2
    return _signed(difference, times, digits), f"{difference.ahead} of {difference.of}"


def _signed(difference: Difference, times: float = 1, digits: int = 3) -> str:
    return f"{times * difference.value:+.{digits}f} ± {times * difference.error:.{digits}f}".replace("-", "−")


def _expected(verdict: ExpectedVerdict) -> tuple[str, str]:
    name, least = verdict.least_certain
    run, missing = len(verdict.against), len(verdict.not_run)
    details = [
        f"ahead of {verdict.beaten} of {run}",
        *([f"of {run + missing} rivals, {missing} not run"] if missing else []),
        f"least certain {name}: {_signed(least)}, ahead in {least.ahead} of {least.of} replications",
    ]
    so_far = ", so far" if missing and verdict.word != "no" else ""
    return verdict.word + so_far, "; ".join(details)


def _careful(verdict: CarefulVerdict) -> tuple[str, str]:
    rival, row = verdict.rival, verdict.row
    both = (
        f"{_counted(one)} has {_percent(one['below'])} % at a mean of {number(one['mean'])}" for one in (rival, row)
    )
    shared = (
        f"over the {verdict.mean.of} they share, its share less half of the rival's is "
        f"{_signed(verdict.below, 100, 2)} points and its mean less the rival's {_signed(verdict.mean)}"
    )
    return verdict.word, "; ".join([*both, shared])


def _counted(row: Row) -> str:
    return f"{row['name']} ({row['replications']} replications)"


def _percent(share: float) -> str:
    return f"{100 * share:.2f}"
