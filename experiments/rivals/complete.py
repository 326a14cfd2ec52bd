"""Estimators of an effect from a complete table, for all replications of the outcomes at once."""

import numpy as np

from experiments.rivals.study import Answer

CLIP = 0.01
"""Propensities are kept this far from 0 and 1."""


def standardised(table: np.ndarray) -> np.ndarray:
    """Columns with mean 0 and variance 1; a constant column is all zeros."""
    spread = table.std(axis=0)
    return (table - table.mean(axis=0)) / np.where(spread > 0, spread, np.inf)


def per_arm(table: np.ndarray, treated: np.ndarray, outcomes: np.ndarray, penalty: float = 0.0) -> np.ndarray:
    """Prices [replication, row, 2] by a linear regression in each arm; `penalty` is the ridge on standardised columns.

    Least squares of smallest norm where the columns are linearly dependent.

    >>> x = np.array([[0.0], [1.0], [2.0], [0.0], [1.0], [3.0]])
    >>> treated = np.array([True, True, True, False, False, False])
    >>> per_arm(x, treated, np.array([[5.0, 6, 7, 1, 3, 7]]))[0, 0].round(6).tolist()
    [1.0, 5.0]
    """
    everyone = standardised(table)
    prices = []
    for arm in (False, True):
        rows = treated == arm
        centre = everyone[rows].mean(axis=0)
        inside, mean = everyone[rows] - centre, outcomes[:, rows].mean(axis=1)
        if penalty > 0:
            gram = inside.T @ inside + penalty * np.eye(inside.shape[1])
            slopes = np.linalg.solve(gram, inside.T @ (outcomes[:, rows] - mean[:, None]).T)
        else:
            slopes = np.linalg.lstsq(inside, (outcomes[:, rows] - mean[:, None]).T, rcond=1e-8)[0]
        prices.append(mean[:, None] + ((everyone - centre) @ slopes).T)
    return np.stack(prices, axis=-1)


def logistic_propensity(table: np.ndarray, treated: np.ndarray, inverse_penalty: float = 1e4) -> np.ndarray:
    """The probability of treatment of every row, by (almost) unpenalised logistic regression."""
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(C=inverse_penalty, max_iter=5000).fit(standardised(table), treated)
    return np.clip(model.predict_proba(standardised(table))[:, 1], CLIP, 1 - CLIP)


def doubly_robust(prices: np.ndarray, propensity: np.ndarray, treated: np.ndarray, outcomes: np.ndarray) -> Answer:
    """Augmented inverse-propensity weighting (Robins, Rotnitzky, Zhao 1994): prices plus weighted residuals.

    `propensity` is of the treatment: [row], or [replication, row].
    """
    residual = outcomes - np.where(treated, prices[..., 1], prices[..., 0])
    weights = np.where(treated, 1 / propensity, -1 / (1 - propensity))
    scores = prices[..., 1] - prices[..., 0] + weights * residual
    return Answer(scores.mean(axis=-1), prices)


def treatment_coefficient(table: np.ndarray, treated: np.ndarray, outcomes: np.ndarray) -> Answer:
    """Ordinary least squares of the outcome on the attributes and the treatment, whose coefficient is the effect."""
    rows = np.ones((len(table), 1))
    design = np.hstack([rows, treated[:, None], standardised(table)])
    found = np.linalg.lstsq(design, outcomes.T, rcond=1e-8)[0]
    control = (design @ found - treated[:, None] * found[1]).T
    return Answer(found[1], np.stack([control, control + found[1][:, None]], axis=-1))


def residual_on_residual(
    table: np.ndarray, treated: np.ndarray, outcomes: np.ndarray, propensity: np.ndarray
) -> Answer:
    """Robinson (1988): what is left of the outcome after the attributes, on what is left of the treatment."""
    everyone = np.hstack([np.ones((len(table), 1)), standardised(table)])
    fit = (everyone @ np.linalg.lstsq(everyone, outcomes.T, rcond=1e-8)[0]).T
    left = treated - propensity
    effect = ((outcomes - fit) @ left) / (left @ left)
    control = fit - propensity * effect[:, None]
    return Answer(effect, np.stack([control, control + effect[:, None]], axis=-1))
