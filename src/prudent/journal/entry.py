"""What a journal keeps of one piece of advice, and what became known of it later."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from prudent.errors import InputProblem, Rule, check, number

_ID = re.compile(r"[0-9a-f]{32}")
_RULES = {
    "id": Rule("be 32 hexadecimal digits, as of Entry.new", lambda id: isinstance(id, str) and bool(_ID.fullmatch(id))),
    "model": Rule(
        "be the hash of a model, as of hash_of(folder)", lambda model: isinstance(model, str) and bool(model)
    ),
    "case": Rule("be a mapping of columns to cells", lambda case: isinstance(case, Mapping)),
    "advice": Rule("be a mapping with an 'action'", lambda advice: isinstance(advice, Mapping) and "action" in advice),
    "probability": number(0, 1, "(]"),
    "source": Rule('be text such as "api"', lambda source: isinstance(source, str) and bool(source)),
}


@dataclass(frozen=True)
class Entry:
    """One piece of advice as it was given.

    at: when, in UTC. model: the hash of the model's folder, see `hash_of`. case: the cells by column, None where empty.
    advice: the columns of `recommend`, at least `action` (None: referred to a person). probability: with which this
    action was advised to this case: 1 by a rule without chance, less by a lottery. source: "api", "page" or
    "cds-hooks".
    """

    id: str
    at: datetime
    model: str
    case: Mapping[str, object]
    advice: Mapping[str, object]
    probability: float
    source: str

    def __post_init__(self) -> None:
        check("Entry", _RULES, vars(self))
        if not isinstance(self.at, datetime) or self.at.tzinfo is None:
            raise InputProblem(f"The 'at' parameter of Entry must be a moment in UTC. Got {self.at!r} instead.")

    @staticmethod
    def new(
        model: str,
        case: Mapping[str, object],
        advice: Mapping[str, object],
        probability: float = 1.0,
        source: str = "api",
        at: datetime | None = None,
    ) -> "Entry":
        """An entry with an id of its own, and of this moment by default."""
        return Entry(uuid4().hex, datetime.now(UTC) if at is None else at, model, case, advice, probability, source)


@dataclass(frozen=True)
class Recorded:
    """An entry as it is in the journal, with the action that was taken and the outcome, where they are known.

    Something was recorded where the moment is not None. declined_at: when the advice was declined, be it unknown what
    was done instead.
    """

    entry: Entry
    took: Any = None
    took_at: datetime | None = None
    reward: float | None = None
    reward_at: datetime | None = None
    declined_at: datetime | None = None

    @property
    def declined(self) -> bool:
        """Whether the last that is known is a refusal."""
        return self.declined_at is not None and (self.took_at is None or self.declined_at > self.took_at)

    @property
    def action_taken(self) -> Any:
        """None where it is not known, or where it was withdrawn."""
        return None if self.declined else self.took


@dataclass(frozen=True)
class Correction:
    """An action taken ("took") or an outcome ("reward") that was replaced by another later on."""

    id: str
    what: str
    value: Any
    value_at: datetime
    replaced_at: datetime
