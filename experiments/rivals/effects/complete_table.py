"""Estimators of an effect from a complete table, for all replications of the outcomes at once."""

from collections.abc import Sequence

import numpy as np

from experiments.rivals.effects.study import Answer, Study
from prudent.propensity import single_thread

CLIP = 0.01
"""Propensities are kept this far from 0 and 1."""
REPLICATIONS_AT_ONCE = 50
"""Prices of more would take much memory."""


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
    slopes = np.linalg.lstsq(design, outcomes.T, rcond=1e-8)[0]
    effect = slopes[1]
    control = (design @ slopes - treated[:, None] * effect).T
    return Answer(effect, np.stack([control, control + effect[:, None]], axis=-1))


def residual_on_residual(
    table: np.ndarray, treated: np.ndarray, outcomes: np.ndarray, propensity: np.ndarray
) -> Answer:
    """Robinson (1988): the outcome's residual given the attributes, regressed on the treatment's residual."""
    everyone = np.hstack([np.ones((len(table), 1)), standardised(table)])
    fit = (everyone @ np.linalg.lstsq(everyone, outcomes.T, rcond=1e-8)[0]).T
    left = treated - propensity
    effect = ((outcomes - fit) @ left) / (left @ left)
    control = fit - propensity * effect[:, None]
    return Answer(effect, np.stack([control, control + effect[:, None]], axis=-1))


def pooled(tables: Sequence[np.ndarray], study: Study, penalty: float | None = None) -> dict[str, Answer]:
    """Every estimator on every completion of the study's one table, averaged over the completions.

    `penalty` is that of the ridge per arm, which is left out without one.
    """
    with single_thread():
        propensities = [logistic_propensity(table, study.treated) for table in tables]
        blocks = []
        for start in range(0, study.replications, REPLICATIONS_AT_ONCE):
            block = study.part(start, min(start + REPLICATIONS_AT_ONCE, study.replications))
            pairs = zip(tables, propensities, strict=True)
            each = [_estimates(table, propensity, block, penalty) for table, propensity in pairs]
            blocks.append({name: Answer.mean([answers[name] for answers in each]) for name in each[0]})
    return {name: Answer.joined([block[name] for block in blocks]) for name in blocks[0]}


def _estimates(table: np.ndarray, propensity: np.ndarray, study: Study, penalty: float | None) -> dict[str, Answer]:
    treated, outcomes = study.treated, study.outcomes
    prices = per_arm(table, treated, outcomes)
    ridge = {} if penalty is None else {"ridge per arm": Answer.of_prices(per_arm(table, treated, outcomes, penalty))}
    return {
        "OLS": treatment_coefficient(table, treated, outcomes),
        "OLS per arm": Answer.of_prices(prices),
        **ridge,
        "AIPW": doubly_robust(prices, propensity, treated, outcomes),
        "residual on residual": residual_on_residual(table, treated, outcomes, propensity),
    }
