"""The pages: made on the server, usable without the script, which only saves the reader a click."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import htpy
from fastapi import APIRouter, Request
from starlette.datastructures import FormData, UploadFile
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

import prudent
from prudent.decide import Advice
from prudent.errors import InputProblem
from prudent.show import one_line, page_style, picture_style
from prudent.table import label_text
from prudent.web.answering import Answering
from prudent.web.choices import CAUTION, Choice
from prudent.web.pages.answer import Before, answer
from prudent.web.pages.case_form import Filled, case_form
from prudent.web.pages.layout import Subject, problem_box, whole_page
from prudent.web.pages.others import login_page, model_page, table_page
from prudent.web.security import COOKIE, Access
from prudent.web.service import Case
from prudent.web.tables import Asked, advised_table

LOGIN = "/login"
PAGES = frozenset({"/", "/table", "/model"})
STATIC = Path(__file__).parent / "static"
MOST_FIELDS = 10_000
EMPTY = "Enter what is known about the case: the answer appears here."
STEPS = tuple((step.name, step.sentence) for step in CAUTION)


def static_files() -> dict[str, tuple[bytes, str]]:
    """By name: the content and what it is. The style sheet begins with that of all our pages."""
    style = page_style() + picture_style() + (STATIC / "prudent.css").read_text(encoding="utf-8")
    return {
        "prudent.css": (style.encode(), "text/css; charset=utf-8"),
        "prudent.js": ((STATIC / "prudent.js").read_bytes(), "text/javascript; charset=utf-8"),
        "prudent.svg": ((STATIC / "prudent.svg").read_bytes(), "image/svg+xml"),
    }


def site_router(answering: Answering, access: Access) -> APIRouter:
    router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)
    site, files = Site(answering, leave=access.token is not None), static_files()

    @router.get("/")
    async def empty_form() -> HTMLResponse:
        return HTMLResponse(site.case_page(Filled()))

    @router.post("/")
    async def filled_form(request: Request) -> HTMLResponse:
        async with request.form(max_fields=MOST_FIELDS) as fields:
            status, shown = await site.answer(fields)
            return HTMLResponse(site.case_page(site.filled(fields), shown), status)

    @router.post("/answer")
    async def answer_alone(request: Request) -> HTMLResponse:
        async with request.form(max_fields=MOST_FIELDS) as fields:
            status, shown = await site.answer(fields)
            return HTMLResponse(str(shown), status)

    @router.get("/table")
    async def table_form() -> HTMLResponse:
        return HTMLResponse(site.page("A table", site.table_form()))

    @router.post("/table")
    async def table(request: Request) -> Response:
        try:
            async with request.form() as fields:
                return await site.table(fields)
        except (InputProblem, HTTPException) as problem:
            if "text/html" not in request.headers.get("accept", ""):
                raise
            status = problem.status_code if isinstance(problem, HTTPException) else 400
            sentence = problem.detail if isinstance(problem, HTTPException) else str(problem)
            return HTMLResponse(site.page("A table", [problem_box(sentence), site.table_form()]), status)

    @router.get("/model")
    async def model() -> HTMLResponse:
        return HTMLResponse(site.page("The model", model_page(site.facts)))

    @router.post("/later/{id}")
    async def later(id: str, request: Request) -> JSONResponse:
        async with request.form() as fields:
            return JSONResponse({"said": await site.later(id, fields)})

    @router.get(LOGIN)
    async def ask_for_token() -> HTMLResponse:
        return HTMLResponse(whole_page("Token", None, login_page(wrong=False)))

    @router.post(LOGIN)
    async def take_token(request: Request) -> Response:
        async with request.form() as fields:
            given = fields.get("token")
        if not isinstance(given, str) or not access.knows(given.strip()):
            return HTMLResponse(whole_page("Token", None, login_page(wrong=True)), 401)
        response = RedirectResponse(".", 303)
        secure = request.url.scheme == "https"
        response.set_cookie(COOKIE, access.session, httponly=True, samesite="strict", secure=secure)
        return response

    @router.post("/logout")
    async def forget_token() -> Response:
        response = RedirectResponse("login", 303)
        response.delete_cookie(COOKIE)
        return response

    @router.get("/static/{name}")
    async def static(name: str) -> Response:
        if name not in files:
            raise HTTPException(404, f"There is no file '{one_line(name)}' here.")
        content, media = files[name]
        return Response(content, media_type=media)

    return router


class Site:
    """What the pages show of one model. leave: offer to forget the token."""

    def __init__(self, answering: Answering, leave: bool):
        self._answering, self._leave = answering, leave
        fitted = answering.service.fitted
        self._actions = [label_text(label) for label in fitted.action_labels]
        self._columns = answering.service.columns
        self._subject = Subject(fitted.roles.action, fitted.roles.reward, fitted.minimize)
        self.facts: Mapping[str, Any] = {
            **fitted.summary(),
            "columns": self._columns,
            "model_hash": answering.service.model,
            "prudent": prudent.__version__,
            "journal": answering.recorder is not None,
            "guarantee": answering.service.has_guarantee,
        }

    def page(self, title: str, body: Any) -> str:
        return whole_page(title, self._subject, body, self._leave)

    def case_page(self, filled: Filled, shown: Any = None) -> str:
        form = case_form(self._columns, self._actions, STEPS, filled, self._subject.reward, self._subject.minimize)
        return self.page(
            "One case",
            htpy.div(".desk")[
                form,
                htpy.div("#answer", aria_live="polite")[shown or htpy.p(".empty")[EMPTY]],
                htpy.a("#bar.scripted", href="#answer", hidden=True),
            ],
        )

    def table_form(self) -> Any:
        limits = self._answering.limits
        return table_page(STEPS, limits.rows, limits.table / 2**20, self._answering.recorder is not None)

    # --- one case ---

    def filled(self, fields: FormData | Mapping[str, Any]) -> Filled:
        """What a form holds; what it cannot hold, such as a step that there is none of, is left out."""
        cells = {at: str(fields.get(f"x{at}", "")).strip() for at in range(len(self._columns))}
        step = str(fields.get("caution", "0"))
        listed = fields.getlist("barred") if isinstance(fields, FormData) else []
        numbers = [int(text) for text in map(str, listed) if text.isdecimal()]
        return Filled(
            {at: text for at, text in cells.items() if text},
            min(int(step), len(CAUTION) - 1) if step.isdecimal() else 0,
            frozenset(number for number in numbers if number < len(self._actions)),
            str(fields.get("floor", "")).strip(),
            str(fields.get("fallback", "")).strip(),
        )

    async def answer(self, fields: FormData) -> tuple[int, Any]:
        """The status, and the answer or what is wrong, as a part of a page."""
        try:
            return 200, await self._answering.workers.case(self._answer, fields)
        except InputProblem as problem:
            return 400, problem_box(str(problem))
        except HTTPException as refusal:
            return refusal.status_code, problem_box(refusal.detail)

    def _answer(self, fields: FormData) -> Any:
        filled, service = self.filled(fields), self._answering.service
        case, choice = self._case(filled), self._choice(filled)
        advice, explanation, id = self._answering.explain(case, choice, self._allowed(filled), source="page")
        bounds = service.ready(choice)[1]
        return answer(
            explanation.to_dict(),
            notes=advice.notes,
            before=self._before(filled, fields),
            confidence=None if bounds is None else bounds.confidence,
            id=id,
            actions=self._actions,
        )

    def _before(self, filled: Filled, fields: FormData) -> Before | None:
        """The answer before the edit, computed again: it is not advice anew, so it does not go into the journal."""
        given = fields.get("before")
        if not isinstance(given, str) or not given:
            return None
        pairs: list[tuple[str, str | UploadFile]] = [*parse_qsl(given, keep_blank_values=True)]
        then = self.filled(FormData(pairs))
        changed = self._differences(then, filled)
        if not changed:
            return None
        try:
            choice = self._choice(then)
            advice: Advice = self._answering.service.recommend([self._case(then)], choice, self._allowed(then))
        except InputProblem:
            return None  # there was no answer before
        return Before(changed, {name: values[0] for name, values in advice.columns().items()})

    def _differences(self, then: Filled, now: Filled) -> list[tuple[str, str, str]]:
        pairs = [
            (one_line(column["name"]), then.cells.get(at, ""), now.cells.get(at, ""))
            for at, column in enumerate(self._columns)
        ]
        pairs.append(("caution", CAUTION[then.step].name, CAUTION[now.step].name))
        pairs.append(("not allowed", self._barred(then), self._barred(now)))
        pairs.append(("floor", then.floor or "none", now.floor or "none"))
        return [pair for pair in pairs if pair[1] != pair[2]]

    def _barred(self, filled: Filled) -> str:
        return ", ".join(one_line(self._actions[number]) for number in sorted(filled.barred)) or "nothing"

    def _case(self, filled: Filled) -> Case:
        return {column["name"]: filled.cells.get(at) for at, column in enumerate(self._columns)}

    def _choice(self, filled: Filled) -> Choice:
        chosen = CAUTION[filled.step].choice
        if not filled.floor:
            return chosen
        floor = _number("worst plausible mean", filled.floor)
        labels = self._answering.service.fitted.action_labels
        fallback = int(filled.fallback) if filled.fallback.isdecimal() else len(labels)
        return Choice(
            chosen.strategy, chosen.risk, floor=floor, fallback=labels[fallback] if fallback < len(labels) else None
        )

    def _allowed(self, filled: Filled) -> list[Any] | None:
        if not filled.barred:
            return None
        labels = self._answering.service.fitted.action_labels
        return [label for number, label in enumerate(labels) if number not in filled.barred]

    # --- tables, and what became of an advice ---

    async def table(self, fields: FormData) -> Response:
        file = fields.get("file")
        if not isinstance(file, UploadFile) or not file.filename:
            raise InputProblem("There is no table in the request; choose a file first.")
        how = self.filled({"caution": fields.get("how", "0")})
        texts = {name: str(fields.get(name, "")).strip() for name in ("keep", "allowed", "measure")}
        keep = tuple(name.strip() for name in texts["keep"].split(",") if name.strip())
        asked = Asked(CAUTION[how.step].choice, texts["allowed"] or None, keep, texts["measure"] == "true")
        return await advised_table(self._answering, file, asked)

    async def later(self, id: str, fields: FormData) -> str:
        """Add to the journal what a form says became of an advice; what was done, in words."""
        if self._answering.recorder is None:
            raise HTTPException(404, "This server keeps no journal.")
        journal, run = self._answering.recorder.journal, self._answering.workers.case
        action, reward = (str(fields.get(name, "")).strip() for name in ("action", "reward"))
        said = []
        if action.isdecimal() and int(action) < len(self._actions):
            await run(journal.took, id, self._answering.service.fitted.action_labels[int(action)])
            said.append("the action taken")
        if reward:
            await run(journal.turned_out, id, _number("outcome", reward))
            said.append("the outcome")
        if not said:
            raise InputProblem("Nothing was added; choose the action that was taken, or enter the outcome.")
        return f"Added {' and '.join(said)}."


def _number(what: str, text: str) -> float:
    try:
        return float(text.replace("−", "-").replace(",", "."))
    except ValueError:
        raise InputProblem(f"The {what} must be a number. Got {text!r} instead.") from None
