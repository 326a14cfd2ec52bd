"""`prudent fit`: learn a model from logged decisions, save it, and say what happened."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from prudent.command_line.files import require_model_destination, require_table_destination, unwritable, write_table
from prudent.command_line.reading import Reading, command
from prudent.command_line.screen import bullets, screen, sentence
from prudent.errors import InputProblem
from prudent.models import CPVAE, SPVAE, CausalPVAE, Fitted
from prudent.propensity import Known
from prudent.show import counted, percent
from prudent.table import Log, take_rows

HELD_OUT = 0.2


@dataclass(frozen=True)
class Learning:
    """Which model, and how it is trained; None leaves the model its own default."""

    model: str
    members: int | None
    rounds: int | None
    seed: int
    types: int | None = None
    ordered: bool = False
    varying_noise: bool = False

    def settings(self, known_propensity: bool) -> Any:
        propensity = {"propensity": Known()} if known_propensity and self.model != "causal" else {}
        settings = {"causal": CausalPVAE, "similarity": SPVAE, "conditional": CPVAE}[self.model](**propensity)
        if self.members is not None:
            settings = replace(settings, members=self.members)
        own = {"types": self.types, "ordered": self.ordered or None, "varying_noise": self.varying_noise or None}
        asked = {name: value for name, value in own.items() if value is not None}
        if asked and self.model != "causal":
            option = f"--{next(iter(asked)).replace('_', '-')}"
            raise InputProblem(f"{option} belongs to the causal model, and this is --model {self.model}; leave it out.")
        settings = replace(settings, **asked)
        if self.rounds is not None:
            settings = replace(settings, training=replace(settings.training, rounds=self.rounds))
        return settings


def fit_model(reading: Reading, learning: Learning, out: Path, hold_out: Path | None, quiet: bool) -> None:
    require_model_destination(out)
    log = reading.log()
    if hold_out is not None:
        require_table_destination(str(hold_out))
        log, later = log.split(1 - HELD_OUT, seed=learning.seed)
        write_table(take_rows(later.source, np.asarray(later.positions)), str(hold_out))
    settings = learning.settings(reading.propensity is not None)
    fitted = settings.fit(log, seed=learning.seed, progress=False if quiet else None)
    try:
        fitted.save(out)
    except OSError as problem:
        raise unwritable(out, problem) from problem
    if not quiet:
        _tell(fitted, log, reading, learning)
        _tell_next(out, hold_out)


def _tell_next(out: Path, hold_out: Path | None) -> None:
    console = screen()
    sentence(console, f"Saved in {out}. Next:")
    if hold_out is not None:
        sentence(console, f"  prudent evaluate {command(out, hold_out)}")
    sentence(console, f"  prudent recommend {command(out)} NEW_CASES.csv --out advice.csv --strategy tail")


def _tell(fitted: Fitted, log: Log, reading: Reading, learning: Learning) -> None:
    console, report = screen(), fitted.report
    labels = ", ".join(str(label) for label in fitted.action_labels[:12])
    more = f" and {len(fitted.action_labels) - 12} more" if len(fitted.action_labels) > 12 else ""
    better = "lower" if reading.minimize else "higher"
    sentence(console, f"Learnt from {counted(report.rows, 'row')}, {report.rewarded:,} of them with action and reward.")
    sentence(console, f"  actions   {len(fitted.action_labels)}: {labels}{more}")
    sentence(console, f"  reward    '{reading.reward}', {better} is better")
    gaps = percent(1 - float(log.observed.mean()))
    sentence(console, f"  features  {counted(len(fitted.schema), 'column')}, {gaps} of the cells missing")
    members = counted(fitted.settings.members, "network")
    sentence(console, f"  training  {learning.model}, {members}, {counted(report.rounds, 'round')}")
    if reading.propensity is not None and learning.model == "causal":
        sentence(
            console,
            f"The causal model weights all rows alike: '{reading.propensity}' is kept out of the features and not used "
            "otherwise.",
        )
    bullets(console, report.notes)
