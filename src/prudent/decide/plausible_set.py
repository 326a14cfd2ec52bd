"""The plausible set of completions: how it is bounded, and how the paper's c relates to a risk."""

import math
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from prudent.decide.completions import PriceTable
from prudent.errors import TRUTH, InputProblem, check, number, optional, require

DEFAULT_RISK = 0.05
EQUALLY_DENSE = 2e-5
"""Of two log-densities: the same record, computed in another place of a batch, differs by so much."""


class PlausibleSet(eqx.Module):
    """Which completions of a record are plausible (eq 7).

    With `risk`, the highest-density set that holds posterior mass 1 − risk; with `c`, the paper's set
    {x : p(x|x̃) > c·p(x̂|x̃)}, which shrinks as gaps grow. x̂ always belongs, so the set is never empty.

    per_attribute: c bounds the geometric mean of that ratio over the cells in which completions may differ, so that it
        means the same however many gaps there are.
    """

    risk: float | None = None
    c: float | None = None
    per_attribute: bool = False

    def __init__(
        self,
        risk: float | None = None,
        c: float | None = None,
        owner: str = "PlausibleSet",
        per_attribute: bool = False,
    ):
        if risk is None and c is None:
            risk = DEFAULT_RISK
        require(risk is None or c is None, owner, "risk", "not be given together with 'c'", risk)
        share = optional(number(0, 1, "[)"))
        check(owner, {"risk": share, "c": share}, {"risk": risk, "c": c})
        check(owner, {"per_attribute": TRUTH}, {"per_attribute": per_attribute})
        require(not per_attribute or c is not None, owner, "per_attribute", "come with 'c'", per_attribute)
        self.risk, self.c, self.per_attribute = risk, c, per_attribute

    def inside(self, table: PriceTable) -> Bool[Array, " completion"]:
        if self.c is not None:
            inside = table.log_density - table.log_density[0] > self._lowest_ratio(table)
        else:
            # a sum of weights may end just beside 1 − risk, on either side; with no risk everything is plausible
            inside = (_denser_mass(table) < 1.0 - (self.risk or 0.0) - 1e-6) | (not self.risk)
        return inside.at[0].set(True)

    def edge(self, table: PriceTable) -> Float[Array, ""]:
        """The log-density down to which a completion that was not drawn is plausible."""
        lowest = jnp.min(jnp.where(self.inside(table), table.log_density, jnp.inf))
        # with c = 0 or no risk everything is plausible; then no farther than the draws themselves went
        return table.log_density[0] + self._lowest_ratio(table) + 1e-4 if self.c else lowest

    def _lowest_ratio(self, table: PriceTable) -> Any:
        """The logarithm of the density beside that of x̂ above which a completion is plausible."""
        # in double precision: a very small c is not 0
        lowest = math.log(self.c) if self.c else -math.inf
        if not self.per_attribute:
            return lowest
        if table.gaps is None:
            raise InputProblem(
                "With 'per_attribute' the plausible set depends on the number of gaps, which this model does not say. "
                "Leave it out, or give 'gaps' with the model's Completions."
            )
        return lowest * jnp.maximum(table.gaps, 1.0)

    def worst(self, table: PriceTable) -> Float[Array, " action"]:
        """Each action's lowest price within the set."""
        return worst_over(table, self.inside(table))


def worst_over(table: PriceTable, plausible: Bool[Array, " completion"]) -> Float[Array, " action"]:
    """Each action's lowest price over a set of completions."""
    return jnp.min(jnp.where(plausible[:, None], table.prices, jnp.inf), axis=0)


def _denser_mass(table: PriceTable) -> Float[Array, " completion"]:
    """The posterior mass of all completions strictly denser than each one: the set grows in this order."""
    order = jnp.argsort(-table.log_density)
    before = jnp.cumsum(table.weights[order]) - table.weights[order]
    density = table.log_density[order]
    # equally dense completions enter together: each gets the mass before the first of its peers
    first = jnp.concatenate([jnp.array([True]), density[1:] < density[:-1] - EQUALLY_DENSE])
    start = jnp.maximum.accumulate(jnp.where(first, before, 0.0))
    return jnp.zeros_like(start).at[order].set(start)


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
    from scipy.special import gammaincc

    cs, counts = _share("risk_of_c", "c", c), _gaps("risk_of_c", gaps)
    with np.errstate(divide="ignore"):
        depth = -np.log(cs)
    return _scalar_or_array(np.where(counts == 0, 0.0, gammaincc(np.maximum(counts, 1) / 2, depth)))


def c_of_risk(risk: Any, gaps: Any) -> Any:
    """The c whose set leaves out the mass `risk` of a Gaussian posterior over `gaps` missing numbers.

    The inverse of `risk_of_c`. With no gaps every c keeps the one record there is; 0 is given. It falls fast: with 800
    gaps it is about 1e-189 for a risk of 0.05, so give `risk` itself to `Conservative` where gaps are many.

    >>> round(c_of_risk(0.05, 1), 4), f"{c_of_risk(0.05, 20):.1e}"
    (0.1465, '1.5e-07')
    """
    from scipy.special import gammainccinv

    risks, counts = _share("c_of_risk", "risk", risk), _gaps("c_of_risk", gaps)
    return _scalar_or_array(np.where(counts == 0, 0.0, np.exp(-gammainccinv(np.maximum(counts, 1) / 2, risks))))


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


def _scalar_or_array(result: np.ndarray) -> Any:
    return float(result) if result.ndim == 0 else result
