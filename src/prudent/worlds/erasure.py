"""The erasure example of the paper's appendix, small enough to enumerate."""

from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np

from prudent.errors import InputProblem, Rule, check, number, one_of, require, whole
from prudent.worlds.best_action_information import Information, information, joint_of

BITS = 4
_RULES: dict[str, Rule] = {"erasure": number(0, 1), "uniform": number(0, 1, "(]")}
_STRATEGY_RULES: dict[str, Rule] = {"strategy": one_of("imputation", "expected", "conservative", "most often best")}
_SAMPLE_RULES: dict[str, Rule] = {"rows": whole(1), "seed": whole()}


@dataclass(frozen=True)
class ErasureWorld:
    """Four fair bits, each erased with probability `erasure`; two actions.

    Rewards are Bernoulli: (x1 + x2) / 3 for action 0 and (x3 + x4) / 3 + 0.1 for action 1. The log's clinician sees
    the bits that are left and takes action 0 with probability (1 − `uniform`) · [it has the higher expected reward]
    + `uniform` / 2. Entropies are in bits.

    >>> world = ErasureWorld()
    >>> round(world.best_action_entropy, 3), round(world.remaining_entropy, 3)
    (0.896, 0.571)
    >>> round(world.best_guess, 3), round(world.guess_bound, 3)
    (0.785, 0.673)
    """

    erasure: float = 0.5
    uniform: float = 0.4

    def __post_init__(self) -> None:
        check("ErasureWorld", _RULES, vars(self))

    @cached_property
    def records(self) -> np.ndarray:
        """All complete records, [16, 4], counting up from 0000."""
        return np.array(list(product((0.0, 1.0), repeat=BITS)))

    @cached_property
    def theta_of_records(self) -> np.ndarray:
        """The mean reward of both actions for all complete records, [16, 2]."""
        return self.theta(self.records)

    @cached_property
    def degraded(self) -> np.ndarray:
        """All records with gaps, [81, 4], NaN where erased."""
        return np.array(list(product((0.0, 1.0, np.nan), repeat=BITS)))

    @cached_property
    def degraded_probability(self) -> np.ndarray:
        """The probability of each record with gaps, [81]."""
        left = (~np.isnan(self.degraded)).sum(axis=1)
        return ((1 - self.erasure) / 2) ** left * self.erasure ** (BITS - left)

    def theta(self, full: np.ndarray) -> np.ndarray:
        """The mean reward of both actions for complete records, [row, 2]."""
        full = np.asarray(full, dtype=float)
        return np.stack([full[:, :2].sum(axis=1) / 3, full[:, 2:].sum(axis=1) / 3 + 0.1], axis=1)

    def posterior(self, values: np.ndarray, observed: np.ndarray | None = None) -> np.ndarray:
        """p(x | the bits that are left) over `records`, [row, 16]; gaps are NaN in `values`, or False in `observed`."""
        values = np.asarray(values, dtype=float)
        fits = values.ndim == 2 and values.shape[1] == BITS
        require(fits, "ErasureWorld", "values", f"have shape [rows, {BITS}]", values.shape)
        seen = ~np.isnan(values)
        seen = seen if observed is None else seen & np.asarray(observed, dtype=bool)
        agrees = np.all(~seen[:, None, :] | (values[:, None, :] == self.records), axis=2)
        if not agrees.any(axis=1).all():
            raise InputProblem("The 'values' of ErasureWorld must be 0, 1 or NaN. A row has another number.")
        return agrees / agrees.sum(axis=1, keepdims=True)

    def scores(self, strategy: str, values: np.ndarray, observed: np.ndarray | None = None) -> np.ndarray:
        """The exact score of both actions, [row, 2]; the strategy's action is the argmax.

        - "imputation": θ of the most likely completion (eq 5). All completions of a row are equally likely; the first
          in counting order is taken, so gaps are read as 0.
        - "expected": E[θ | the bits that are left] (eq 6).
        - "conservative": the lowest θ over the completions (eq 7). All are equally likely, so every c below 1
          gives the same.
        - "most often best": the probability that the action is a(x).
        """
        check("ErasureWorld.scores", _STRATEGY_RULES, {"strategy": strategy})
        posterior = self.posterior(values, observed)
        if strategy == "imputation":
            return self.theta_of_records[np.argmax(posterior, axis=1)]
        if strategy == "expected":
            return posterior @ self.theta_of_records
        if strategy == "most often best":
            return posterior @ self._is_best
        return np.min(np.where(posterior[:, :, None] > 0, self.theta_of_records, np.inf), axis=1)

    def act(self, strategy: str, values: np.ndarray, observed: np.ndarray | None = None) -> np.ndarray:
        """The exact action of a strategy, per row: the argmax of its `scores`."""
        return np.argmax(self.scores(strategy, values, observed), axis=1)

    @property
    def best_action_entropy(self) -> float:
        """H(a(X))."""
        return self.informed.best_action_entropy

    @property
    def remaining_entropy(self) -> float:
        """H(a(X) | X̃): how uncertain the best action still is, on average, after seeing the bits that are left."""
        return self.informed.remaining_entropy

    @property
    def information(self) -> float:
        """I(X; X̃)."""
        return self.informed.information

    @property
    def irrelevant_information(self) -> float:
        """I(X; X̃ | a(X)): what X̃ says about X that the best action does not need."""
        return self.informed.irrelevant_information

    @property
    def best_guess(self) -> float:
        """The probability that the best guess from X̃ finds a(X)."""
        return self.informed.best_guess

    @property
    def guess_bound(self) -> float:
        """2 ** −H(a(X) | X̃). The paper calls it the probability of finding a(X); it is only a lower bound."""
        return self.informed.guess_bound

    @cached_property
    def informed(self) -> Information:
        """All terms of proposition 1."""
        joint = joint_of(self.posterior(self.degraded), self.degraded_probability)
        return information(joint, self.theta_of_records)

    def sample(self, rows: int, seed: int = 0) -> "ErasureSample":
        """A log: fresh records, their gaps, the clinician's actions and the rewards."""
        check("ErasureWorld.sample", _SAMPLE_RULES, {"rows": rows, "seed": seed})
        random = np.random.default_rng(seed)
        full = self.records[random.integers(len(self.records), size=rows)]
        observed = random.random(full.shape) >= self.erasure
        values = np.where(observed, full, np.nan)
        propensity = self.propensity(values)
        actions = (random.random(rows) >= propensity[:, 0]).astype(int)
        theta = self.theta(full)
        rewards = (random.random(rows) < theta[np.arange(rows), actions]).astype(float)
        return ErasureSample(full, values, observed, theta, actions, rewards, propensity)

    def propensity(self, values: np.ndarray, observed: np.ndarray | None = None) -> np.ndarray:
        """The clinician's probability of both actions, [row, 2]."""
        best = np.eye(2)[self.act("expected", values, observed)]
        return (1 - self.uniform) * best + self.uniform / 2

    @cached_property
    def _is_best(self) -> np.ndarray:
        return np.eye(2)[np.argmax(self.theta_of_records, axis=1)]


@dataclass(frozen=True, eq=False)
class ErasureSample:
    """Rows of the erasure world.

    full is the truth, values the record with NaN where erased; theta and propensity [row, 2]; actions and rewards as
    logged.
    """

    full: np.ndarray
    values: np.ndarray
    observed: np.ndarray
    theta: np.ndarray
    actions: np.ndarray
    rewards: np.ndarray
    propensity: np.ndarray

    def __len__(self) -> int:
        return len(self.full)
