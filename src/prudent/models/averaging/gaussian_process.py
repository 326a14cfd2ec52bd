"""A Gaussian process for the rewards of all actions, on the mean of a record's completions and on where its gaps were.

θ(x, a) = constant + linear + smooth, each with a part that all actions share and a part of an action's own. A column
counts as far as the evidence of some of the rows says (automatic relevance determination). Many rows are summed up by
a few of them, the landmarks (a projected process: exact where all rows are landmarks).
"""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

LANDMARKS = 512
MOST_LEARNT, MOST_JUDGED = 8_000, 800
"""Rows that are learnt from, and rows whose evidence decides how much columns and parts count, at most."""
GAPS_SPEAK = 10.0
"""The logarithm of the evidence must rise by this, or where gaps are is left out: by chance it rises by up to 5."""
SILENT = -20.0
"""The logarithm of the relevance of a column that is left out."""
STEPS = 30
"""Of the search for the highest evidence."""
SHARED_CONSTANT, OWN_CONSTANT = 0.1, 1.0
GAPS_COUNT = -1.0
"""The logarithm of how much a gap counts a priori, beside the value of a cell."""
PRIOR_WIDTH = 1.5
"""Standard deviation of the logarithms of relevances and strengths."""
JITTER = 1e-6


class GaussianProcess(eqx.Module):
    """The expected (standardised) reward of every action, by a record's gaps and the mean of its completions."""

    location: Float[Array, " column"]
    relevance: Float[Array, " column"]
    constants: Float[Array, " action"]
    slopes: Float[Array, "column action"]
    landmarks: Float[Array, "landmark column"]
    smooth: Float[Array, "landmark action"]

    @classmethod
    def blank(cls, columns: int, actions: int) -> "GaussianProcess":
        landmarks, smooth = jnp.zeros((LANDMARKS, columns)), jnp.zeros((LANDMARKS, actions))
        each, slopes = jnp.zeros(columns), jnp.zeros((columns, actions))
        return cls(each, each, jnp.zeros(actions), slopes, landmarks, smooth)

    def __call__(self, columns: Float[Array, " column"]) -> Float[Array, " action"]:
        place = (columns - self.location) * self.relevance
        apart = jnp.sum((self.landmarks - place[None, :]) ** 2, axis=1)
        return self.constants + place @ self.slopes + jnp.exp(-0.5 * apart) @ self.smooth


class Strengths(NamedTuple):
    """Standard deviations a priori, as logarithms: of the linear and the smooth part, shared and an action's own; and
    of the noise. `relevance` is of every column: smooth functions change over one divided by it."""

    relevance: np.ndarray
    shared_linear: float
    own_linear: float
    shared_smooth: float
    own_smooth: float
    noise: float

    @classmethod
    def of(cls, vector: np.ndarray) -> "Strengths":
        return cls(vector[:-5], *(float(number) for number in vector[-5:]))

    @property
    def variances(self) -> np.ndarray:
        """All but the relevances."""
        return np.exp(2 * np.array(self[1:]))

    @property
    def gaps_speak(self) -> bool:
        """Whether it counts which attributes are missing."""
        return bool(self.relevance[-1] > SILENT)


def usual(cells: int, gaps: int = 0) -> np.ndarray:
    """The strengths to start from, and the mean of their prior: rewards and columns are standardised. The last columns
    say where gaps are."""
    relevance = -np.log(1.5 * np.sqrt(cells)) + np.repeat([0.0, GAPS_COUNT], [cells, gaps])
    return np.concatenate([relevance, np.log([0.45, 0.45, 0.4, 0.4, 0.8])])


class _Products(NamedTuple):
    """What covariances are made of: inner products of the rows' places, and how near they are."""

    linear: np.ndarray
    smooth: np.ndarray

    @classmethod
    def of(cls, left: np.ndarray, right: np.ndarray) -> "_Products":
        linear = left @ right.T
        squares = (left**2).sum(axis=1)[:, None] + (right**2).sum(axis=1)[None, :]
        return cls(linear, np.exp(-0.5 * np.maximum(squares - 2 * linear, 0.0)))

    def covariance(self, strengths: Strengths, alike: np.ndarray) -> np.ndarray:
        """alike: the prior correlation of the two rows' actions."""
        shared_linear, own_linear, shared_smooth, own_smooth, _ = strengths.variances
        linear, smooth = shared_linear + own_linear * alike, shared_smooth + own_smooth * alike
        return linear * self.linear + smooth * self.smooth + OWN_CONSTANT * alike + SHARED_CONSTANT


class Surface:
    """Rows to learn from. columns: [row, column], of which the last say where `gaps` are; alike: the prior correlation
    between actions' own parts."""

    def __init__(self, columns: np.ndarray, actions: np.ndarray, rewards: np.ndarray, alike: np.ndarray, gaps: int = 0):
        self.gaps, self.usual = gaps, usual(columns.shape[1] - gaps, gaps)
        self.location, spread = columns.mean(axis=0), columns.std(axis=0)
        self.scale = np.where(spread > 1e-4, spread, np.inf)  # a constant column says nothing
        self.columns, self.actions, self.alike = (columns - self.location) / self.scale, actions, alike
        self.mean = float(rewards.mean())
        self.rewards = rewards - self.mean

    def loss(self, vector: np.ndarray, rows: np.ndarray) -> tuple[float, np.ndarray]:
        """Minus the logarithm of the evidence of some rows and of the prior, and its gradient."""
        from scipy.linalg import get_lapack_funcs

        strengths, rewards = Strengths.of(vector), self.rewards[rows]
        places = self.columns[rows] * np.exp(strengths.relevance)
        alike = self.alike[np.ix_(self.actions[rows], self.actions[rows])]
        products = _Products.of(places, places)
        covariance = products.covariance(strengths, alike)
        shared_linear, own_linear, shared_smooth, own_smooth, noise = strengths.variances
        covariance[np.diag_indices(len(rows))] += noise
        potrf, potri = get_lapack_funcs(("potrf", "potri"), (covariance,))
        factor, _ = potrf(covariance, lower=1)
        inverse, _ = potri(factor, lower=1)
        inverse = np.tril(inverse) + np.tril(inverse, -1).T
        explained = inverse @ rewards
        loss = 0.5 * rewards @ explained + np.log(np.diag(factor)).sum()
        by_covariance = 0.5 * (inverse - np.outer(explained, explained))
        linear, smooth = by_covariance * products.linear, by_covariance * products.smooth
        nearer = smooth * (shared_smooth + own_smooth * alike)
        larger = by_covariance * (shared_linear + own_linear * alike) + nearer
        by_relevance = 2 * ((larger @ places - nearer.sum(axis=1)[:, None] * places) * places).sum(axis=0)
        parts = [linear.sum(), (linear * alike).sum(), smooth.sum(), (smooth * alike).sum(), np.trace(by_covariance)]
        off = np.where(vector == SILENT, 0.0, vector - self.usual) / PRIOR_WIDTH
        gradient = np.concatenate([by_relevance, 2 * strengths.variances * parts]) + off / PRIOR_WIDTH
        return float(loss + 0.5 * off @ off), gradient

    def _highest_evidence(self, start: np.ndarray, moved: int) -> tuple[np.ndarray, float]:
        """The strengths with the highest evidence, near enough, and the loss there; only `moved` relevances move."""
        from scipy.optimize import minimize

        rows = np.arange(len(self.rewards))[:MOST_JUDGED]
        free = np.r_[:moved, len(start) - 5 : len(start)]

        def loss(numbers: np.ndarray) -> tuple[float, np.ndarray]:
            vector = start.copy()
            vector[free] = numbers
            value, gradient = self.loss(vector, rows)
            return value, gradient[free]

        found = minimize(loss, start[free], method="L-BFGS-B", jac=True, options={"maxiter": STEPS})
        best = start.copy()
        if np.isfinite(found.fun):
            best[free] = found.x
        return best, float(found.fun)

    def strengths(self) -> Strengths:
        """Those with the highest evidence; gaps count only if it is clearly higher then."""
        cells = len(self.scale) - self.gaps
        gaps, start = slice(cells, cells + self.gaps), self.usual.copy()
        start[gaps] = SILENT
        best, loss = self._highest_evidence(start, cells)
        if self.gaps:
            start = best.copy()
            start[gaps] = self.usual[gaps]
            speaking, lower = self._highest_evidence(start, cells + self.gaps)
            best = speaking if loss - lower > GAPS_SPEAK else best
        return Strengths.of(best)

    def fit(self, strengths: Strengths) -> GaussianProcess:
        """The process given the rows; the first of them are the landmarks."""
        from scipy.linalg import solve_triangular

        places = self.columns[:MOST_LEARNT] * np.exp(strengths.relevance)
        actions, rewards = self.actions[: len(places)], self.rewards[: len(places)]
        some, own = places[:LANDMARKS], actions[:LANDMARKS]

        def covariance(rows: slice) -> np.ndarray:
            return _Products.of(some, places[rows]).covariance(strengths, self.alike[np.ix_(own, actions[rows])])

        each = covariance(slice(None))
        among = each[:, : len(some)] + JITTER * np.mean(np.diag(each)) * np.eye(len(some))
        factor = np.linalg.cholesky(among)
        features = solve_triangular(factor, each, lower=True)
        learnt = features @ features.T + strengths.variances[-1] * np.eye(len(some))
        weights = solve_triangular(factor, np.linalg.solve(learnt, features @ rewards), lower=True, trans=1)
        return self._process(strengths, some, weights, self.alike[own])

    def _process(
        self, strengths: Strengths, landmarks: np.ndarray, weights: np.ndarray, alike: np.ndarray
    ) -> GaussianProcess:
        """What does not depend on the record is added up once."""
        shared_linear, own_linear, shared_smooth, own_smooth, _ = strengths.variances
        constants = self.mean + weights @ (SHARED_CONSTANT + OWN_CONSTANT * alike)
        slopes = landmarks.T @ (weights[:, None] * (shared_linear + own_linear * alike))
        smooth = weights[:, None] * (shared_smooth + own_smooth * alike)
        missing = [(0, LANDMARKS - len(landmarks)), (0, 0)]
        arrays = (
            self.location,
            np.exp(strengths.relevance) / self.scale,
            constants,
            slopes,
            np.pad(landmarks, missing),
            np.pad(smooth, missing),
        )
        return GaussianProcess(*jax.device_put([array.astype(np.float32) for array in arrays]))
