"""From results to the tables of README.md and DETAILS.md."""

from collections.abc import Callable, Sequence
from typing import Any

from experiments.mnist.aims import aims
from experiments.mnist.settings import BEST, DRAWN, GROUPS, PAPER, PAPER_C, PRINTED, printed_for
from experiments.results import Results
from experiments.tables import NONE, Table, Tables, bold, marked, number, row_name

HEADS = ("row", "mean R", "R < −7 in 1000", "replications", "paper: mean R", "paper: R < −7")
Row = dict[str, Any]

SHOWN = {
    "ours": (
        "MaximumExpectedReward",
        *(f"TailAverse(risk={risk})" for risk in (0.2, 0.05, 0.01)),
        *(f"Conservative(risk={risk})" for risk in (0.1, 0.01)),
    ),
    "limit": ("MaximumExpectedReward", "TailAverse(risk=0.05)"),
}
"""The strategies on the first page; of one reading of the paper and of the trivial rules all are there."""


SHORT = (DRAWN, f"{PAPER}, standardised rewards")
"""The readings on the project's results page."""


def main_table(results: Results) -> Table:
    """Our best, one reading of the paper's model, what needs no data, and what full information gives."""
    limit = f"full information, {BEST}"
    kept = [
        row
        for row in _ordered(results)
        if row["group"] == "trivial"
        or row["model"] == DRAWN
        or (row["model"] in (BEST, limit) and row["strategy"] in SHOWN[row["group"]])
    ]
    best = max((row["mean"] for row in kept if row["group"] != "limit"), default=None)
    lines = [
        (
            row_name(row),
            bold(_mean(row), row["mean"] == best),
            _below(row),
            str(row["replications"]),
            *_printed(row),
        )
        for row in kept
    ]
    return Table(HEADS, lines)


def short_table(results: Results) -> Table:
    """For the project's results page."""
    wanted = {BEST: ("MaximumExpectedReward", "TailAverse(risk=0.05)"), "constant 5": ("",)}
    theirs = [name.replace("Conservative", "PerAttribute") for name in PRINTED]
    kept = [
        row
        for row in _ordered(results)
        if row["strategy"] in (theirs if row["model"] in SHORT else wanted.get(row["model"], ()))
    ]
    lines = [(row_name(row), _mean(row), _below(row), str(row["replications"]), *_printed(row)) for row in kept]
    return Table(HEADS, lines)


def aims_table(results: Results) -> Table:
    """What was aimed at before anything was run, and what came of it."""
    heads = ("aim", "nearest row", "mean R", "R < −7 in 1000", "replications without any", "reached")
    lines = [
        (
            words,
            row_name(row),
            _mean(row),
            _below(row),
            _percent(row["never_below"]),
            "yes" if reached else "no",
        )
        for words, row, reached in aims(_ordered(results))
    ]
    return Table(heads, lines)


def reached_table(results: Results) -> Table:
    """For every number the paper prints the readings that reach it, or the nearest one."""
    heads = ("the paper prints", "mean R", "reached by", "nearest", "its mean R", "R < −7: the paper", "there")
    theirs = [row for row in _ordered(results) if row["group"] == "paper"]
    lines = []
    for strategy, (mean, error, below, _) in PRINTED.items():
        rows = [row for row in theirs if printed_for(row["strategy"]) == PRINTED[strategy]]
        if not rows:
            continue
        near = [row for row in rows if is_reached(row, mean, error)]
        nearest = min(rows, key=lambda row: abs(row["mean"] - mean))
        reached = "; ".join(_reading(row, strategy) for row in near) or "none"
        printed = f"{number(mean, 2)} ± {error:.2f}"
        lines.append(
            (strategy, printed, reached, _reading(nearest, strategy), _mean(nearest), f"{below:.1f}", _below(nearest))
        )
    return Table(heads, lines)


def readings_table(results: Results) -> Table:
    """Every reading of the paper's model beside what the paper prints; c compared pixel by pixel."""
    strategies = ("Imputation", "MaximumExpectedReward", *(f"PerAttribute(c={c})" for c in PAPER_C))
    heads = ("reading", *strategies[:2], *(f"c = {c}" for c in PAPER_C))
    printed = (printed_for(strategy) for strategy in strategies)
    lines = [("*as the paper prints*", *("" if one is None else _both(one[0], one[2]) for one in printed))]
    rows = {(row["model"], row["strategy"]): row for row in _ordered(results) if row["group"] == "paper"}
    for model in dict.fromkeys(model for model, _ in rows):
        cells = (rows.get((model, strategy)) for strategy in strategies)
        told = ("" if row is None else _both(row["mean"], row["below"]) for row in cells)
        lines.append((model.removeprefix(f"{PAPER}, "), *told))
    return Table(heads, lines)


def is_reached(row: Row, mean: float, error: float) -> bool:
    """Whether a printed mean is within two standard errors of the difference."""
    return abs(row["mean"] - mean) <= 2 * (row["mean_error"] ** 2 + error**2) ** 0.5


def _reading(row: Row, strategy: str) -> str:
    c = ", c by pixel" if row["strategy"] != strategy else ""
    return row["model"].removeprefix(f"{PAPER}, ") + c


def left_table(results: Results) -> Table:
    """The images on which our most careful row of a good mean still failed."""
    left = (results["left"] or {"images": []})["images"]
    lines = [
        (
            str(image["image"]),
            str(image["digit"]),
            ", ".join(map(str, image["answers"])),
            str(image["below"]),
            str(image["tested"]),
        )
        for image in left
    ]
    return Table(("image", "it was", "answered", "tests with R < −7", "tests"), lines)


def every_table(results: Results) -> Table:
    heads = ("mean R", "R < −7 in 1000", "never below −7", "right answers", "mean R on unseen images", "replications")
    lines = [
        (
            row_name(row),
            _mean(row),
            _below(row),
            _percent(row["never_below"]),
            _percent(row["correct"]),
            NONE if row["unseen_mean"] is None else number(row["unseen_mean"]),
            str(row["replications"]),
        )
        for row in _ordered(results)
    ]
    return Table(("row", *heads), lines)


def shares_table(key: str) -> Callable[[Results], Table]:
    """How often each of ten things happened: an action, or a distance."""

    def table(results: Results) -> Table:
        lines = [(row_name(row), *(_percent(share) for share in row[key])) for row in _ordered(results)]
        return Table(("row", *(str(digit) for digit in range(10))), lines)

    return table


def seconds_table(results: Results) -> Table:
    rows = {row["model"]: row for row in reversed(_ordered(results)) if row["group"] != "trivial"}
    lines = [
        (marked(model, row["group"]), f"{row['seconds']:.1f}", row["machine"]) for model, row in reversed(rows.items())
    ]
    return Table(("model", "seconds for one replication", "machine"), lines)


def runs_table(results: Results) -> Table:
    keys = ("images", "side", "learnt_from", "tested", "replications", "seed")
    heads = ("images", "pixels to a side", "learnt from", "tested", "replications", "seed")
    return Table(heads, [tuple(str(results[key]) for key in keys)])


TABLES: Tables = {
    "digits": main_table,
    "mnist": short_table,
    "aims": aims_table,
    "reached": reached_table,
    "readings": readings_table,
    "left": left_table,
    "every row": every_table,
    "actions": shares_table("actions"),
    "distances": shares_table("rewards"),
    "seconds": seconds_table,
    "runs": runs_table,
}


# --- parts ---


def _ordered(results: Results) -> Sequence[Row]:
    """Group by group."""
    return sorted(results["rows"], key=lambda row: GROUPS.index(row["group"]))


def _mean(row: Row) -> str:
    return f"{number(row['mean'])} ± {row['mean_error']:.3f}"


def _below(row: Row) -> str:
    return f"{row['below']:.2f} ± {row['below_error']:.2f}"


def _both(mean: float, below: float) -> str:
    return f"{number(mean, 2)}; {below:.1f}"


def _printed(row: Row) -> tuple[str, str]:
    """What the paper prints for a row."""
    printed = printed_for(row["strategy"]) if row["group"] == "paper" else None
    if printed is None:
        return "", ""
    mean, mean_error, below, below_error = printed
    return f"{number(mean, 2)} ± {mean_error:.2f}", f"{below:.1f} ± {below_error:.2f}"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
