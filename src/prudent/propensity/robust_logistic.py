"""Logistic regression for actions of which a few were taken regardless of the record."""

from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

import numpy as np

from prudent.progress import tracked
from prudent.propensity.fitted_propensity import FLOOR
from prudent.table import every_fourth

ROUNDS = 200


class RobustLogistic(NamedTuple):
    """A multinomial logistic model with a share of actions taken regardless of the record.

    p(a | x) = shares · (softmax(x·weights + intercept), action frequencies, equal chances): a mixture, known as a
    contamination model or, for people's choices, as a lapse rate. Where people, or a protocol, deviate from the rule in
    a few rows, an ordinary logistic regression must flatten the whole rule to allow for them, and then is wrong about
    every row.
    """

    weights: np.ndarray
    intercept: np.ndarray
    shares: np.ndarray
    frequencies: np.ndarray

    @classmethod
    def fit(
        cls, features: np.ndarray, actions: np.ndarray, n_actions: int, penalty: float, rounds: int = ROUNDS
    ) -> "RobustLogistic":
        """Maximum likelihood of rule and shares together, with `penalty`/2 · Σ weights² over all rows."""
        from scipy.optimize import minimize

        rows, width = features.shape
        frequencies = np.bincount(actions, minlength=n_actions) + 0.5
        frequencies = frequencies / frequencies.sum()
        taken, index = np.eye(n_actions)[actions], np.arange(rows)
        regardless = np.stack([frequencies[actions], np.full(rows, 1 / n_actions)])

        def loss(point: np.ndarray) -> tuple[float, np.ndarray]:
            weights, intercept, shares = _unpacked(point, width, n_actions)
            rule = _softmax(features @ weights + intercept)
            likelihoods = np.concatenate([rule[index, actions][None], regardless])
            mixture = np.maximum(shares @ likelihoods, 1e-300)
            by_rule = shares[0] * likelihoods[0] / mixture  # the probability that the row followed the rule
            slope = -by_rule[:, None] * (taken - rule) / rows
            of_shares = -np.mean(likelihoods / mixture, axis=1)
            gradient = [
                (features.T @ slope + penalty / rows * weights).ravel(),
                slope.sum(axis=0),
                shares * (of_shares - shares @ of_shares),
            ]
            value = -np.mean(np.log(mixture)) + penalty / (2 * rows) * np.sum(weights**2)
            return float(value), np.concatenate(gradient)

        start = np.concatenate([np.zeros((width + 1) * n_actions), [2.0, 0.0, 0.0]])
        optimum = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": rounds})
        return cls(*_unpacked(optimum.x, width, n_actions), frequencies)

    def probabilities(self, features: np.ndarray) -> np.ndarray:
        """[row, action]."""
        rule = _softmax(features @ self.weights + self.intercept)
        return self.shares[0] * rule + self.shares[1] * self.frequencies + self.shares[2] / len(self.frequencies)


def chosen_by_log_loss(
    tables: Sequence[np.ndarray],
    actions: np.ndarray,
    n_actions: int,
    penalties: Sequence[float],
    rounds: int = ROUNDS,
    groups: np.ndarray | None = None,
) -> tuple[int, float]:
    """The number of the table of features, and the penalty, with the least log-loss on every fourth row (or group),
    learnt from the others."""
    aside = every_fourth(len(actions), groups)
    held_out, fitted = np.flatnonzero(aside), np.flatnonzero(~aside)
    losses: dict[tuple[int, float], float] = {}
    candidates = list(product(range(len(tables)), penalties))
    for at in tracked(len(candidates), "propensities, choosing the penalty"):
        index, penalty = candidates[at]
        model = RobustLogistic.fit(tables[index][fitted], actions[fitted], n_actions, penalty, rounds)
        taken = model.probabilities(tables[index][held_out])[np.arange(len(held_out)), actions[held_out]]
        losses[index, penalty] = float(-np.log(np.maximum(taken, FLOOR)).mean())
    return min(losses, key=lambda tried: losses[tried])


def _unpacked(point: np.ndarray, width: int, n_actions: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    weights = point[: width * n_actions].reshape(width, n_actions)
    return weights, point[width * n_actions : -3], _softmax(point[None, -3:])[0]


def _softmax(scores: np.ndarray) -> np.ndarray:
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)
