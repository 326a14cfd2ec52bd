"""Masks for studies: cells missing completely at random (MCAR), at random (MAR) or not at random (MNAR).

A mask is boolean [row, attribute], True where the cell is present. `share` is the share of all cells that go missing.
"""

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

from prudent.errors import Rule, check, number, require

_RULES: dict[str, Rule] = {"share": number(0, 1, "[)")}


def mcar(shape: tuple[int, int], share: float, seed: int = 0) -> np.ndarray:
    """Completely at random: every cell goes missing with the same probability, whatever it or others hold.

    >>> mcar((2, 3), share=0.0).all().item()
    True
    """
    check("mcar", _RULES, {"share": share})
    return np.random.default_rng(seed).random(shape) >= share


def mar(values: np.ndarray, share: float, seed: int = 0, always_observed: float = 0.3) -> np.ndarray:
    """At random: a cell's probability of going missing depends only on attributes that are always present.

    About `always_observed` of the attributes (at least one) are picked at random to stay complete and to drive,
    through a random logistic, the gaps of the others; so `share` can be at most the share of the others.
    """
    check("mar", _RULES, {"share": share})
    standard = _standardised(values, "mar")
    rows, attributes = standard.shape
    require(attributes >= 2, "mar", "values", "have at least two attributes", standard.shape)
    random = np.random.default_rng(seed)
    kept = min(max(round(always_observed * attributes), 1), attributes - 1)
    order = random.permutation(attributes)
    drivers, targets = order[:kept], order[kept:]
    among_targets = share * attributes / len(targets)
    most = f"be at most {len(targets) / attributes:.2f}, since {kept} of {attributes} attributes stay complete"
    require(among_targets <= 1, "mar", "share", most, share)
    slopes = random.normal(size=(kept, len(targets))) * 2 / np.sqrt(kept)
    observed = np.ones((rows, attributes), dtype=bool)
    observed[:, targets] = random.random((rows, len(targets))) >= _calibrated(
        standard[:, drivers] @ slopes, among_targets
    )
    return observed


def mnar(values: np.ndarray, share: float, seed: int = 0, strength: float = 2.0) -> np.ndarray:
    """Not at random, self-masking: the larger a cell's value (in standard deviations), the likelier it is missing."""
    check("mnar", _RULES, {"share": share})
    standard = _standardised(values, "mnar")
    probabilities = _calibrated(strength * standard, share)
    return np.random.default_rng(seed).random(standard.shape) >= probabilities


def _standardised(values: np.ndarray, owner: str) -> np.ndarray:
    array = np.asarray(values, dtype=np.float64)
    require(array.ndim == 2 and array.size > 0, owner, "values", "be a filled [row, attribute]", array.shape)
    require(bool(np.isfinite(array).all()), owner, "values", "be complete and finite, to make gaps in", "gaps")
    spread = array.std(axis=0)
    return (array - array.mean(axis=0)) / np.where(spread > 0, spread, 1.0)


def _calibrated(scores: np.ndarray, share: float) -> np.ndarray:
    """Probabilities of going missing, logistic in the scores, with mean `share` in every attribute."""
    if share in (0, 1):
        return np.full(scores.shape, float(share))
    bound = float(np.abs(scores).max()) + 50.0

    def excess(shift: float, score: np.ndarray) -> float:
        return float(expit(score + shift).mean()) - share

    return np.stack([expit(score + brentq(excess, -bound, bound, args=(score,))) for score in scores.T], axis=1)
