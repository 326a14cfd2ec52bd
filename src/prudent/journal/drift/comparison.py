"""One comparison of then and now."""

from dataclasses import dataclass
from enum import StrEnum


class Subject(StrEnum):
    """What is compared."""

    VALUES = "values"
    GAPS = "gaps"
    UNREAD = "not readable"
    ADVICE = "advice"
    OUTCOME_LEVEL = "outcomes against predictions"
    OUTCOME_RANGE = "outcomes outside their ranges"
    OUTCOME_CHANGE = "prediction errors"


@dataclass(frozen=True)
class Comparison:
    """subject: what. column: of the case; empty for advice and outcomes. then, now: in words. p: of nothing having
    changed, before allowing for the number of comparisons; `adjusted` after."""

    subject: Subject
    column: str
    then: str
    now: str
    p: float
    adjusted: float = 1.0
