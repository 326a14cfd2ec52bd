"""What filling a gap is worth in the dosing world, exactly: the next record is averaged over what may be found."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from prudent.worlds.contexts import Contexts
from prudent.worlds.exact import Posterior

if TYPE_CHECKING:
    from prudent.worlds.dosing import DosingWorld

REACH, NODES = 5.0, 101
"""Numbers are averaged over a fine even grid of ± `REACH` standard deviations: the best dose's score has kinks in what
is found, and even spacing handles them better than the few points of a Gauss rule."""

BLOCK = 1 << 16


@dataclass(frozen=True, eq=False)
class Findings:
    """What may be found in one gap of each row: values [row, finding], and how likely each is."""

    values: np.ndarray
    chances: np.ndarray


def exact_value(
    world: "DosingWorld", strategy: str, values: np.ndarray, observed: np.ndarray, settings: dict[str, Any]
) -> np.ndarray:
    """Σ p(v | observed) max_dose score(record with the gap filled by v) − max_dose score(record), [row, attribute].

    NaN where the cell is present. The score is the strategy's, see `DosingWorld.scores`.
    """
    gain = np.full(values.shape, np.nan)
    now = world.scores(strategy, values, observed, **settings).max(axis=1)
    for column in range(values.shape[1]):
        rows = np.flatnonzero(~observed[:, column])
        per_block = max(1, BLOCK // (NODES * len(world.contexts.prior)))
        for block in np.split(rows, range(per_block, len(rows), per_block)):
            found = findings(world, column, values[block], observed[block])
            after = _best_after(world, strategy, column, values[block], observed[block], found, settings)
            gain[block, column] = np.sum(found.chances * after, axis=1) - now[block]
    return gain


def findings(world: "DosingWorld", column: int, values: np.ndarray, observed: np.ndarray) -> Findings:
    """The posterior of one attribute given the observed cells: a grid for a number, all levels for a category."""
    contexts = world.contexts
    if column >= contexts.numeric:
        own = contexts.levels[:, column - contexts.numeric]
        levels = np.unique(own)
        chances = contexts.posterior(values, observed).weights @ (own[:, None] == levels)
        return Findings(np.broadcast_to(levels, chances.shape), chances)
    posterior = attribute_posterior(contexts, column, values, observed)
    grid = np.linspace(-REACH, REACH, NODES)
    share = np.exp(-0.5 * grid**2) / np.exp(-0.5 * grid**2).sum()
    found = posterior.means[:, :, None] + posterior.sds[:, :, None] * grid
    chances = posterior.weights[:, :, None] * share
    return Findings(found.reshape(len(values), -1), chances.reshape(len(values), -1))


def posterior_spread(world: "DosingWorld", values: np.ndarray, observed: np.ndarray) -> np.ndarray:
    """The standard deviation of every numeric attribute given the observed cells, [row, attribute]."""
    contexts = world.contexts
    each = [attribute_posterior(contexts, column, values, observed) for column in range(contexts.numeric)]
    return np.stack([np.sqrt(own.sd**2 + _between(own)) for own in each], axis=1)


def attribute_posterior(contexts: Contexts, column: int, values: np.ndarray, observed: np.ndarray) -> Posterior:
    """One numeric attribute given the observed cells: the needed dose of a clinic in which nothing else matters."""
    alone = replace(contexts, slopes=np.eye(contexts.numeric)[column], offsets=np.zeros_like(contexts.offsets))
    return alone.posterior(values, observed)


def _between(posterior: Posterior) -> np.ndarray:
    return np.sum(posterior.weights * (posterior.means - posterior.mean[:, None]) ** 2, axis=1)


def _best_after(
    world: "DosingWorld",
    strategy: str,
    column: int,
    values: np.ndarray,
    observed: np.ndarray,
    found: Findings,
    settings: dict[str, Any],
) -> np.ndarray:
    """The best dose's score once the gap is filled with each finding, [row, finding]."""
    many = found.values.shape[1]
    filled, seen = np.repeat(values, many, axis=0), np.repeat(observed, many, axis=0)
    filled[:, column], seen[:, column] = found.values.reshape(-1), True
    return world.scores(strategy, filled, seen, **settings).max(axis=1).reshape(-1, many)
