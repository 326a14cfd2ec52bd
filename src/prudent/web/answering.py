"""What every door of the server has in common: the model, the threads, the limits and the journal."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from starlette.exceptions import HTTPException

from prudent.decide import Advice, Explanation
from prudent.errors import InputProblem
from prudent.web.choices import Choice
from prudent.web.limits import Limits, Workers
from prudent.web.recorder import Recorder, entries_of
from prudent.web.service import Allowed, Case, Service


@dataclass(frozen=True, eq=False)
class Answering:
    """Answers that are in the journal before anybody sees them."""

    service: Service
    workers: Workers
    limits: Limits
    recorder: Recorder | None

    def recommend(
        self, cases: Sequence[Case], choice: Choice, allowed: Allowed = None, measure: bool = False, *, source: str
    ) -> tuple[Advice, Sequence[str | None]]:
        """Advice, and the ids of its entries in the journal."""
        advice = self.service.recommend(cases, choice, allowed, measure)
        return advice, self.record(advice, cases, source)

    def explain(
        self, case: Case, choice: Choice, allowed: Allowed = None, *, source: str
    ) -> tuple[Advice, Explanation, str | None]:
        advice, explanation = self.service.explain(case, choice, allowed)
        return advice, explanation, self.record(advice, [case], source)[0]

    def recommend_table(self, frame: Any, choice: Choice, allowed: Any, measure: bool) -> tuple[Advice, Sequence[Any]]:
        """The same for an uploaded table."""
        advice = self.service.recommend_table(frame, choice, allowed, measure)
        cases = [] if self.recorder is None else frame.to_dicts()
        return advice, self.record(advice, cases, "table") if cases else [None] * len(advice)

    def record(self, advice: Advice, cases: Sequence[Case], source: str) -> Sequence[str | None]:
        if self.recorder is None:
            return [None] * len(advice)
        entries = entries_of(advice, cases, self.service.model, source)
        try:
            self.recorder.record(entries)
        except InputProblem:
            raise
        except Exception as problem:
            why = str(problem).strip().splitlines() or [type(problem).__name__]
            raise HTTPException(
                503, f"The journal cannot be written ({why[0]}), so no advice is given; ask who runs this server."
            ) from problem
        return [entry.id for entry in entries]
