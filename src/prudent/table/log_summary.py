"""What `prudent inspect` prints of a log."""

from dataclasses import dataclass

from prudent.show import log_text, plain_types
from prudent.table.role_columns import ActionLabel


@dataclass(frozen=True)
class ColumnSummary:
    """One feature: `gap_share` of its cells are empty; `shows` are its levels or its range."""

    name: str
    kind: str
    gap_share: float
    shows: str


@dataclass(frozen=True)
class ActionSummary:
    """One action: rows where it was taken with a known reward, and their mean reward in the user's sign."""

    label: ActionLabel
    rows: int
    mean_reward: float


@dataclass(frozen=True)
class LogSummary:
    """Rows, features, actions and notes of a log; `print` shows them, and never a row."""

    rows: int
    rewarded: int
    columns: tuple[ColumnSummary, ...]
    actions: tuple[ActionSummary, ...]
    notes: tuple[str, ...]

    def __str__(self) -> str:
        return log_text(plain_types(self))
