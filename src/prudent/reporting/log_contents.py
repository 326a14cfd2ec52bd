"""What a log holds: rows, columns with their gaps, gaps that come together, actions and their overlap."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from prudent.evaluation import Evaluation
from prudent.propensity import Overlap
from prudent.table import ActionSummary, ColumnSummary, Log, count_groups, gap_patterns

MOST_PATTERNS = 10
MOST_PAIRS, RELATED = 5, 0.2
"""Pairs of columns whose gaps are named, and the least correlation worth naming."""


@dataclass(frozen=True)
class Pattern:
    """Columns that are missing together, and in how many rows."""

    missing: tuple[str, ...]
    rows: int


@dataclass(frozen=True)
class GapsTogether:
    """Two columns whose gaps come together more often than by chance; correlation: of which rows have them."""

    column: str
    other: str
    correlation: float


@dataclass(frozen=True)
class LogContents:
    """All rows of the log, also those that cannot be evaluated. overlap: by the propensities of the evaluation.

    common: the most frequent patterns of gaps; there are `distinct_patterns` of them. together: pairs of columns whose
        gaps are most related, the closest first.
    """

    rows: int
    rewarded: int
    groups: int | None
    censored: int | None
    columns: tuple[ColumnSummary, ...]
    actions: tuple[ActionSummary, ...]
    gap_share: float
    complete_rows: int
    empty_rows: int
    distinct_patterns: int
    common: tuple[Pattern, ...]
    together: tuple[GapsTogether, ...]
    overlap: Overlap
    propensity_known: bool


def log_contents(log: Log, evaluation: Evaluation) -> LogContents:
    summary, gaps, names = log.summary(), gap_patterns(log.observed, MOST_PATTERNS), log.schema.names
    return LogContents(
        rows=summary.rows,
        rewarded=summary.rewarded,
        groups=count_groups(log.groups),
        censored=None if log.censored is None else int(log.censored.sum()),
        columns=summary.columns,
        actions=summary.actions,
        gap_share=gaps.gap_share,
        complete_rows=gaps.complete_rows,
        empty_rows=gaps.empty_rows,
        distinct_patterns=gaps.distinct_patterns,
        common=tuple(Pattern(tuple(names[at] for at in missing), rows) for missing, rows in gaps.common),
        together=tuple(_together(log.observed, names)),
        overlap=evaluation.propensity.overlap(),
        propensity_known=evaluation.propensity.probabilities is None,
    )


def _together(observed: np.ndarray, names: Sequence[str]) -> Iterator[GapsTogether]:
    share = observed.mean(axis=0)
    gappy = np.flatnonzero((share > 0) & (share < 1))
    if len(gappy) < 2:
        return
    related = np.triu(np.corrcoef(observed[:, gappy].astype(np.float64), rowvar=False), k=1)
    for at in np.argsort(-related, axis=None)[:MOST_PAIRS].tolist():
        one, other = divmod(at, len(gappy))
        if related[one, other] >= RELATED:
            yield GapsTogether(names[int(gappy[one])], names[int(gappy[other])], float(related[one, other]))
