"""What a report is about and how much work goes into it."""

from collections.abc import Sequence
from dataclasses import dataclass

from prudent.errors import Rule, check, is_whole, number, optional, whole

_RULES = {
    "below": optional(number()),
    "confidence": number(0, 1, "()"),
    "cases": whole(0, 100),
    "seed": whole(),
    **dict.fromkeys(
        ("completed_rows", "measured_rows", "hidden_rows", "evaluated_rows"),
        Rule("be a whole number of at least 2", lambda rows: is_whole(rows, 2)),
    ),
}


@dataclass(frozen=True)
class ReportSettings:
    """below: outcomes worse than this are bad; by default the worst tenth of those logged.

    cases: how many are explained. labels: whose case each row of the log is; None shows no identifiers.
    evaluated_rows: the rows that policies are judged by, at most. completed_rows, measured_rows, hidden_rows: the rows,
        at random, in which cells are hidden and completed, gaps are valued, and every column is hidden in turn.
    """

    title: str = "Report on a policy"
    intended_use: str | None = None
    below: float | None = None
    confidence: float = 0.95
    cases: int = 10
    labels: Sequence[str | None] | None = None
    seed: int = 0
    evaluated_rows: int = 20_000
    completed_rows: int = 2000
    measured_rows: int = 500
    hidden_rows: int = 500

    def __post_init__(self) -> None:
        check("ReportSettings", _RULES, vars(self))
