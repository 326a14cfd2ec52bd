"""Advice as a table to be written: the columns that are kept of the cases, then those of the advice."""

import math
from pathlib import Path

import numpy as np
import polars as pl

from prudent.decide.advice import Advice
from prudent.errors import InputProblem
from prudent.table import Place, TextFormat, did_you_mean, read_as_text

ADVICE_COLUMNS = (
    *("action", "expected_reward", "worst_reward", "outcome_low", "outcome_high", "action_entropy"),
    *("guaranteed_reward", "measure_next", "measure_value", "status", "flags"),
)
SINGLE_DIGITS = 8
"""Digits of a number in single precision."""


def kept_columns(
    table: Path | Place,
    frame: pl.DataFrame,
    keep: tuple[str, ...],
    written: TextFormat = TextFormat(),
    made: tuple[str, ...] = ADVICE_COLUMNS,
) -> pl.DataFrame:
    """The columns to copy through, as they stand in the file: an identifier 007 stays 007.

    A csv column whose numbers say the same as its text stays a column of numbers. made: the columns that are added.
    """
    names = list(dict.fromkeys(keep))
    for name in names:
        if name not in frame.columns:
            raise InputProblem(f"The table has no column '{name}' (to keep). {did_you_mean(name, frame.columns)}")
        if name in made:
            raise InputProblem(f"Column '{name}' cannot be kept: the result has one of that name; rename it first.")
    kept = frame.select(names)
    texts = read_as_text(table, names, written)
    if texts is None:
        return kept
    as_written = (text.replace("", None) for text in texts)
    return kept.with_columns(
        text for text in as_written if not kept[text.name].cast(pl.String).equals(text, null_equal=True)
    )


def advice_table(advice: Advice, kept: pl.DataFrame, as_text: bool) -> pl.DataFrame:
    columns = pl.DataFrame(advice.columns(), strict=False)
    rewards = [name for name in columns.columns if name.endswith(("_reward", "_low", "_high"))]
    others = [name for name in columns.columns if name.endswith(("_entropy", "_value", "_uncertainty"))]
    columns = columns.with_columns(pl.col([*rewards, *others]).cast(pl.Float64))
    origin = advice.chooser.fitted.reported(0.0)
    if as_text:
        # models price in single precision: its shortest spelling loses nothing and is half as long
        single = others if origin else [*rewards, *others]
        columns = columns.with_columns(pl.col(single).cast(pl.Float32))
    if as_text and origin:
        distances = np.abs(columns.select(rewards).to_numpy() - origin)
        farthest = distances[np.isfinite(distances)].max(initial=1e-300)
        columns = columns.with_columns(pl.col(rewards).round(max(SINGLE_DIGITS - math.ceil(math.log10(farthest)), 0)))
    columns = columns.with_columns(pl.col(pl.Null).cast(pl.String))  # no action at all, or nothing to measure
    if as_text:
        columns = columns.with_columns(pl.col("flags").replace("", None))
    return pl.concat([kept, columns], how="horizontal") if kept.width else columns
