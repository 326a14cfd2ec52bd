"""`prudent effects`: what one action does compared with another, on average, by group and for each row."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from prudent.command_line.files import (
    FilesOfACommand,
    require_json_destination,
    require_table_destination,
    write_json,
    write_table,
)
from prudent.command_line.log_options import LogOptions
from prudent.command_line.screen import screen, sentence, show
from prudent.decide import kept_columns
from prudent.errors import InputProblem
from prudent.evaluation.effects import Effects, effects
from prudent.show import Facts, counted, effects_sections, plain_types
from prudent.table import ActionLabel, Log, did_you_mean, label_text

EFFECT = "effect"


@dataclass(frozen=True)
class EffectOptions:
    """Which two actions are compared and for whom, in the words of the command line."""

    treated: str | None
    control: str | None
    by: tuple[str, ...]
    bins: int
    confidence: float
    seed: int

    def pair(self, log: Log) -> dict[str, ActionLabel | tuple[ActionLabel, ActionLabel] | None]:
        """The arguments of `prudent.effects` that name the two actions."""
        if self.control is not None and self.treated is not None:
            return {"between": (self.control, self.treated)}
        labels = [label_text(label) for label in log.action_labels]
        for option, name in (("--treated", self.treated), ("--control", self.control)):
            if name is not None and label_text(name) not in labels:
                raise InputProblem(
                    f"The log has no action '{name}' ({option}). {did_you_mean(label_text(name), labels)}"
                )
        if len(labels) > 2:
            raise InputProblem(
                f"The log has {len(labels)} actions ({', '.join(labels[:12])}), and two are compared; name both with "
                "--treated ACTION and --control ACTION."
            )
        if self.control is None:
            return {"treated": self.treated}
        others = [label for label in labels if label != label_text(self.control)]
        return {"treated": others[0] if others else None}


def compare_actions(
    log: LogOptions, options: EffectOptions, out: str | None, keep: tuple[str, ...], json_file: Path | None
) -> None:
    require_json_destination(json_file)
    if out is not None:
        require_table_destination(out)
    elif keep:
        raise InputProblem("--keep copies columns to the table of effects; give --out FILE too.")
    FilesOfACommand({"--json": json_file, "--out": None if out is None else Path(out)}, log.files).check()
    read = log.log()
    kept = kept_columns(log.table, read.source, keep, log.written, made=(EFFECT,))
    study = effects(read, **options.pair(read), confidence=options.confidence, seed=options.seed)  # pyright: ignore[reportArgumentType]
    facts = effects_facts(study, options, for_each_row=out is not None)
    facts = {"log": str(log.table), **facts, "notes": [*read.notes, *study.notes]}
    if out is not None:
        write_table(_rows(study, read, kept), out)
        sentence(screen(stderr=True), f"{counted(len(study.log), 'row')} with an effect in {out}.")
    if not write_json(facts, json_file) and out != "-":
        show(effects_sections(facts))


def effects_facts(study: Effects, options: EffectOptions, for_each_row: bool) -> Facts:
    """The averages, the groups that were asked for and, with effects by row, whether these can be believed."""
    facts = study.to_dict()
    facts["groups"] = {name: study.by(name, options.bins).to_dicts() for name in options.by}
    if for_each_row:
        facts["by_predicted"] = study.by_predicted().to_dicts()
        facts["heterogeneity"] = plain_types(study.heterogeneity)
    return facts


def _rows(study: Effects, log: Log, kept: pl.DataFrame) -> pl.DataFrame:
    """One row per row of the table, in order; the effect is empty where the row could not be used."""
    positions = np.arange(len(log)) if log.positions is None else np.asarray(log.positions)
    column = np.full(max(kept.height, len(log)), np.nan)
    column[positions[study.used]] = study.cate()
    effect = pl.Series(EFFECT, column).fill_nan(None)
    return kept.with_columns(effect) if kept.width else pl.DataFrame([effect])
