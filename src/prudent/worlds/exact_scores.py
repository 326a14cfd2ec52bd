"""The exact score of every dose under every strategy; the needed dose is a mixture of Gaussians."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import gammainc, gammaincinv, ndtr, ndtri

from prudent.errors import InputProblem, Rule, check, number, one_of
from prudent.worlds.losses import Loss

HALVINGS = 44

_STRATEGY_RULES: dict[str, Rule] = {
    "strategy": one_of("imputation", "expected", "conservative", "tail", "most often best")
}
_TAIL_RULES: dict[str, Rule] = {"risk": number(0, 1, "(]"), "measure": one_of("cvar", "quantile")}
_C_RULES: dict[str, Rule] = {"c": number(0, 1, "()")}
_RISK_RULES: dict[str, Rule] = {"risk": number(0, 1, "()")}


@dataclass(frozen=True, eq=False)
class Posterior:
    """What the observed cells say about the needed dose: per row a mixture of Gaussians that share their spread.

    weights [row, configuration] sum to one; means [row, configuration]; sd [row] is 0 when no numeric cell is missing;
    gaps [row] counts the numeric cells that are missing. A configuration is one choice of all categories.
    """

    weights: np.ndarray
    means: np.ndarray
    sd: np.ndarray
    gaps: np.ndarray

    @property
    def sds(self) -> np.ndarray:
        """The spread of every component, [row, configuration]."""
        return np.broadcast_to(self.sd[:, None], self.means.shape)

    @property
    def mean(self) -> np.ndarray:
        """E[needed dose | observed cells], per row."""
        return np.sum(self.weights * self.means, axis=1)

    @property
    def mode(self) -> np.ndarray:
        """The needed dose of the most likely completion.

        The components share their covariance, so the joint density peaks where the weight does.
        """
        best = np.argmax(self.weights, axis=1)
        return np.take_along_axis(self.means, best[:, None], axis=1)[:, 0]

    def blocks(self, rows: int) -> Iterator["Posterior"]:
        """The same posterior in blocks of this many rows."""
        for start in range(0, len(self.sd), rows):
            block = slice(start, start + rows)
            yield Posterior(self.weights[block], self.means[block], self.sd[block], self.gaps[block])

    def cdf(self, bounds: np.ndarray) -> np.ndarray:
        """P(needed dose <= bound | observed cells), [row, bound]."""
        distance = bounds[None, :, None] - self.means[:, None, :]
        sd = self.sd[:, None, None]
        point = np.where(distance >= 0, np.inf, -np.inf)
        standard = np.where(sd > 0, distance / np.where(sd > 0, sd, 1.0), point)
        return np.sum(self.weights[:, None, :] * ndtr(standard), axis=2)


def exact_scores(
    strategy: str,
    posterior: Posterior,
    doses: np.ndarray,
    loss: Loss,
    *,
    c: float | None = None,
    risk: float | None = None,
    measure: str = "cvar",
) -> np.ndarray:
    """Scores [row, dose]; the strategy's action is the argmax. See `DosingWorld.scores` for the strategies."""
    check("scores", _STRATEGY_RULES, {"strategy": strategy})
    if strategy == "imputation":
        return -loss.of(doses[None, :] - posterior.mode[:, None])
    if strategy == "expected":
        return expected_reward(posterior, doses, loss)
    if strategy == "most often best":
        return share_best(posterior, doses, loss)
    if strategy == "conservative":
        return worst_case(posterior, doses, loss, squared_radii(posterior, c=c, risk=risk))
    risk = 0.2 if risk is None else risk
    check("tail", _TAIL_RULES, {"risk": risk, "measure": measure})
    level = loss_quantile(posterior, doses, loss, risk)
    return -level if measure == "quantile" else -tail_mean(posterior, doses, loss, risk, level)


def expected_reward(posterior: Posterior, doses: np.ndarray, loss: Loss) -> np.ndarray:
    """E[θ(x, dose) | observed cells] in closed form (truncated Gaussian moments)."""
    return -_mix(posterior, loss.mean(*_excess(posterior, doses)))


def share_best(posterior: Posterior, doses: np.ndarray, loss: Loss) -> np.ndarray:
    """The posterior probability that each dose is the best one for the true record."""
    if len(doses) == 1:
        return np.ones((len(posterior.sd), 1))
    borders = doses[:-1] + loss.switch(float(doses[1] - doses[0]))
    below = posterior.cdf(borders)
    ends = np.zeros((len(below), 1))
    return np.diff(np.concatenate([ends, below, ends + 1.0], axis=1), axis=1)


def squared_radii(posterior: Posterior, *, c: float | None, risk: float | None) -> np.ndarray:
    """Squared Mahalanobis radius of the plausible set within each configuration; negative where it is left out.

    With `c` the set is {p > c · p(mode)}; with `risk` it is the smallest set that holds mass 1 − risk, by bisection on
    the density threshold (rows whose numeric cells are all present have a finite set: sorted weights).
    """
    with np.errstate(divide="ignore"):
        relative = np.log(posterior.weights) - np.log(posterior.weights.max(axis=1, keepdims=True))
    if c is not None and risk is None:
        check("conservative", _C_RULES, {"c": c})
        return 2 * (relative - np.log(c))
    if risk is None or c is not None:
        raise InputProblem("The conservative strategy needs one of 'c' and 'risk'. Give exactly one of them.")
    check("conservative", _RISK_RULES, {"risk": risk})
    depth = np.where(posterior.gaps > 0, _depth_numeric(posterior, relative, risk), 0.0)
    kept = np.where(posterior.gaps[:, None] > 0, relative + depth[:, None], _kept_discrete(posterior.weights, risk))
    return 2 * kept


def _depth_numeric(posterior: Posterior, relative: np.ndarray, risk: float) -> np.ndarray:
    """The −ln c whose set {p > c · p(mode)} holds 1 − risk, for rows with at least one numeric gap."""
    half = np.maximum(posterior.gaps, 1) / 2.0
    low = np.zeros(len(half))
    # a component lighter than risk / 2m may be left out entirely; with this depth all others lose less than risk / 2
    high = gammaincinv(half, 1 - risk / 2) + np.log(2 * relative.shape[1] / risk)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        inside = gammainc(half[:, None], np.maximum(relative + middle[:, None], 0.0))
        short = np.sum(posterior.weights * inside, axis=1) < 1 - risk
        low, high = np.where(short, middle, low), np.where(short, high, middle)
    return high


def _kept_discrete(weights: np.ndarray, risk: float) -> np.ndarray:
    """0 for the configurations of the smallest set with mass 1 − risk (ties kept together), −1 for the others."""
    ordered = -np.sort(-weights, axis=1)
    before = np.cumsum(ordered, axis=1) - ordered
    needed = before < 1 - risk - 1e-12
    smallest = np.min(np.where(needed, ordered, np.inf), axis=1, keepdims=True)
    return np.where(weights >= smallest, 0.0, -1.0)


def worst_case(posterior: Posterior, doses: np.ndarray, loss: Loss, squared: np.ndarray) -> np.ndarray:
    """The lowest reward of every dose over the plausible set.

    A linear target over an ellipsoid fills mean ± radius · sd, and the loss grows away from the dose on both sides,
    so the worst case is at an end.
    """
    reach = np.sqrt(np.maximum(squared, 0.0)) * posterior.sd[:, None]
    kept = (squared >= 0)[:, None, :]
    excess = doses[None, :, None] - posterior.means[:, None, :]
    worst = np.maximum(loss.of(excess - reach[:, None, :]), loss.of(excess + reach[:, None, :]))
    return -np.max(np.where(kept, worst, 0.0), axis=2)


def loss_quantile(posterior: Posterior, doses: np.ndarray, loss: Loss, risk: float) -> np.ndarray:
    """The smallest level that the loss exceeds with probability at most `risk`, [row, dose], by bisection."""
    mean, sd = _excess(posterior, doses)
    reach = -ndtri(min(risk, 0.5) / 2) * sd
    present = posterior.weights[:, None, :] > 0
    ends = np.maximum(loss.of(mean - reach), loss.of(mean + reach))
    high = np.max(np.where(present, ends, 0.0), axis=2)
    low = np.zeros_like(high)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        mass = _mix(posterior, loss.tail_mass(middle[:, :, None], mean, sd))
        low, high = np.where(mass > risk, middle, low), np.where(mass > risk, high, middle)
    return high


def tail_mean(posterior: Posterior, doses: np.ndarray, loss: Loss, risk: float, level: np.ndarray) -> np.ndarray:
    """The mean loss over the worst `risk` share: level + E[(loss − level)₊] / risk, exact at the quantile `level`."""
    mass, cost = loss.tail(level[:, :, None], *_excess(posterior, doses))
    return level + (_mix(posterior, cost) - level * _mix(posterior, mass)) / risk


def _excess(posterior: Posterior, doses: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and sd of dose − needed dose, [row, dose, configuration]."""
    return doses[None, :, None] - posterior.means[:, None, :], posterior.sd[:, None, None]


def _mix(posterior: Posterior, values: np.ndarray) -> np.ndarray:
    return np.sum(posterior.weights[:, None, :] * values, axis=2)
