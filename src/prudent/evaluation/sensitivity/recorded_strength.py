"""A yardstick for unrecorded reasons: how strongly the recorded ones moved the decisions."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from prudent.errors import require
from prudent.progress import tracked
from prudent.propensity import Known, Propensity
from prudent.table import Log, Schema

STRENGTH_QUANTILE = 0.95


def observed_strength(log: Log, propensity: Propensity, seed: int = 0) -> dict[str, float]:
    """By what factor leaving out each attribute changes the odds of the logged action: the 95 % quantile over rows.

    It is the Γ of an unrecorded reason as strong as this recorded one. Both propensities are estimated, so an attribute
    without influence also gets a little more than 1.
    """
    is_known = isinstance(propensity, Known)
    require(not is_known, "observed_strength", "propensity", "be one that is estimated, e.g. Boosted()", propensity)
    everything = _log_odds(propensity.fit(log, seed).taken)
    strength = {}
    for left_out in tracked(len(log.schema), "strength of the recorded reasons"):
        name = log.schema.names[left_out]
        others = [index for index in range(len(log.schema)) if index != left_out]
        ratio = np.abs(_log_odds(propensity.fit(_with_attributes(log, others), seed).taken) - everything)
        strength[name] = float(np.exp(np.nanquantile(ratio, STRENGTH_QUANTILE)))
    return dict(sorted(strength.items(), key=lambda pair: -pair[1]))


def _log_odds(taken: np.ndarray) -> np.ndarray:
    inside = np.clip(taken, 1e-6, 1 - 1e-6)
    return np.log(inside) - np.log1p(-inside)


def _with_attributes(log: Log, kept: Sequence[int]) -> Log:
    """The log as if only these attributes, by number, had been recorded."""
    columns, index = tuple(log.schema.columns[one] for one in kept), np.asarray(kept, np.int64)
    return replace(log, schema=Schema(columns), values=log.values[:, index], observed=log.observed[:, index])
