"""How much posterior probability a policy's plausible set holds."""

from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from prudent.decide.completions import PriceTable
from prudent.decide.plausible_set import PlausibleSet, risk_of_c
from prudent.decide.policy import Policy
from prudent.decide.search import Search
from prudent.errors import InputProblem
from prudent.networks import compiled
from prudent.table import LABELLED


@dataclass(frozen=True, eq=False)
class PlausibleMass:
    """What the plausible set of a policy holds, per row.

    gaps: how many numbers are missing.
    held: the posterior mass inside the set, from the model's weighted completions.
    gaussian: the same if the posterior over the gaps were Gaussian: 1 − risk_of_c(c, gaps), or 1 − risk where the
        policy was given a risk. Categories are not part of this map; the completions do count them. It does not
        apply to a model with types, whose plausible set does not depend on the number of gaps.
    """

    gaps: np.ndarray
    held: np.ndarray
    gaussian: np.ndarray


def plausible_mass(policy: Policy, frame: Any) -> PlausibleMass:
    """The posterior mass inside the policy's plausible set for every row of a table, beside the Gaussian map.

    For a strategy that is not `Conservative` the set is the one behind its `worst_reward`, of risk 0.05. The sum is
    over single completions, so a set asked to hold 1 − risk holds a little more: up to the weight of its last one.
    """
    schema = policy.fitted.schema
    encoded = schema.encode(frame)
    rows = len(encoded.flags)
    if not rows:
        raise InputProblem("The table of cases has no rows; give at least one case.")
    # records found by search carry no weight, so the search can be skipped
    sampled, plausible = replace(policy, search=Search(steps=0)), policy.plausible_set
    parts = [np.asarray(_mass_inside(plausible, part), np.float64) for part in sampled.pricing.tables(encoded)]
    numeric = np.array([column.kind not in LABELLED for column in schema.columns], bool)
    gaps = (~encoded.observed[:, numeric]).sum(axis=1)
    outside = np.full(rows, plausible.risk) if plausible.c is None else risk_of_c(plausible.c, gaps)
    return PlausibleMass(gaps, np.concatenate(parts)[:rows], 1 - outside)


@compiled
def _mass_inside(plausible: PlausibleSet, tables: PriceTable) -> Float[Array, " row"]:
    return jax.vmap(lambda table: jnp.sum(jnp.where(plausible.inside(table), table.weights, 0.0)))(tables)
