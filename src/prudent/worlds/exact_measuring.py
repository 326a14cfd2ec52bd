"""The exact value of measuring in a dosing world: the best score is averaged over what may be measured."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from prudent.worlds.contexts import Contexts
from prudent.worlds.exact_scores import Posterior

REACH, NODES = 5.0, 201
"""Numbers are averaged over a fine even grid of ± `REACH` standard deviations: the best dose's score has kinks in the
measured value, and even spacing handles them better than the few points of a Gauss rule."""

BLOCK = 1 << 16

Scores = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""(values, observed) -> the score of every dose, [row, dose]."""


@dataclass(frozen=True, eq=False)
class Measurements:
    """The possible results of measuring one attribute: values [row, result], and the probability of each."""

    values: np.ndarray
    probabilities: np.ndarray


def exact_value_of_measuring(
    contexts: Contexts, scores: Scores, values: np.ndarray, observed: np.ndarray
) -> np.ndarray:
    """Σ p(v | observed) max_dose score(record with the gap filled by v) − max_dose score(record), [row, attribute].

    NaN where the cell is present.
    """
    gain = np.full(values.shape, np.nan)
    now = scores(values, observed).max(axis=1)
    per_block = max(1, BLOCK // (NODES * len(contexts.prior)))
    for column in range(values.shape[1]):
        rows = np.flatnonzero(~observed[:, column])
        for start in range(0, len(rows), per_block):
            block = rows[start : start + per_block]
            results = measurements(contexts, column, values[block], observed[block])
            after = _best_after(scores, column, values[block], observed[block], results)
            gain[block, column] = np.sum(results.probabilities * after, axis=1) - now[block]
    return gain


def measurements(contexts: Contexts, column: int, values: np.ndarray, observed: np.ndarray) -> Measurements:
    """The posterior of one attribute given the observed cells: a grid for a number, all levels for a category."""
    if column >= contexts.numeric:
        level = contexts.levels[:, column - contexts.numeric]
        levels = np.unique(level)
        probabilities = contexts.posterior(values, observed).weights @ (level[:, None] == levels)
        return Measurements(np.broadcast_to(levels, probabilities.shape), probabilities)
    posterior = attribute_posterior(contexts, column, values, observed)
    grid = np.linspace(-REACH, REACH, NODES)
    share = np.exp(-0.5 * grid**2) / np.exp(-0.5 * grid**2).sum()
    results = posterior.means[:, :, None] + posterior.sds[:, :, None] * grid
    probabilities = posterior.weights[:, :, None] * share
    return Measurements(results.reshape(len(values), -1), probabilities.reshape(len(values), -1))


def posterior_spread(contexts: Contexts, values: np.ndarray, observed: np.ndarray) -> np.ndarray:
    """The standard deviation of every numeric attribute given the observed cells, [row, attribute]."""
    posteriors = [attribute_posterior(contexts, column, values, observed) for column in range(contexts.numeric)]
    return np.stack([np.sqrt(posterior.sd**2 + _between(posterior)) for posterior in posteriors], axis=1)


def attribute_posterior(contexts: Contexts, column: int, values: np.ndarray, observed: np.ndarray) -> Posterior:
    """One numeric attribute given the observed cells: the needed dose of a clinic in which nothing else matters."""
    alone = replace(contexts, slopes=np.eye(contexts.numeric)[column], offsets=np.zeros_like(contexts.offsets))
    return alone.posterior(values, observed)


def _between(posterior: Posterior) -> np.ndarray:
    """The variance between the components of the mixture."""
    return np.sum(posterior.weights * (posterior.means - posterior.mean[:, None]) ** 2, axis=1)


def _best_after(
    scores: Scores, column: int, values: np.ndarray, observed: np.ndarray, results: Measurements
) -> np.ndarray:
    """The best dose's score once the gap is filled with each result, [row, result]."""
    many = results.values.shape[1]
    filled, seen = np.repeat(values, many, axis=0), np.repeat(observed, many, axis=0)
    filled[:, column], seen[:, column] = results.values.reshape(-1), True
    return scores(filled, seen).max(axis=1).reshape(-1, many)
