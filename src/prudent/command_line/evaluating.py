"""`prudent evaluate`: what policies would have earned on logged decisions, and whether the log can tell."""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from prudent.command_line.asking import Asking
from prudent.command_line.files import STANDARD_OUTPUT, require_file_destination, write_text
from prudent.command_line.screen import bullets, heading, screen, sentence
from prudent.decide import Policy
from prudent.errors import InputProblem
from prudent.evaluation import (
    EVERY_ESTIMATOR,
    Bootstrap,
    EmpiricalBernstein,
    Evaluation,
    Interval,
    Student,
    evaluate,
    telling,
)
from prudent.models import Fitted, load
from prudent.table import Log, did_you_mean, read_table, to_table

STRATEGIES = ("expected", "conservative", "tail", "imputation", "most-often")
TAKES_RISK = ("conservative", "tail")
ESTIMATE = "estimate"


@dataclass(frozen=True)
class Judged:
    """How policies are to be judged, in the words of the command line."""

    estimators: tuple[str, ...]
    interval: str
    confidence: float
    below: float | None
    propensity: str | None
    seed: int

    def options(self) -> dict[str, Any]:
        """The settings of `prudent.evaluate`."""
        chosen = [one for one in EVERY_ESTIMATOR if one.name.replace(" ", "-") in self.estimators]
        return {
            "estimators": chosen,
            "interval": self._interval(),
            "confidence": self.confidence,
            "below": self.below,
            "seed": self.seed,
        }

    def _interval(self) -> Interval:
        if self.interval == "bootstrap":
            return Bootstrap(seed=self.seed)
        return EmpiricalBernstein() if self.interval == "bernstein" else Student()


def evaluate_model(
    model: Path,
    log: Path,
    asking: Asking,
    strategies: tuple[str, ...],
    rules: tuple[str, ...],
    judged: Judged,
    json_file: Path | None,
) -> None:
    alone = json_file is not None and str(json_file) == STANDARD_OUTPUT
    if json_file is not None and not alone:
        require_file_destination(json_file)
    asked = _asked(asking, strategies)
    fitted, frame = load(model), read_table(log)
    policies = {name: one.policy(fitted) for name, one in asked.items()}
    others = _rules(fitted, frame, rules, tuple(policies), judged.propensity)
    read, notes = _read(fitted, frame, judged.propensity)
    say_what_takes_long(policies, len(read))
    evaluation = evaluate({**policies, **others}, read, **judged.options())
    told = [*notes, *read.notes, *evaluation.notes, *_fallback_notes(fitted, asking)]
    settings = {name: str(policy.strategy) for name, policy in policies.items()}
    if json_file is not None:
        named = {"model": str(model), "log": str(log), "strategies": settings}
        text = json.dumps({**named, **evaluation.to_dict(), "notes": told}, indent=2, ensure_ascii=False)
        if alone:
            print(text)
            return
        write_text(text, json_file)
    _show(evaluation, log, settings, told, has_all=json_file is not None)


# --- what is asked ---


def _asked(asking: Asking, strategies: tuple[str, ...]) -> dict[str, Asking]:
    """One asking per strategy; --risk and --c go to those that know them."""
    names = tuple(dict.fromkeys(strategies)) or STRATEGIES
    takes_risk = any(name in TAKES_RISK for name in names)
    asked = {
        name: replace(
            asking,
            strategy=name,
            risk=asking.risk if name in TAKES_RISK or not takes_risk else None,
            c=asking.c if name == "conservative" or "conservative" not in names else None,
        )
        for name in names
    }
    for one in asked.values():
        one.chosen_strategy()  # before the model is loaded: a wrong option is answered at once
    return asked


def _rules(
    fitted: Fitted, frame: pl.DataFrame, rules: tuple[str, ...], taken: tuple[str, ...], propensity: str | None
) -> dict[str, Callable[[Any], list[Any]]]:
    """A column of the log as a policy: what it says is done, and where it is empty the row is referred."""
    own = fitted.roles
    for name in rules:
        to_table(frame).find(name, "a rule's actions")
        if name in (own.action, own.reward, propensity or own.propensity):
            raise InputProblem(
                f"Column '{name}' is part of the log's own decisions, which are always judged too ('as logged'); "
                "--rule names a column with what somebody else would have done."
            )
        if name in taken:
            raise InputProblem(f"Column '{name}' has the name of a strategy, so --rule cannot use it; rename it.")
    return {name: _follow(name) for name in rules}


def _follow(name: str) -> Callable[[Any], list[Any]]:
    return lambda frame: to_table(frame).cells(name).to_list()


def _read(fitted: Fitted, frame: pl.DataFrame, propensity: str | None) -> tuple[Log, list[str]]:
    """The log as the model reads it, with the probabilities of the logged actions from the column that was named."""
    own, notes = fitted.roles.propensity, []
    column = own if propensity is None else propensity
    if propensity == ESTIMATE and ESTIMATE not in frame.columns:
        column = None
    elif propensity is None and own is not None and own not in frame.columns:
        column = None
        notes = [f"The log has no column '{own}', where the model's own had probabilities; they are estimated."]
    elif column in fitted.schema.names:
        raise InputProblem(f"Column '{column}' is one the model decides by, so it cannot be the propensity as well.")
    reader = replace(fitted, roles=replace(fitted.roles, propensity=column))
    return reader.read(frame), notes


def _fallback_notes(fitted: Fitted, asking: Asking) -> list[str]:
    labels = fitted.action_labels
    fallback = asking.known_fallback(labels)
    if fallback is None or fallback in labels:
        return []
    return [
        f"The fallback '{fallback}' is no action of the log, so how it turns out is not known: rows that get it count "
        f"as decided as logged. {did_you_mean(str(fallback), map(str, labels))}"
    ]


def say_what_takes_long(policies: dict[str, Policy], rows: int) -> None:
    """On a terminal only: scripts stay quiet."""
    console = screen(stderr=True)
    if not console.is_terminal:
        return
    searched = [name for name, policy in policies.items() if policy.searched]
    slow = (
        f"; the search for worst cases ({', '.join(searched)}) takes longest, --search 0 skips it" if searched else ""
    )
    sentence(console, f"Asking {len(policies)} policies of the model about {rows:,} decisions{slow} ...")


# --- what is shown ---


def _show(evaluation: Evaluation, log: Path, settings: dict[str, str], notes: list[str], has_all: bool) -> None:
    console = screen()
    sentence(console, f"{log}: {telling.heading(evaluation)}")
    heading(console, telling.title(evaluation))
    telling.summary_table(evaluation).draw(console)
    sentence(console, telling.legend(evaluation))
    for line in (
        *_settings_sentence(settings),
        *telling.constant_sentences(evaluation),
        *telling.referred_sentences(evaluation),
    ):
        sentence(console, line)
    if len(evaluation.judging.estimators) > 1:
        heading(console, "The same by every estimator, ± standard error")
        telling.estimator_table(evaluation).draw(console)
        sentence(console, telling.estimator_legend())
    heading(console, "Can the log tell?")
    bullets(console, telling.verdicts(evaluation))
    warnings = telling.warnings(evaluation)
    if warnings:
        heading(console, "Warnings")
        bullets(console, warnings)
    if len(evaluation.asked) > 1:
        heading(console, "Policy against policy, on the same decisions")
        telling.difference_table(evaluation).draw(console)
    if notes:
        heading(console, "Notes")
        bullets(console, notes)
    if not has_all:
        sentence(console, "\nAll constant actions, tails by every estimator and more: --json FILE.")


def _settings_sentence(settings: dict[str, str]) -> list[str]:
    """The numbers of those strategies that have any, from Conservative(risk=0.05)."""
    numbers = {name: text.partition("(")[2].rstrip(")").replace("=", " ") for name, text in settings.items()}
    told = [f"{name} with {text}" for name, text in numbers.items() if text]
    return [f"Settings: {', '.join(told)}."] if told else []
