"""Files of Stata, SPSS and SAS: value labels become labels, and what was declared to be missing becomes gaps."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from prudent.table.column_notes import count_and_names
from prudent.table.sources.libraries import library

STATISTICS = (".dta", ".sav", ".zsav", ".sas7bdat", ".xpt")
_READERS = {".dta": "read_dta", ".sav": "read_sav", ".zsav": "read_sav", ".sas7bdat": "read_sas7bdat"}
_HAVE_USER_MISSING = (".dta", ".sav", ".zsav", ".sas7bdat")


def read_statistics(file: Path) -> tuple[pl.DataFrame, list[str]]:
    pyreadstat = library("pyreadstat", "files", f"Reading '{file}'")
    ending = file.suffix.lower()
    read = getattr(pyreadstat, _READERS.get(ending, "read_xport"))
    try:
        frame, facts = read(file, output_format="polars")
        declared = _declared_missing(read, file, frame) if ending in _HAVE_USER_MISSING and frame.width else {}
    except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError, ValueError, UnicodeError) as problem:
        raise OSError(str(problem)) from problem
    frame, unlabelled = _labelled(frame, facts.variable_value_labels, facts.variable_measure)
    notes = [
        f"Column '{name}': {count} cell{'s' * (count != 1)} declared to be missing ({codes}) "
        f"{'are' if count != 1 else 'is'} read as gaps."
        for name, (count, codes) in declared.items()
    ]
    if unlabelled:
        notes.append(f"Only some values of {count_and_names(unlabelled)} have labels: they stay numbers.")
    return frame, notes


def _declared_missing(read: Any, file: Path, frame: pl.DataFrame) -> Mapping[str, tuple[int, str]]:
    """How many cells of each column were declared to be missing, and how they are written."""
    shown, facts = read(file, output_format="dict", user_missing=True)
    found = {}
    for name in (name for name in frame.columns if name in facts.missing_ranges or name in facts.missing_user_values):
        gaps = frame[name].is_null().to_list()
        codes = [cell for cell, gap in zip(shown[name], gaps, strict=True) if gap and cell is not None and cell == cell]
        if codes:
            labels = facts.variable_value_labels.get(name, {})
            spelled = dict.fromkeys(str(labels.get(code, _plain(code))) for code in codes)
            found[name] = len(codes), ", ".join(list(spelled)[:6])
    return found


def _plain(code: Any) -> Any:
    return int(code) if isinstance(code, float) and code.is_integer() else code


def _labelled(
    frame: pl.DataFrame, labels: Mapping[str, Mapping[Any, str]], measures: Mapping[str, str]
) -> tuple[pl.DataFrame, list[str]]:
    """Codes by their labels where every code that occurs has one of its own; an ordinal variable keeps its order."""
    columns, unlabelled = [], []
    for name, by_code in labels.items():
        cells = frame[name]
        codes = [code for code in cells.unique().drop_nulls().to_list() if code == code]
        if not codes or all(code not in by_code for code in codes):
            continue
        if any(code not in by_code for code in codes) or len({by_code[code] for code in codes}) < len(codes):
            unlabelled.append(name)
            continue
        texts = pl.Series(name, [by_code.get(cell) for cell in cells.to_list()], dtype=pl.String)
        levels = [by_code[code] for code in sorted(codes)]
        columns.append(texts.cast(pl.Enum(levels)) if measures.get(name) == "ordinal" else texts)
    return frame.with_columns(columns), unlabelled
