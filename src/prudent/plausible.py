"""How much of what is plausible a `c` keeps: the paper's c and the risk it stands for, and what a model's set holds."""

from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.special import gammaincc, gammainccinv

from prudent.columns import LABELLED
from prudent.completions import PriceTable
from prudent.errors import InputProblem, require
from prudent.policy import Policy
from prudent.search import Search
from prudent.strategies import Conservative


def risk_of_c(c: Any, gaps: Any) -> Any:
    """The posterior mass outside {x : p(x|x̃) > c·p(x̂|x̃)} when the `gaps` missing numbers are jointly Gaussian.

    ln p(x|x̃)/p(x̂|x̃) is then −½ of a χ² variable with `gaps` degrees of freedom, so the risk is P(χ² ≥ −2 ln c)
    (the remark after eq 7). With no gaps the record itself is all there is, and no c leaves it out: the risk is 0.
    Scalars or arrays, which broadcast.

    >>> round(risk_of_c(0.1, 2), 6), round(risk_of_c(0.1, 8), 3)
    (0.1, 0.799)
    >>> risk_of_c(0.7, np.array([0, 1, 2, 800])).round(3).tolist()
    [0.0, 0.398, 0.7, 1.0]
    """
    cs, counts = _share("risk_of_c", "c", c), _gaps("risk_of_c", gaps)
    with np.errstate(divide="ignore"):
        depth = -np.log(cs)
    return _like(np.where(counts == 0, 0.0, gammaincc(np.maximum(counts, 1) / 2, depth)))


def c_of_risk(risk: Any, gaps: Any) -> Any:
    """The c whose set leaves out the mass `risk` of a Gaussian posterior over `gaps` missing numbers.

    The inverse of `risk_of_c`. With no gaps every c keeps the one record there is; 0 is given. It falls fast: with 800
    gaps it is about 1e-189 for a risk of 0.05, so give `risk` itself to `Conservative` where gaps are many.

    >>> round(c_of_risk(0.05, 1), 4), f"{c_of_risk(0.05, 20):.1e}"
    (0.1465, '1.5e-07')
    """
    risks, counts = _share("c_of_risk", "risk", risk), _gaps("c_of_risk", gaps)
    return _like(np.where(counts == 0, 0.0, np.exp(-gammainccinv(np.maximum(counts, 1) / 2, risks))))


@dataclass(frozen=True, eq=False)
class PlausibleMass:
    """What the plausible set of a policy holds, per row.

    gaps: how many numbers are missing.
    held: the posterior mass inside the set, from the model's weighted completions.
    gaussian: the same if the posterior over the gaps were Gaussian: 1 − risk_of_c(c, gaps), or 1 − risk where the
        policy was given a risk. Categories are no part of this map; the completions do count them. It says nothing of
        a model with types, whose plausible set does not depend on the number of gaps.
    """

    gaps: np.ndarray
    held: np.ndarray
    gaussian: np.ndarray


def plausible_mass(policy: Policy, frame: Any) -> PlausibleMass:
    """The posterior mass inside the policy's plausible set for every row of a table, beside the Gaussian map.

    For a strategy that is not `Conservative` the set is the one behind its `worst_reward`, of risk 0.05. The sum is
    over single completions, so a set asked to hold 1 − risk holds a little more: up to the weight of its last one.
    """
    encoded = policy.fitted.schema.encode(frame)
    rows = len(encoded.flags)
    if not rows:
        raise InputProblem("The table of cases has no rows; give at least one case.")
    # records found by search carry no weight, so none is looked for
    options: dict[str, Any] = {"completions": policy.completions, "seed": policy.seed, "search": Search(steps=0)}
    tables = policy.fitted.policy(policy.strategy, **options).tables(encoded)
    parts = [np.asarray(_mass_inside(policy.plausible, part), np.float64) for part in tables]
    numeric = np.array([column.kind not in LABELLED for column in policy.fitted.schema.columns], bool)
    gaps = (~encoded.observed[:, numeric]).sum(axis=1)
    asked = policy.plausible
    outside = np.full(rows, asked.risk) if asked.c is None else risk_of_c(asked.c, gaps)
    return PlausibleMass(gaps, np.concatenate(parts)[:rows], 1 - outside)


@eqx.filter_jit
def _mass_inside(plausible: Conservative, tables: PriceTable) -> Float[Array, " row"]:
    return jax.vmap(lambda table: jnp.sum(jnp.where(plausible.plausible(table), table.weights, 0.0)))(tables)


def _share(owner: str, name: str, given: Any) -> np.ndarray:
    shares = _numbers(owner, name, given)
    require(bool(np.all((shares >= 0) & (shares < 1))), owner, name, "be in [0, 1)", given)
    return shares


def _gaps(owner: str, given: Any) -> np.ndarray:
    counts = _numbers(owner, "gaps", given)
    whole = bool(np.all((counts >= 0) & (counts == np.floor(counts)) & np.isfinite(counts)))
    require(whole, owner, "gaps", "be whole numbers of at least 0", given)
    return counts


def _numbers(owner: str, name: str, given: Any) -> np.ndarray:
    array = np.asarray(given)
    require(array.dtype.kind in "iuf", owner, name, "be a number or an array of numbers", given)
    return array.astype(np.float64)


def _like(found: np.ndarray) -> Any:
    return float(found) if found.ndim == 0 else found
