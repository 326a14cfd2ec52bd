"""`prudent fit`: learn a model from logged decisions, save it, and summarise the fit."""

import math
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import typer

from prudent.command_line.files import (
    FilesOfACommand,
    require_model_destination,
    require_table_destination,
    unwritable,
    write_table,
)
from prudent.command_line.log_options import LogOptions, shell_words
from prudent.command_line.screen import screen, sentence, show
from prudent.errors import InputProblem
from prudent.models import (
    CPVAE,
    SPVAE,
    CausalPVAE,
    Cost,
    Fitted,
    SavedColumns,
    estimate_costs,
    require_fittable,
    reward_scale,
    saved_columns,
)
from prudent.propensity import Known
from prudent.show import Section, counted, percent
from prudent.table import Log, log_findings, odd_cells_of, repeated_rows, take_rows

HELD_OUT = 0.2
"""The share of rows that --hold-out keeps out of the fit."""
LABELS_SHOWN = 12
NAMES_SHOWN = 4


@dataclass(frozen=True)
class ModelOptions:
    """Which model, and how it is trained; None stands for the default of the model."""

    model: str
    members: int | None
    rounds: int | None
    seed: int
    types: int | None = None
    ordered: bool | None = None
    varying_noise: bool = False
    prices: str | None = None
    preset: str | None = None
    minutes: float | None = None

    def settings(self, known_propensity: bool) -> Any:
        propensity = {"propensity": Known()} if known_propensity and self.model != "causal" else {}
        kind = {"causal": CausalPVAE, "similarity": SPVAE, "conditional": CPVAE}[self.model]
        settings: Any = kind(**propensity) if self.preset is None else kind.preset(self.preset, **propensity)
        if self.members is not None:
            settings = replace(settings, members=self.members)
        flags = {"ordered": self.ordered, "varying_noise": self.varying_noise or None}
        options = {"types": self.types, "prices": self.prices, **flags}
        causal_only = {name: value for name, value in options.items() if value is not None}
        if causal_only and self.model != "causal":
            option = f"--{next(iter(causal_only)).replace('_', '-')}"
            raise InputProblem(f"{option} belongs to the causal model, and this is --model {self.model}; leave it out.")
        settings = replace(settings, **causal_only)
        if self.rounds is not None:
            settings = replace(settings, training=replace(settings.training, rounds=self.rounds, extensions=0))
        if self.minutes is not None:
            if not 0 < self.minutes < math.inf:
                raise InputProblem(f"--time-budget must be a number of minutes above 0. Got {self.minutes:g} instead.")
            settings = replace(settings, training=replace(settings.training, seconds=60 * self.minutes))
        return settings


@dataclass(frozen=True)
class Places:
    """Where the results of a fit go. force: replace a model of other columns."""

    model: Path
    held_out: Path | None = None
    force: bool = False


def fit_model(options: LogOptions, model: ModelOptions, places: Places, quiet: bool) -> None:
    out, hold_out = places.model, places.held_out
    require_model_destination(out)
    FilesOfACommand({"--hold-out": hold_out}, options.files, (out,)).check()
    if hold_out is not None:
        require_table_destination(str(hold_out))
    settings = model.settings(options.propensity is not None)
    log = _log(options)
    _require_same_columns(out, log, places.force)
    later = log
    if hold_out is not None:
        log, later = log.split(1 - HELD_OUT, seed=model.seed)
    require_fittable(log)
    reward_scale(log)
    if hold_out is not None:
        write_table(take_rows(later.source, np.asarray(later.positions)), str(hold_out), verbatim=True)
    if not quiet:
        sentence(
            screen(stderr=True), _announced(log, estimate_costs(settings, log).fit, settings.training.extensions > 0)
        )
    fitted = settings.fit(log, seed=model.seed, progress=False if quiet else None)
    try:
        fitted.save(out)
    except OSError as problem:
        raise unwritable(out, problem) from problem
    if not quiet:
        show([_summary(fitted, log, options, model), _next_steps(out, hold_out)])


def _announced(log: Log, cost: Cost, extends: bool) -> str:
    size = (
        f"{counted(len(log), 'row')}, {counted(len(log.schema), 'column')}, {counted(len(log.action_labels), 'action')}"
    )
    longer = "; longer where held-out rewards ask for more training" if extends else ""
    return f"Fitting to {size}: {cost} on this machine{longer}."


def _require_same_columns(out: Path, log: Log, force: bool) -> None:
    """Ask before a model of other columns is replaced, or refuse where nobody can answer."""
    saved = saved_columns(out)
    if saved is None or force:
        return
    differences = _differences(saved, SavedColumns(tuple(log.schema.names), log.roles.action, log.roles.reward))
    if not differences:
        return
    what = f"'{out}' holds a model made from other columns: {'; '.join(differences)}."
    if on_a_terminal() and typer.confirm(f"{what} Replace it?", default=False):
        return
    raise InputProblem(f"{what} Name another folder with --out, or replace it with --force.")


def on_a_terminal() -> bool:
    """Whether somebody is there to answer."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def _differences(saved: SavedColumns, new: SavedColumns) -> list[str]:
    differences = [
        f"its {role} is '{before}', not '{now}'"
        for role, before, now in (("action", saved.action, new.action), ("reward", saved.reward, new.reward))
        if before != now
    ]
    for has, names in (("it has", set(saved.names) - set(new.names)), ("it lacks", set(new.names) - set(saved.names))):
        if names:
            listed = [f"'{name}'" for name in sorted(names)]
            more = f" and {len(listed) - NAMES_SHOWN} more" if len(listed) > NAMES_SHOWN else ""
            differences.append(f"{has} {', '.join(listed[:NAMES_SHOWN])}{more}")
    return differences


def _log(options: LogOptions) -> Log:
    try:
        return options.log()
    except InputProblem as problem:
        mended = options.with_options(odd_cells_of(problem).options).as_command()
        sentences = f"{problem}\nTo see the log read so: prudent inspect {mended}"
        raise InputProblem(sentences, problem.details) from problem


def _summary(fitted: Fitted, log: Log, options: LogOptions, model: ModelOptions) -> Section:
    report, labels = fitted.report, [str(label) for label in fitted.action_labels]
    shown = ", ".join(labels[:LABELS_SHOWN]) + (
        f" and {len(labels) - LABELS_SHOWN} more" if len(labels) > LABELS_SHOWN else ""
    )
    sentences = [
        f"Learned from {counted(report.rows, 'row')}, {report.rewarded:,} of them with action and reward.",
        f"  actions   {len(labels)}: {shown}",
        f"  reward    '{options.reward}', {'lower' if options.minimize else 'higher'} is better",
        f"  features  {counted(len(fitted.schema), 'column')}, {percent(1 - float(log.observed.mean()))} of the cells "
        "missing",
        f"  training  {model.model}, {counted(fitted.settings.members, 'network')}, {counted(report.rounds, 'round')}",
    ]
    if options.propensity is not None and model.model == "causal":
        sentences.append(
            f"The causal model gives all rows the same weight: column '{options.propensity}' is not a feature and not "
            "used otherwise."
        )
    return Section(sentences=tuple(sentences), points=(*findings(log), *report.choices, *report.notes))


def findings(log: Log) -> list[str]:
    """What a person should look at before believing the model: leaks, copies, codes for gaps, repeated rows."""
    return [*(finding.sentence for finding in log_findings(log)), *repeated_rows(log)]


def _next_steps(out: Path, hold_out: Path | None) -> Section:
    evaluate = [] if hold_out is None else [f"  prudent evaluate {shell_words(out, hold_out)}"]
    recommend = f"  prudent recommend {shell_words(out)} NEW_CASES.csv --out advice.csv --strategy tail"
    return Section(sentences=(f"Saved in {out}. Next:", *evaluate, recommend))
