"""`prudent recommend`: advice for every row of a table, written where it was asked for."""

from collections import Counter
from pathlib import Path

import polars as pl

from prudent.advice import OK, Advice
from prudent.cells import did_you_mean
from prudent.command_line.asking import Asking
from prudent.command_line.files import STANDARD_OUTPUT, require_table_destination, write_table
from prudent.command_line.screen import counted, screen, sentence
from prudent.errors import InputProblem
from prudent.log import read_table
from prudent.reading import read_as_text
from prudent.storage import load

ADVICE = ("action", "expected_reward", "worst_reward", "action_entropy", "status", "flags")


def recommend_actions(model: Path, table: Path, out: str, asking: Asking, keep: tuple[str, ...], explain: int) -> None:
    require_table_destination(out)
    _refuse_to_overwrite(table, out)
    asking.chosen_strategy()  # before the model is loaded: a wrong option is answered at once
    fitted = load(model)
    frame = read_table(table)
    kept = kept_columns(table, frame, keep)
    policy = asking.policy(fitted)
    advice = policy.recommend(frame, allowed=asking.allowed)
    write_table(advice_table(advice, kept, as_text=not out.lower().endswith((".parquet", ".pq"))), out)
    if out != STANDARD_OUTPUT:
        _summarise(advice, out)
        if policy.fallback is not None and policy.fallback not in fitted.action_labels:
            labels = map(str, fitted.action_labels)
            sentence(
                screen(stderr=True),
                f"The fallback '{policy.fallback}' is no action of the log, so it is given as it is, without rewards. "
                f"{did_you_mean(str(policy.fallback), labels)}",
            )
    _explain(advice, explain, to_stderr=out == STANDARD_OUTPUT)


def kept_columns(table: Path, frame: pl.DataFrame, keep: tuple[str, ...]) -> pl.DataFrame:
    """The columns to copy through, as they stand in the file: an identifier 007 stays 007.

    A csv column whose numbers say the same as its text stays a column of numbers.
    """
    names = list(dict.fromkeys(keep))
    for name in names:
        if name not in frame.columns:
            raise InputProblem(f"The table has no column '{name}' (to keep). {did_you_mean(name, frame.columns)}")
        if name in ADVICE:
            raise InputProblem(
                f"Column '{name}' cannot be kept: the advice has a column of that name; rename it first."
            )
    kept = frame.select(names)
    texts = read_as_text(table, names)
    if texts is None:
        return kept
    as_written = (text.replace("", None) for text in texts)
    return kept.with_columns(
        text for text in as_written if not kept[text.name].cast(pl.String).equals(text, null_equal=True)
    )


def advice_table(advice: Advice, kept: pl.DataFrame, as_text: bool) -> pl.DataFrame:
    columns = pl.DataFrame(advice.columns(), strict=False).select(ADVICE)
    if columns["action"].dtype == pl.Null:
        columns = columns.with_columns(pl.col("action").cast(pl.String))
    numbers = ["expected_reward", "worst_reward", "action_entropy"]
    if as_text:
        # models price in single precision: its shortest spelling loses nothing and is half as long
        columns = columns.with_columns(pl.col(numbers).cast(pl.Float32), pl.col("flags").replace("", None))
    return pl.concat([kept, columns], how="horizontal") if kept.width else columns


def _refuse_to_overwrite(table: Path, out: str) -> None:
    if out != STANDARD_OUTPUT and Path(out).exists() and table.exists() and Path(out).samefile(table):
        raise InputProblem(f"--out is the table of cases itself, '{table}'; name another file, or it would be lost.")


def _summarise(advice: Advice, out: str) -> None:
    console = screen(stderr=True)
    sentence(console, f"{counted(len(advice), 'row')} of advice in {out}.")
    given = Counter("(none: referred)" if action is None else str(action) for action in advice.actions)
    labels = [str(label) for label in advice.policy.fitted.action_labels]
    order = sorted(given, key=lambda name: labels.index(name) if name in labels else len(labels))
    width = max(len(name) for name in order)
    for name in order:
        sentence(console, f"  {name:<{width}}  {given[name]:>7,}  {given[name] / len(advice):>4.0%}")
    flagged = sum(flag != "" for flag in advice.encoded.flags)
    if flagged:
        sentence(console, f"{counted(flagged, 'row')} flagged for unusual cells: see the column 'flags'.")
    for status, rows in Counter(advice.status).most_common():
        if status != OK:
            sentence(console, f"{counted(rows, 'row')}: {status}.")


def _explain(advice: Advice, rows: int, to_stderr: bool) -> None:
    console = screen(stderr=to_stderr)
    for row in range(min(rows, len(advice))):
        console.print(f"\nRow {row + 1}", style="bold")
        console.print(str(advice[row].explain()), soft_wrap=not console.is_terminal)
