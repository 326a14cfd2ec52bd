"""`prudent evaluate`: what policies would have earned on logged decisions, and whether the log can answer that."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from prudent.command_line.files import (
    FilesOfACommand,
    require_file_destination,
    require_json_destination,
    write_json,
    write_text,
)
from prudent.command_line.fitting import findings
from prudent.command_line.later_logs import reading_as
from prudent.command_line.policy_options import PolicyOptions
from prudent.command_line.screen import announce, screen, sentence, show
from prudent.decide import Policy
from prudent.errors import InputProblem
from prudent.evaluation import (
    EVERY_ESTIMATOR,
    LOGGED,
    Bootstrap,
    CrossFitted,
    CrossFittedPolicy,
    Decider,
    EmpiricalBernstein,
    Evaluation,
    Interval,
    Student,
    columns_that_matter,
    cross_fit,
    evaluate,
)
from prudent.models import Fitted, load
from prudent.propensity import ImputedLogistic
from prudent.show import Facts, Section, columns_section, confounding_sentence, evaluation_sections, source_sentence
from prudent.table import Faithful, Log, Part, Place, TextFormat, did_you_mean, read_with_notes, to_table

STRATEGIES = ("expected", "conservative", "tail", "imputation", "most-often")
TAKES_RISK = ("conservative", "tail", "at-most")
ESTIMATE = "estimate"
YARDSTICK_COLUMNS = 20
"""With more, the strength of every recorded reason is left out: it takes a propensity per column."""


@dataclass(frozen=True)
class EvaluationOptions:
    """The settings of `prudent.evaluate`, in the words of the command line."""

    estimators: tuple[str, ...]
    interval: str
    confidence: float
    below: float | None
    propensity: str | None
    seed: int
    show_estimators: bool = False
    details: bool = False
    group: str | None = None
    censored: str | None = None

    def settings(self) -> dict[str, Any]:
        chosen = [known for known in EVERY_ESTIMATOR if known.name.replace(" ", "-") in self.estimators]
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


@dataclass(frozen=True)
class Studies:
    """What is done beside the evaluation: how wrong its assumptions may be, models of parts of the log, and which
    columns matter, drawn to a file where there is one."""

    sensitivity: bool = False
    cross_fit: int | None = None
    columns: bool = False
    columns_to: Path | None = None


def evaluate_model(
    model: Path,
    log: Place,
    policy_options: PolicyOptions,
    strategies: tuple[str, ...],
    rules: tuple[str, ...],
    options: EvaluationOptions,
    json_file: Path | None,
    written: TextFormat,
    studies: Studies = Studies(),
    part: Part = Part(),
) -> None:
    require_json_destination(json_file)
    _require_picture_destination(studies)
    FilesOfACommand({"--json": json_file, "--columns-to": studies.columns_to}, (log.path,), (model,)).check()
    requests = requests_of(policy_options, strategies or STRATEGIES)
    fitted = load(model)
    frame, file_notes = read_with_notes(log, written, Faithful((*fitted.text_columns, *rules)), part)
    policies = {name: request.policy(fitted) for name, request in requests.items()}
    others = _rules(fitted, frame, rules, tuple(policies), options.propensity)
    fitted, read, notes = read_later(fitted, frame, options.propensity, options.group, options.censored)
    announce_slow_steps(policies, len(read))
    judged: Fitted | CrossFitted = fitted
    deciders: dict[str, Decider] = {**policies, **others}
    if studies.cross_fit is not None:
        judged = cross_fit(fitted.settings, read, folds=studies.cross_fit, seed=options.seed)
        deciders |= {name: _crossed(judged, request) for name, request in requests.items()}
        notes = [*notes, _cross_fit_note(studies.cross_fit)]
    evaluation = evaluate(deciders, read, **options.settings())
    used = {name: str(policy.strategy) for name, policy in policies.items()}
    facts = {"model": str(model), "log": str(log), "strategies": used, **evaluation.to_dict()}
    facts["notes"] = [
        *findings(read),
        *file_notes,
        *notes,
        *read.notes,
        *evaluation.notes,
        *_fallback_notes(fitted, policy_options),
    ]
    if studies.sensitivity:
        facts["sensitivity"] = sensitivity_facts(evaluation, judged, options.seed)
    if studies.columns:
        matter = columns_that_matter(
            next(iter(policies.values())), read, confidence=options.confidence, seed=options.seed
        )
        facts["columns"] = matter.to_dict()
        if studies.columns_to is not None:
            write_text(matter.picture().svg(), studies.columns_to)
    if write_json(facts, json_file):
        return
    _show(facts, options, has_all=json_file is not None)


def _require_picture_destination(studies: Studies) -> None:
    picture = studies.columns_to
    if studies.columns and studies.cross_fit is not None:
        raise InputProblem(
            "--columns asks about the saved model, which --cross-fit does not use; leave one of them out."
        )
    if picture is not None:
        if picture.suffix.lower() != ".svg":
            raise InputProblem(f"--columns-to draws a picture; '{picture}' must end in .svg.")
        require_file_destination(picture)


# --- what is evaluated ---


def _crossed(cross_fitted: CrossFitted, request: PolicyOptions) -> CrossFittedPolicy:
    return CrossFittedPolicy(cross_fitted, tuple(request.policy(model) for model in cross_fitted.models))


def _cross_fit_note(folds: int) -> str:
    return (
        f"Cross-fitted: {folds} models with the settings of this one were fitted, each without a part of the log, and "
        "every row is decided and priced by the one that has not seen it. This judges the way of learning, on a little "
        "less data; the saved model was not used."
    )


def requests_of(policy_options: PolicyOptions, strategies: tuple[str, ...]) -> dict[str, PolicyOptions]:
    """The options of each strategy; --risk and --c go to those that have them."""
    names = tuple(dict.fromkeys(strategies))
    takes_risk = any(name in TAKES_RISK for name in names)
    requests = {
        name: replace(
            policy_options,
            strategy=name,
            risk=policy_options.risk if name in TAKES_RISK or not takes_risk else None,
            c=policy_options.c if name == "conservative" or "conservative" not in names else None,
        )
        for name in names
    }
    for request in requests.values():
        request.chosen_strategy()  # before the model is loaded, so that a wrong option is reported at once
    return requests


def _rules(
    fitted: Fitted, frame: pl.DataFrame, rules: tuple[str, ...], taken: tuple[str, ...], propensity: str | None
) -> dict[str, Callable[[Any], list[Any]]]:
    """Columns of the log as policies: each cell is the action, and an empty cell refers the row."""
    roles = fitted.roles
    for name in rules:
        to_table(frame).find(name, "a rule's actions")
        if name in (roles.action, *roles.reward_columns, propensity or roles.propensity):
            raise InputProblem(
                f"Column '{name}' is part of the logged decisions, which are always evaluated too ('as logged'); "
                "--rule names a column with what somebody else would have done."
            )
        if name in taken:
            raise InputProblem(f"Column '{name}' has the name of a strategy, so --rule cannot use it; rename it.")
    labels = [str(label) for label in fitted.action_labels]
    return {name: _follow(name, labels) for name in rules}


def _follow(name: str, labels: list[str]) -> Callable[[Any], list[Any]]:
    return lambda frame: to_table(frame).cells(name, labels).to_list()


def read_later(
    fitted: Fitted, frame: pl.DataFrame, propensity: str | None, group: str | None, censored: str | None
) -> tuple[Fitted, Log, list[str]]:
    """The model as it reads this log, the log, and notes on columns that it lacks."""
    fitted, role_notes = reading_as(fitted, frame, group, censored)
    read, notes = _read(fitted, frame, propensity)
    return fitted, read, [*role_notes, *notes]


def _read(fitted: Fitted, frame: pl.DataFrame, propensity: str | None) -> tuple[Log, list[str]]:
    """The log as the model reads it, with the probabilities of the logged actions from the column that was named."""
    usual, notes = fitted.roles.propensity, []
    column = usual if propensity is None else propensity
    if propensity == ESTIMATE and ESTIMATE not in frame.columns:
        column = None
    elif propensity is None and usual is not None and usual not in frame.columns:
        column = None
        notes = [f"The log has no column '{usual}' with probabilities, as the model's log had; they are estimated."]
    elif column in fitted.schema.names:
        raise InputProblem(f"Column '{column}' is one the model decides by, so it cannot be the propensity as well.")
    reader = replace(fitted, roles=replace(fitted.roles, propensity=column))
    return reader.read(frame), notes


def _fallback_notes(fitted: Fitted, policy_options: PolicyOptions) -> list[str]:
    labels = fitted.action_labels
    fallback = policy_options.known_fallback(labels)
    if fallback is None or fallback in labels:
        return []
    return [
        f"The fallback '{fallback}' is not an action of the log, so its outcomes are unknown: rows that get it count "
        f"as decided as logged. {did_you_mean(str(fallback), map(str, labels))}"
    ]


def announce_slow_steps(policies: dict[str, Policy], rows: int) -> None:
    """On a terminal only: scripts stay quiet."""
    searched = [name for name, policy in policies.items() if policy.searched]
    slow = (
        f"; the search for worst cases ({', '.join(searched)}) takes longest, --search 0 skips it" if searched else ""
    )
    announce(f"Evaluating {len(policies)} policies of the model on {rows:,} decisions{slow} ...")


# --- how wrong the assumptions may be ---


def sensitivity_facts(evaluation: Evaluation, judged: Fitted | CrossFitted, seed: int) -> Facts:
    """Unrecorded reasons and gaps that depend on what they hide; a part that cannot be answered is its sentence."""
    few = len(evaluation.log.schema) <= YARDSTICK_COLUMNS
    yardstick = ImputedLogistic(imputations=1) if few else None
    facts: Facts = {}
    for name, study in (
        ("confounding", lambda: evaluation.confounding(yardstick=yardstick, seed=seed)),
        ("missingness", lambda: evaluation.missingness(judged, seed=seed)),
    ):
        try:
            facts[name] = study().to_dict()
        except InputProblem as problem:
            facts[name] = {"sentence": str(problem)}
    return facts


def _against_the_log(confounding: Facts) -> list[str]:
    """The best policy against the decisions as logged: of all comparisons the one that is asked for first."""
    logged = [one for one in confounding.get("tippings", ()) if one["other"] == LOGGED]
    least = [confounding["least"]] if "least" in confounding else []
    return [
        confounding_sentence({**confounding, "least": one, "observed_strength": {}}) for one in logged if [one] != least
    ]


# --- what is shown ---


def _sensitivity(facts: Facts) -> list[Section]:
    if "sensitivity" not in facts:
        return []
    studies = facts["sensitivity"]
    reasons = (*_against_the_log(studies["confounding"]), studies["confounding"]["sentence"])
    return [
        Section("If there were unrecorded reasons", sentences=reasons),
        Section("If gaps depended on what they hide", sentences=(studies["missingness"]["sentence"],)),
    ]


def _show(facts: Facts, options: EvaluationOptions, has_all: bool) -> None:
    source = Section(introduction=(f"{facts['log']}: {source_sentence(facts)}",))
    matter = [columns_section(facts["columns"])] if "columns" in facts else []
    estimators = options.show_estimators or options.details
    show([source, *evaluation_sections(facts, estimators, options.details), *matter, *_sensitivity(facts)])
    more = [] if options.details else ["Whether the log can answer, policy against policy, every estimator: --details."]
    more += [] if has_all else ["All constant actions, tails by every estimator and more: --json FILE."]
    if more:
        screen().print()
        sentence(screen(), " ".join(more))
