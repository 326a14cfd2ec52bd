"""Support: how likely the policy's actions were in the log, and how its weight is spread over rows."""

import math
from dataclasses import dataclass

import numpy as np

from prudent.evaluation.decisions import referred_rows
from prudent.propensity import FittedPropensity, least_propensity
from prudent.table import label_text

HEAVIEST = 0.01  # the share of rows called the heaviest
MOSTLY_OUTSIDE = 0.5  # more than half of the cases outside support: the value rests more on prices than on outcomes
SMALLEST_EDGE = 0.01  # weights below this are negligible, and share a bin


@dataclass(frozen=True)
class Support:
    """How likely this policy's actions were under the logging policy, over the rows it decides.

    For a policy that draws lots, each action counts by its probability. Where only the probabilities of taken actions
    are known, the rows that agree with the policy represent all rows, by their weights.

    outside: the share of all rows where that probability is below `threshold`; a row decided as logged never is.
    action: what it chooses most often there; None where nothing is outside.
    """

    smallest: float
    first_percentile: float
    fifth_percentile: float
    outside: float
    action: str | None
    threshold: float


@dataclass(frozen=True)
class WeightHistogram:
    """Rows by weight: bin i holds weights above `edges[i]` and up to `edges[i + 1]`.

    unmatched: rows of weight 0, where the policy would never do what was done.
    shares: the share of the weight in each bin.
    """

    edges: tuple[float, ...]
    counts: tuple[int, ...]
    shares: tuple[float, ...]
    unmatched: int


def support(propensity: FittedPropensity, probabilities: np.ndarray, weights: np.ndarray) -> Support:
    """From the policy's probabilities [row, action], NaN in rows decided as logged, and its weights."""
    decided, least = ~referred_rows(probabilities), least_propensity(len(propensity.action_labels), len(probabilities))
    if propensity.probabilities is not None:
        rows, actions = np.nonzero(probabilities > 0)
        likely, mass = propensity.probabilities[rows, actions], probabilities[rows, actions]
    else:
        rows = np.flatnonzero(decided & (weights > 0))
        likely, actions, mass = propensity.taken[rows], propensity.actions[rows], weights[rows]
    if not len(rows):
        return Support(math.nan, math.nan, math.nan, math.nan if decided.any() else 0.0, None, least)
    order = np.argsort(likely, kind="stable")
    reached = np.cumsum(mass[order])
    at = np.minimum(np.searchsorted(reached, np.array([0.0, 0.01, 0.05]) * reached[-1]), len(order) - 1)
    smallest, first, fifth = map(float, likely[order[at]])
    outside = np.where(likely < least, mass, 0.0)
    of_action = np.bincount(actions, outside, len(propensity.action_labels))
    wanted = label_text(propensity.action_labels[int(np.argmax(of_action))]) if of_action.any() else None
    return Support(smallest, first, fifth, float(outside.sum() / reached[-1] * decided.mean()), wanted, least)


def heaviest_share(weights: np.ndarray) -> float:
    """The share of the weight on the heaviest 1 % of rows (at least one row).

    >>> heaviest_share(np.array([0.0, 1.0, 3.0, 0.0]))
    0.75
    """
    heaviest = math.ceil(HEAVIEST * len(weights))
    total = float(weights.sum())
    return float(np.partition(weights, -heaviest)[-heaviest:].sum()) / total if total > 0 else math.nan


def weight_histogram(weights: np.ndarray) -> WeightHistogram:
    """Bins with edges at 1, 2 and 5 times powers of ten.

    >>> weight_histogram(np.array([0.0, 1.0, 1.0, 2.0, 4.0]))
    WeightHistogram(edges=(0.0, 1.0, 2.0, 5.0), counts=(2, 1, 1), shares=(0.25, 0.25, 0.5), unmatched=1)
    """
    positive = weights[weights > 0]
    edges = _edges(float(positive.min()), float(positive.max())) if len(positive) else np.array([0.0, 1.0])
    place, bins = np.searchsorted(edges, positive, side="left") - 1, len(edges) - 1
    total = float(positive.sum())
    shares = np.bincount(place, positive, bins) / (total if total > 0 else 1.0)
    counts = np.bincount(place, minlength=bins)
    return WeightHistogram(
        tuple(edges.tolist()), tuple(counts.tolist()), tuple(shares.tolist()), len(weights) - len(positive)
    )


def _edges(smallest: float, largest: float) -> np.ndarray:
    """0, then readable numbers: from the first not below the smallest weight to the first not below the largest."""
    top = max(largest, SMALLEST_EDGE)
    powers = range(math.floor(math.log10(SMALLEST_EDGE)), math.ceil(math.log10(top)) + 1)
    readable = np.array([float(f"{digit}e{power}") for power in powers for digit in (1, 2, 5)])
    first, last = np.searchsorted(readable, [max(smallest, SMALLEST_EDGE), top])
    return np.concatenate([[0.0], readable[first : last + 1]])
