"""Whether cases look like the decisions that a guarantee compares them with, as far as their records show.

A permutation test: if the two groups are exchangeable, dealing their rows anew gives differences as large as theirs.
All columns are tested at once by their largest difference, so many columns give no more false alarms than one.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.stats import rankdata

from prudent.show import counted
from prudent.table import Encoded, Log, Schema

SIGNIFICANCE = 0.01
PERMUTATIONS = 999
MOST_ROWS = 4000  # of each group: a difference that these do not show is small
ENOUGH_CASES = 20  # of fewer, only differences are worth a sentence: likeness would not have shown
NAMED = 3


class Feature(NamedTuple):
    """A number per row, and what is said of the second group where it is larger or smaller on average."""

    values: np.ndarray
    larger: str
    smaller: str


class Difference(NamedTuple):
    """How likely exchangeable groups differ as much, and which features differ, the largest difference first."""

    p_value: float
    features: tuple[str, ...]

    @property
    def is_found(self) -> bool:
        return self.p_value <= SIGNIFICANCE

    def __str__(self) -> str:
        named = ", ".join(self.features[:NAMED])
        more = len(self.features) - NAMED
        return f"{named} and {counted(more, 'more difference')}" if more > 0 else named


def likeness(log: Log, cases: Encoded, seed: int) -> list[str]:
    """What is to be said of whether cases are like the decisions of a log."""
    return _likeness_sentences(unlikeness(log, cases, seed), len(cases.observed), len(log))


def unlikeness(log: Log, cases: Encoded, seed: int) -> Difference:
    """How cases differ from the decisions of a log, in values and gaps."""
    random = np.random.default_rng([seed, 4])
    logged, new = _some(len(log), random), _some(len(cases.observed), random)
    values = np.concatenate([log.values[logged], cases.values[new]])
    observed = np.concatenate([log.observed[logged], cases.observed[new]])
    features = list(record_features(log.schema, values, observed))
    return difference(features, np.arange(len(values)) >= len(logged), random)


def drift(log: Log, scores: np.ndarray, seed: int) -> list[str]:
    """What is to be said of whether decisions change along a log; `scores` are NaN where there is none."""
    random = np.random.default_rng([seed, 5])
    rows = _some(len(log), random)
    scored, ranks = ~np.isnan(scores[rows]), np.zeros(len(rows))
    ranks[scored] = rankdata(scores[rows][scored]) - (scored.sum() + 1) / 2
    below = "below their prediction"
    outcomes = Feature(ranks, f"outcomes fall further {below}", f"outcomes fall less far {below}")
    features = [outcomes, *record_features(log.schema, log.values[rows], log.observed[rows])]
    return _drift_sentences(difference(features, np.arange(len(rows)) >= len(rows) // 2, random))


def record_features(schema: Schema, values: np.ndarray, observed: np.ndarray) -> Iterator[Feature]:
    """Of every column: its gaps, and its levels, or its size and scatter in ranks; a gap counts as an average cell."""
    for at, column in enumerate(schema.columns):
        seen, name = observed[:, at], f"'{column.name}'"
        yield Feature((~seen).astype(float), f"{name} is missing more often", f"{name} is missing less often")
        cells = values[seen, at]
        if column.likelihood == "categorical":
            for index, level in enumerate(column.categories):
                share = np.zeros(len(values))
                share[seen] = (np.rint(cells) == index) - np.mean(np.rint(cells) == index) if len(cells) else 0.0
                yield Feature(share, f"{name} is more often '{level}'", f"{name} is less often '{level}'")
            continue
        rank, far = np.zeros(len(values)), np.zeros(len(values))
        rank[seen] = rankdata(cells) / max(len(cells), 1) - (len(cells) + 1) / (2 * max(len(cells), 1))
        far[seen] = np.abs(rank[seen]) - np.mean(np.abs(rank[seen])) if len(cells) else 0.0
        yield Feature(rank, f"{name} is higher", f"{name} is lower")
        yield Feature(far, f"{name} is more often extreme", f"{name} is less often extreme")


def difference(features: list[Feature], second: np.ndarray, random: np.random.Generator) -> Difference:
    """Compare the rows marked in `second` with the others."""
    table = np.stack([feature.values for feature in features], axis=1)
    table, size = table - table.mean(axis=0), int(second.sum())
    spread = table.std(axis=0)
    table = table[:, spread > 0] / spread[spread > 0]
    shown = [feature for feature, some in zip(features, spread, strict=True) if some > 0]
    if not shown or not 0 < size < len(second):
        return Difference(1.0, ())
    dealt = np.stack([random.permutation(second) for _ in range(PERMUTATIONS)]).astype(float)
    largest = np.abs(dealt @ table).max(axis=1)
    sums = second.astype(float) @ table
    limit, order = np.quantile(largest, 1 - SIGNIFICANCE), np.argsort(-np.abs(sums))
    p_value = (1 + int(np.sum(largest >= np.abs(sums).max() - 1e-9))) / (1 + PERMUTATIONS)
    names = [shown[at].larger if sums[at] > 0 else shown[at].smaller for at in order if np.abs(sums[at]) > limit]
    return Difference(p_value, tuple(names))


def _some(rows: int, random: np.random.Generator) -> np.ndarray:
    """Row numbers, no more than are compared, in their order."""
    return np.sort(random.permutation(rows)[:MOST_ROWS])


def _likeness_sentences(found: Difference, cases: int, decisions: int) -> list[str]:
    """What is said of cases that were compared with the held-out decisions."""
    named, compared = counted(cases, "case"), f"{counted(decisions, 'held-out decision')}"
    if found.is_found:
        verb = "is" if cases == 1 else "are"
        return [
            f"The {named} {verb} not like the {compared} that the guaranteed bounds rest on (permutation test, "
            f"p = {found.p_value:.3f}): {found}. The bounds may not hold; compare with decisions about such cases."
        ]
    if cases < ENOUGH_CASES:
        return []
    return [
        f"The {named} look like the {compared} that the guaranteed bounds rest on, in values and gaps (permutation "
        f"test, p = {found.p_value:.2g}); what was not recorded may still differ."
    ]


def _drift_sentences(found: Difference) -> list[str]:
    """What is said of held-out decisions whose later half was compared with the earlier one."""
    if not found.is_found:
        return []
    return [
        f"In the order of the file, the second half of the held-out decisions is unlike the first (permutation test, "
        f"p = {found.p_value:.3f}): {found}. If that is the order of time, cases change, and guaranteed bounds may not "
        f"hold for the next ones; if the file is sorted, it means nothing."
    ]
