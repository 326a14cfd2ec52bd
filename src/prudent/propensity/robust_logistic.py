"""A rule with lapses: mostly a multinomial logistic rule, now and then an action taken regardless of the record."""

from typing import NamedTuple

import numpy as np

ROUNDS = 200


class RobustLogistic(NamedTuple):
    """p(a | x) = shares · (softmax(x·weights + intercept), plain frequencies, equal chances).

    Where people, or a protocol, deviate from the rule in a few rows, a plain logistic regression must flatten the whole
    rule to allow for them, and then is wrong about every row.
    """

    weights: np.ndarray
    intercept: np.ndarray
    shares: np.ndarray
    frequencies: np.ndarray

    @classmethod
    def fit(cls, features: np.ndarray, actions: np.ndarray, n_actions: int, penalty: float) -> "RobustLogistic":
        """Maximum likelihood of rule and shares together, with `penalty`/2 · Σ weights² over all rows."""
        from scipy.optimize import minimize

        rows, width = features.shape
        frequencies = np.bincount(actions, minlength=n_actions) + 0.5
        frequencies = frequencies / frequencies.sum()
        taken, index = np.eye(n_actions)[actions], np.arange(rows)
        lapses = np.stack([frequencies[actions], np.full(rows, 1 / n_actions)])

        def loss(point: np.ndarray) -> tuple[float, np.ndarray]:
            weights, intercept, shares = _unpacked(point, width, n_actions)
            rule = _softmax(features @ weights + intercept)
            likelihoods = np.concatenate([rule[index, actions][None], lapses])
            own = np.maximum(shares @ likelihoods, 1e-300)
            by_rule = shares[0] * likelihoods[0] / own  # the probability that the row followed the rule
            slope = -by_rule[:, None] * (taken - rule) / rows
            of_shares = -np.mean(likelihoods / own, axis=1)
            gradient = [
                (features.T @ slope + penalty / rows * weights).ravel(),
                slope.sum(axis=0),
                shares * (of_shares - shares @ of_shares),
            ]
            value = -np.mean(np.log(own)) + penalty / (2 * rows) * np.sum(weights**2)
            return float(value), np.concatenate(gradient)

        start = np.concatenate([np.zeros((width + 1) * n_actions), [2.0, 0.0, 0.0]])
        found = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": ROUNDS})
        return cls(*_unpacked(found.x, width, n_actions), frequencies)

    def probabilities(self, features: np.ndarray) -> np.ndarray:
        """[row, action]."""
        rule = _softmax(features @ self.weights + self.intercept)
        return self.shares[0] * rule + self.shares[1] * self.frequencies + self.shares[2] / len(self.frequencies)


def best_shares(likelihoods: np.ndarray, rounds: int = 200) -> np.ndarray:
    """The mixture of several explanations under which the rows are most likely, by EM; likelihoods [explanation, row].

    >>> best_shares(np.array([[0.9, 0.9, 0.9], [0.1, 0.1, 0.1]])).round(3).tolist()
    [1.0, 0.0]
    """
    shares = np.full(len(likelihoods), 1 / len(likelihoods))
    for _ in range(rounds):
        owners = shares[:, None] * likelihoods
        shares = np.mean(owners / owners.sum(axis=0), axis=1)
    return shares


def _unpacked(point: np.ndarray, width: int, n_actions: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    weights = point[: width * n_actions].reshape(width, n_actions)
    return weights, point[width * n_actions : -3], _softmax(point[None, -3:])[0]


def _softmax(scores: np.ndarray) -> np.ndarray:
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)
