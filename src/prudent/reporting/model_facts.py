"""What a model card says: what the model is, what it learnt from, with which settings, versions and hashes."""

import platform
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from prudent.decide import Policy
from prudent.models import Fitted, settings_to_json
from prudent.show import plain_types

PACKAGES = ("prudent", "jax", "equinox", "numpy", "scikit-learn", "polars")


@dataclass(frozen=True)
class Origin:
    """Where things are from: names of files without their folders, and SHA-256 hashes; None where there is no file."""

    model: str | None = None
    model_hash: str | None = None
    log: str | None = None
    log_hash: str | None = None


@dataclass(frozen=True)
class ModelFacts:
    """model: as `Fitted.summary` gives it. settings: of the fit. policy: as `Policy.summary` gives it."""

    model: dict[str, Any]
    settings: dict[str, Any]
    policy: dict[str, Any]
    roles: dict[str, Any]
    versions: dict[str, str]
    origin: Origin


def model_facts(fitted: Fitted, policy: Policy, origin: Origin) -> ModelFacts:
    known = hasattr(type(fitted.settings), "__dataclass_fields__")
    return ModelFacts(
        model=fitted.summary(),
        settings=settings_to_json(fitted.settings) if known else {},
        policy=policy.summary(),
        roles=plain_types(fitted.roles),
        versions=_versions(),
        origin=origin,
    )


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
