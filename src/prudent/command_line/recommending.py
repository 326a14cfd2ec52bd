"""`prudent recommend`: advice for every row of a table, written where it was asked for."""

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from prudent.command_line.asking import Asking, priced
from prudent.command_line.files import (
    STANDARD_OUTPUT,
    require_file_destination,
    require_table_destination,
    write_table,
    write_text,
)
from prudent.command_line.screen import screen, sentence
from prudent.decide import Advice, Policy, Status
from prudent.errors import InputProblem
from prudent.models import Fitted, load
from prudent.promise import frontier, guarantee
from prudent.show import counted, explanations_page
from prudent.table import did_you_mean, read_as_text, read_table

ADVICE = (
    *("action", "expected_reward", "worst_reward", "action_entropy", "guaranteed_reward", "measure_next"),
    *("measure_value", "status", "flags"),
)
EXPLAINED = 10


@dataclass(frozen=True)
class Limit:
    """Choose the strategy that keeps the share of outcomes worse than `below` within `share`, as `log` shows it."""

    log: Path
    share: float
    below: float

    @staticmethod
    def of(log: Path | None, share: float | None, below: float | None, named: bool) -> "Limit | None":
        """From three options that only mean something together."""
        if log is None and share is None and below is None:
            return None
        if log is None or share is None or below is None:
            raise InputProblem(
                "--held-out LOG, --limit SHARE and --below R choose a strategy together; give all three."
            )
        if named:
            raise InputProblem("--limit chooses the strategy and its setting; leave --risk and --c out.")
        return Limit(log, share, below)


@dataclass(frozen=True)
class Wanted:
    """What else to write beside the advice, and from what."""

    keep: tuple[str, ...] = ()
    explain: int = 0
    explain_to: Path | None = None
    measure: bool = False
    measure_costs: tuple[str, ...] = ()
    guarantee: Path | None = None
    confidence: float = 0.95
    limit: Limit | None = None


def recommend_actions(model: Path, table: Path, out: str, asking: Asking, wanted: Wanted) -> None:
    require_table_destination(out)
    _refuse_to_overwrite(table, out)
    _check_explanations(wanted.explain_to)
    asking.chosen_strategy()  # before the model is loaded: a wrong option is answered at once
    costs = priced(wanted.measure_costs, "--measure-cost COL=COST")
    fitted = load(model)
    frame = read_table(table)
    kept = kept_columns(table, frame, wanted.keep)
    policy = _policy(fitted, asking, wanted.limit)
    bounds = None
    if wanted.guarantee is not None:
        bounds = guarantee(
            policy, fitted.read(read_table(wanted.guarantee)), confidence=wanted.confidence, seed=asking.seed
        )
        for text in (*bounds.notes, bounds.verdict):
            sentence(screen(stderr=True), text)
    measure = costs if costs else wanted.measure
    advice = policy.recommend(frame, allowed=asking.allowed, guarantee=bounds, measure=measure)
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
    _explain(advice, wanted, to_stderr=out == STANDARD_OUTPUT)


def _policy(fitted: Fitted, asking: Asking, limit: Limit | None) -> Policy:
    if limit is None:
        return asking.policy(fitted)
    found = frontier(
        fitted,
        fitted.read(read_table(limit.log)),
        below=limit.below,
        completions=asking.completions,
        seed=asking.seed,
        **{name: value for name, value in asking.judged_options().items() if value is not None},
    )
    chosen = found.policy(limit.share)
    console = screen(stderr=True)
    console.print(str(found), soft_wrap=True)
    sentence(console, found.certify(limit.share).sentence)
    # what was judged is what is used: a floor comes on top, and everything else stays
    return asking.policy(fitted, chosen.strategy, search=chosen.search)


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
    columns = pl.DataFrame(advice.columns(), strict=False)
    numbers = [name for name in columns.columns if name.endswith(("_reward", "_entropy", "_value"))]
    # models price in single precision: its shortest spelling loses nothing and is half as long
    columns = columns.with_columns(pl.col(numbers).cast(pl.Float32 if as_text else pl.Float64))
    columns = columns.with_columns(pl.col(pl.Null).cast(pl.String))  # no action at all, or nothing to measure
    if as_text:
        columns = columns.with_columns(pl.col("flags").replace("", None))
    return pl.concat([kept, columns], how="horizontal") if kept.width else columns


def _refuse_to_overwrite(table: Path, out: str) -> None:
    if out != STANDARD_OUTPUT and Path(out).exists() and table.exists() and Path(out).samefile(table):
        raise InputProblem(f"--out is the table of cases itself, '{table}'; name another file, or it would be lost.")


def _summarise(advice: Advice, out: str) -> None:
    console = screen(stderr=True)
    sentence(console, f"{counted(len(advice), 'row')} of advice in {out}.")
    given = Counter("(none: referred)" if action is None else str(action) for action in advice.actions)
    labels = [str(label) for label in advice.chooser.fitted.action_labels]
    order = sorted(given, key=lambda name: labels.index(name) if name in labels else len(labels))
    width = max(len(name) for name in order)
    for name in order:
        sentence(console, f"  {name:<{width}}  {given[name]:>7,}  {given[name] / len(advice):>4.0%}")
    flagged = sum(flag != "" for flag in advice.encoded.flags)
    if flagged:
        sentence(console, f"{counted(flagged, 'row')} flagged for unusual cells: see the column 'flags'.")
    for status, rows in Counter(advice.status).most_common():
        if status is not Status.OK:
            sentence(console, f"{counted(rows, 'row')}: {status}.")


def _check_explanations(path: Path | None) -> None:
    if path is None:
        return
    if path.suffix.lower() not in (".html", ".json"):
        raise InputProblem(f"--explain-to writes a page or JSON; '{path}' must end in .html or .json.")
    require_file_destination(path)


def _explain(advice: Advice, wanted: Wanted, to_stderr: bool) -> None:
    console = screen(stderr=to_stderr)
    if wanted.explain_to is None:
        for row in range(min(wanted.explain, len(advice))):
            console.print(f"\nRow {row + 1}", style="bold")
            console.print(str(advice[row].explain()), soft_wrap=not console.is_terminal)
        return
    explained = [advice[row].explain().to_dict() for row in range(min(wanted.explain or EXPLAINED, len(advice)))]
    as_page = wanted.explain_to.suffix.lower() == ".html"
    text = explanations_page(explained) if as_page else json.dumps(explained, indent=1)
    write_text(text, wanted.explain_to)
    sentence(screen(stderr=True), f"{counted(len(explained), 'row')} explained in {wanted.explain_to}.")
