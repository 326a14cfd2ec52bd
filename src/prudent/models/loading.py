"""Loading a saved model: the classes that a model folder may name, and nothing else."""

from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import Any

import equinox as eqx

from prudent.errors import InputProblem, is_number, is_whole
from prudent.models.causal import CausalPVAE
from prudent.models.conditional import CPVAE
from prudent.models.fit_report import FitReport
from prudent.models.fitted import Fitted
from prudent.models.folder import DESCRIPTION, damaged, read_files
from prudent.models.reference import Reference
from prudent.models.settings import Sizes
from prudent.models.similarity import SPVAE
from prudent.models.storage import filled
from prudent.networks import Training, use_compilation_cache
from prudent.propensity import PROPENSITIES, LoggingPolicy
from prudent.table import ActionLabel, Roles, Schema, label_text, weighted_sum

SETTINGS: dict[str, Callable[..., Any]] = {cls.stored_as: cls for cls in (CausalPVAE, SPVAE, CPVAE)}


def load(path: str | PathLike[str]) -> Fitted:
    """Read a fitted model from a folder; unknown versions and damaged files raise an `InputProblem`."""
    use_compilation_cache()
    folder = Path(path)
    saved = read_files(folder)
    description = saved.description
    try:
        settings = _settings_from_json(SETTINGS[description["model"]], description["settings"])
        schema = Schema.from_json(description["schema"])
        labels = _labels(description["action_labels"])
        report = _report(description["report"])
        minimize = description["minimize"]
        if not isinstance(minimize, bool):
            raise ValueError("whether lower rewards are better")
        origin = description["origin"]
        if not is_number(origin):
            raise ValueError("what rewards are measured from")
        roles = _roles(description["roles"])
        # a model that was saved before these counts were kept has none
        counts = description.get("reference")
        reference = None if counts is None else Reference.from_json(counts, schema)
        # shapes only: settings with absurd sizes must not allocate memory
        blank = eqx.filter_eval_shape(settings.blank, schema, len(labels))
    except InputProblem as problem:
        raise damaged(folder / DESCRIPTION, str(problem).rstrip(".")) from problem
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError) as problem:
        raise damaged(folder / DESCRIPTION, f"{problem} is missing or wrong") from problem
    found = filled(blank, saved)
    try:
        logging_policy = LoggingPolicy.from_arrays(found.logged, schema, len(labels)) if found.logged else None
    except (KeyError, ValueError) as problem:
        raise damaged(saved.arrays_file, f"{problem} does not fit the model") from problem
    facts = settings, schema, labels, minimize, report, roles, found.seen, logging_policy
    return Fitted(found.model, *facts, float(origin), found.groups, reference)


def _labels(stored: Any) -> tuple[ActionLabel, ...]:
    labels = stored if isinstance(stored, list) else []
    known = [isinstance(label, str | bool) or is_number(label) for label in labels]
    if len(labels) < 2 or not all(known) or len({label_text(label) for label in labels}) < len(labels):
        raise ValueError("the list of action labels")
    return tuple(labels)


def _report(stored: Any) -> FitReport:
    report = FitReport(**{**stored, **{name: tuple(stored[name]) for name in ("held_out_bound", "notes", "choices")}})
    counts = all(is_whole(count) for count in (report.rows, report.rewarded, report.rounds))
    bounds = all(isinstance(bound, int | float) and not isinstance(bound, bool) for bound in report.held_out_bound)
    if not counts or not bounds or not all(isinstance(text, str) for text in (*report.notes, *report.choices)):
        raise ValueError("the report of the fit")
    return report


def _roles(stored: Any) -> Roles:
    roles = Roles(**stored)
    optional = (roles.propensity, roles.group, roles.censored)
    names = isinstance(roles.action, str) and isinstance(roles.reward, str)
    texts = all(isinstance(name, str) for name in roles.parts)
    texts = texts and all(isinstance(name, str | None) for name in optional)
    if not names or not texts or (roles.parts and set(roles.parts) != set(weighted_sum(roles.reward).columns)):
        raise ValueError("a name of the log's columns")
    return roles


def _settings_from_json(cls: Callable[..., Any], stored: dict[str, Any]) -> Any:
    values = dict(stored)
    values["sizes"], values["training"] = Sizes(**values["sizes"]), Training(**values["training"])
    for name, value in values.items():
        if isinstance(value, dict):
            options = dict(value)
            values[name] = PROPENSITIES[options.pop("propensity")](**options)
    return cls(**values)
