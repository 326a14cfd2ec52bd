"""The JSON API: advice, explanations, the model, tables, and what became of an advice."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, Literal, Self

from fastapi import APIRouter, Path
from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictFloat, StrictInt, StrictStr, model_validator
from starlette.exceptions import HTTPException

import prudent
from prudent.decide import STRATEGY_NAMES, Advice
from prudent.errors import InputProblem
from prudent.show import plain_types
from prudent.web.answering import Answering
from prudent.web.choices import CAUTION, Choice
from prudent.web.limits import require_few
from prudent.web.service import plain_cell

Label = StrictBool | StrictInt | StrictFloat | StrictStr
Cells = dict[str, Label | None]

NO_JOURNAL = "This server keeps no journal, so nothing can be added to it; start it with --journal PLACE."


class Problem(BaseModel):
    """What is wrong, the value, and the way out, in one sentence: the same as on the command line."""

    problem: str


PROBLEMS: dict[int | str, dict[str, Any]] = {
    400: {"model": Problem, "description": "Bad input"},
    401: {"model": Problem, "description": "The token is missing or wrong"},
    403: {"model": Problem, "description": "Sent by a page of another site"},
    408: {"model": Problem, "description": "The request took too long to arrive"},
    413: {"model": Problem, "description": "Too much at once"},
    421: {"model": Problem, "description": "A name that the server does not answer to"},
    503: {"model": Problem, "description": "Busy, or the journal cannot be written"},
    504: {"model": Problem, "description": "The answer took too long"},
}


class How(BaseModel):
    """How to choose: the options of `prudent recommend` of the same names."""

    model_config = ConfigDict(extra="forbid")

    strategy: Annotated[str, Field(json_schema_extra={"enum": [*STRATEGY_NAMES]})] = "expected"
    risk: StrictFloat | StrictInt | None = None
    c: StrictFloat | StrictInt | None = None
    below: StrictFloat | StrictInt | None = None
    floor: StrictFloat | StrictInt | None = None
    fallback: Label | None = None

    @property
    def choice(self) -> Choice:
        return Choice(self.strategy, self.risk, self.c, self.below, self.floor, self.fallback)


class Asked(How):
    """One case, or several, as cells by column; a column that is left out, or null, is a gap.

    allowed: the labels of the actions that may be recommended; for several cases also one list, or null, for each.
    measure: adds which gap is most worth filling before deciding.
    """

    case: Cells | None = None
    cases: list[Cells] | None = None
    allowed: list[Label] | list[list[Label] | None] | None = None
    measure: StrictBool = False

    @model_validator(mode="after")
    def one_or_several(self) -> Self:
        if (self.case is None) == (self.cases is None):
            raise InputProblem("A request has either 'case', one mapping of cells, or 'cases', a list of them.")
        return self

    @property
    def several(self) -> list[Cells]:
        return [self.case] if self.case is not None else self.cases or []


class AskedWhy(How):
    """One case to be explained."""

    case: Cells
    allowed: list[Label] | None = None


class Advised(BaseModel):
    """Advice for one case: the columns that `prudent recommend` writes. id: of the entry in the journal, if there is
    one."""

    model_config = ConfigDict(extra="allow")

    id: str | None
    action: Label | None
    expected_reward: float | None
    worst_reward: float | None
    outcome_low: float | None
    outcome_high: float | None
    action_entropy: float | None
    status: str
    flags: str


class Recommended(BaseModel):
    """advice: one entry per case, in order. notes: what is to be said of all cases together."""

    model: str
    strategy: str
    notes: list[str]
    advice: list[Advised]


class Took(BaseModel):
    """The action that was taken. at: when; default: now. correct: replace what was recorded before."""

    model_config = ConfigDict(extra="forbid")

    action: Label
    at: datetime | None = None
    correct: StrictBool = False


class TurnedOut(BaseModel):
    """The outcome, in the units of the log's reward. at: when it was seen; default: now. correct: replace what was
    recorded before."""

    model_config = ConfigDict(extra="forbid")

    reward: StrictFloat | StrictInt
    at: datetime | None = None
    correct: StrictBool = False


class Done(BaseModel):
    recorded: Literal[True] = True


AdviceId = Annotated[str, Path(description="The id of an advice", pattern="^[0-9a-f]{32}$")]


def api_router(answering: Answering) -> APIRouter:
    router = APIRouter(prefix="/api", responses=PROBLEMS)
    service, workers, limits = answering.service, answering.workers, answering.limits

    @router.post("/recommend", response_model=Recommended, operation_id="recommend")
    async def recommend(asked: Asked) -> Any:
        """An action for one case or for several."""
        cases = asked.several
        require_few(len(cases), limits.cases, "cases")
        advice, ids = await workers.case(
            answering.recommend, cases, asked.choice, asked.allowed, asked.measure, source="api"
        )
        notes = [*advice.notes, *dict.fromkeys(note for case in cases for note in service.ignored(case))]
        return {
            "model": service.model,
            "strategy": repr(advice.chooser.strategy),
            "notes": notes,
            "advice": advice_rows(advice, ids),
        }

    @router.post("/explain", operation_id="explain")
    async def explain(asked: AskedWhy) -> dict[str, Any]:
        """One case explained: prices of all actions, what mattered, what would change the advice, what to measure."""
        advice, explanation, id = await workers.case(
            answering.explain, asked.case, asked.choice, asked.allowed, source="api"
        )
        notes = [*advice.notes, *service.ignored(asked.case)]
        return {"id": id, "model": service.model, "notes": notes, **explanation.to_dict()}

    @router.get("/model", operation_id="model")
    async def model() -> dict[str, Any]:
        """What the model was learnt from, its columns and actions, and the steps of caution that the page offers."""
        steps = [{"name": step.name, "does": step.sentence, **plain_types(step.choice)} for step in CAUTION]
        facts = {**service.fitted.summary(), "columns": service.columns}
        return plain_types(
            {
                "model_hash": service.model,
                "prudent": prudent.__version__,
                "journal": answering.recorder is not None,
                "guarantee": service.has_guarantee,
                "caution": steps,
                "limits": limits,
                **facts,
            }
        )

    @router.post("/advice/{id}/action", response_model=Done, operation_id="took", responses={404: {"model": Problem}})
    async def took(id: AdviceId, taken: Took) -> Any:
        """Add the action that was taken to an advice in the journal."""
        await workers.case(_journal(answering).took, id, taken.action, taken.at, taken.correct)
        return Done()

    @router.post(
        "/advice/{id}/outcome", response_model=Done, operation_id="turned_out", responses={404: {"model": Problem}}
    )
    async def turned_out(id: AdviceId, seen: TurnedOut) -> Any:
        """Add the outcome to an advice in the journal."""
        await workers.case(_journal(answering).turned_out, id, seen.reward, seen.at, seen.correct)
        return Done()

    return router


def _journal(answering: Answering) -> Any:
    if answering.recorder is None:
        raise HTTPException(404, NO_JOURNAL)
    return answering.recorder.journal


def advice_rows(advice: Advice, ids: Sequence[str | None]) -> list[dict[str, Any]]:
    columns = advice.columns()
    return [
        {"id": ids[row], **{name: plain_cell(plain_types(values[row])) for name, values in columns.items()}}
        for row in range(len(advice))
    ]
