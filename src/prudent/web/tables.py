"""Uploaded tables: read as `prudent recommend` reads them, and answered with what it writes."""

import io
import json
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Annotated, Literal

import polars as pl
from fastapi import APIRouter, File, Form, UploadFile
from starlette.datastructures import UploadFile as Uploaded
from starlette.responses import Response

from prudent.decide import ADVICE_COLUMNS, STRATEGY_NAMES, advice_table, kept_columns
from prudent.errors import InputProblem
from prudent.models import Fitted
from prudent.show import printable
from prudent.table import (
    PARQUET_ENDINGS,
    WRITTEN_TEXT,
    WRITTEN_WORKBOOK,
    Faithful,
    Place,
    TextFormat,
    read_with_notes,
    require_workbooks,
    without_formulas,
    write_frame,
)
from prudent.web.answering import Answering
from prudent.web.api import PROBLEMS
from prudent.web.choices import Choice
from prudent.web.limits import require_few

UPLOADS = frozenset({"/api/table", "/table"})
READ = (*WRITTEN_TEXT, *PARQUET_ENDINGS, WRITTEN_WORKBOOK)
MEDIA = {
    "csv": "text/csv; charset=utf-8",
    "tsv": "text/tab-separated-values; charset=utf-8",
    "parquet": "application/vnd.apache.parquet",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}
ID = "advice_id"
"""The column that names each row's entry in the journal."""
LONGEST_NOTES = 4000


@dataclass(frozen=True)
class Asked:
    """What to do with the rows of a table. allowed, keep: columns of it. format: by default that of the table."""

    choice: Choice
    allowed: str | None
    keep: tuple[str, ...]
    measure: bool
    written: TextFormat = TextFormat()
    format: str | None = None


def table_router(answering: Answering) -> APIRouter:
    router = APIRouter(prefix="/api", responses=PROBLEMS)
    formats = {media.partition(";")[0]: {"schema": {"type": "string", "format": "binary"}} for media in MEDIA.values()}

    @router.post(
        "/table",
        operation_id="table",
        response_class=Response,
        responses={200: {"content": formats, "description": "The advice, as `prudent recommend` writes it"}},
    )
    async def table(
        file: Annotated[UploadFile, File(description="A .csv, .tsv, .parquet or .xlsx file with one case per row")],
        strategy: Annotated[str, Form(json_schema_extra={"enum": [*STRATEGY_NAMES]})] = "expected",
        risk: Annotated[float | None, Form()] = None,
        c: Annotated[float | None, Form()] = None,
        below: Annotated[float | None, Form()] = None,
        floor: Annotated[float | None, Form()] = None,
        fallback: Annotated[str | None, Form()] = None,
        allowed: Annotated[str | None, Form(description="A column with the actions a row may get, as a;b;c")] = None,
        keep: Annotated[list[str] | None, Form(description="Columns to copy to the advice")] = None,
        measure: Annotated[bool, Form()] = False,
        sep: Annotated[str | None, Form()] = None,
        decimal: Annotated[str | None, Form()] = None,
        encoding: Annotated[str | None, Form()] = None,
        format: Annotated[Literal["csv", "tsv", "parquet", "xlsx"] | None, Form()] = None,
    ) -> Response:
        """Advice for every row of a table, in order; by default in the format of the table."""
        asked = Asked(
            Choice(strategy, risk, c, below, floor, fallback or None),
            allowed or None,
            tuple(name for name in keep or () if name),
            measure,
            TextFormat(sep or None, decimal or None, encoding or None),
            format,
        )
        return await advised_table(answering, file, asked)

    return router


async def advised_table(answering: Answering, file: Uploaded, asked: Asked) -> Response:
    """The advice for an uploaded table, to be saved as a file."""
    ending = _ending(file.filename or "")
    format = asked.format or {"pq": "parquet"}.get(ending[1:], ending[1:])
    content, name = await file.read(), _base_name(file.filename or "")
    written, notes = await answering.workers.table(
        _advise, answering, content, name, ending, replace(asked, format=format)
    )
    headers = {
        "content-disposition": f'attachment; filename="advice.{format}"',
        "prudent-notes": json.dumps(_short(notes)),
    }
    return Response(written, headers=headers, media_type=MEDIA[format])


def _ending(name: str) -> str:
    ending = PurePosixPath(name).suffix.lower()
    if ending not in READ:
        raise InputProblem(
            f"'{_base_name(name)}' is no table that can be uploaded; its name must end in .csv, .tsv, .parquet, .pq or "
            f".xlsx."
        )
    return ending


def _base_name(name: str) -> str:
    """The name of an uploaded file as it may be shown."""
    return printable(PureWindowsPath(name).name, kept="") or "the file"


def _advise(answering: Answering, content: bytes, name: str, ending: str, asked: Asked) -> tuple[bytes, list[str]]:
    if asked.format == "xlsx":
        require_workbooks()
    fitted = answering.service.fitted
    frame, kept, notes = _read(answering, fitted, content, name, ending, asked)
    advice, ids = answering.recommend_table(frame, asked.choice, asked.allowed, asked.measure)
    as_text = asked.format in ("csv", "tsv")
    table = advice_table(advice, kept, as_text)
    if answering.recorder is not None:
        table = table.with_columns(pl.Series(ID, ids, dtype=pl.String))
    output = io.BytesIO()
    write_frame(table if asked.format == "parquet" else without_formulas(table), output, f".{asked.format}")
    return output.getvalue(), [*notes, *advice.notes]


def _read(
    answering: Answering, fitted: Fitted, content: bytes, name: str, ending: str, asked: Asked
) -> tuple[pl.DataFrame, pl.DataFrame, list[str]]:
    """The table, the columns of it that are kept, and what was guessed about the way it is written."""
    as_text = Faithful((*fitted.text_columns, *([] if asked.allowed is None else [asked.allowed])))
    made = (*ADVICE_COLUMNS, ID)
    with tempfile.TemporaryDirectory(prefix="prudent-") as folder:
        # a name of ours: what a client calls its file must not reach the file system
        file = Path(folder) / f"table{ending}"
        file.write_bytes(content)
        place = Place(str(file))
        try:
            _require_few_rows(file, ending, answering.limits.rows)
            frame, notes = read_with_notes(place, asked.written, as_text)
            require_few(len(frame), answering.limits.rows, "rows")
            kept = kept_columns(place, frame, asked.keep, asked.written, made)
        except InputProblem as problem:
            raise InputProblem(_said_of(str(problem), file, name), problem.details) from None
        return frame, kept, [_said_of(note, file, name) for note in notes]


def _require_few_rows(file: Path, ending: str, most: int) -> None:
    """A small parquet file may hold any number of rows: they are counted before they are read."""
    if ending not in PARQUET_ENDINGS:
        return
    try:
        rows = pl.scan_parquet(file).select(pl.len()).collect().item()
    except (pl.exceptions.PolarsError, OSError):
        return  # what is wrong with it is said where it is read
    require_few(rows, most, "rows")


def _said_of(sentence: str, file: Path, name: str) -> str:
    return sentence.replace(str(file), name).replace(file.name, name)


def _short(notes: list[str]) -> list[str]:
    """As many notes as a header has room for."""
    shown, length = [], 0
    for note in notes:
        length += len(note)
        if length > LONGEST_NOTES:
            break
        shown.append(note)
    return shown
