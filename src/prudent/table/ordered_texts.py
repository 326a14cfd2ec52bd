"""Texts with a natural order: bands such as 20-29 and 80+, and scales such as low, medium, high."""

import math
import re
from collections.abc import Sequence
from itertools import pairwise

import polars as pl

from prudent.table.spellings import folded

SCALES = (
    ("very low", "low", "medium low", "medium", "medium high", "high", "very high"),
    ("very low", "low", "lower", "normal", "elevated", "high", "very high"),
    ("low", "mid", "high"),
    ("low", "middle", "high"),
    ("low", "intermediate", "high", "very high"),
    ("low", "moderate", "high", "very high"),
    ("none", "minimal", "mild", "moderate", "severe", "very severe", "critical"),
    ("absent", "mild", "moderate", "severe"),
    ("no", "mild", "moderate", "severe"),
    ("never", "rarely", "sometimes", "often", "always"),
    ("never", "rarely", "occasionally", "frequently", "always"),
    ("very poor", "poor", "fair", "good", "very good", "excellent"),
    ("bad", "fair", "good", "very good"),
    ("extra small", "small", "medium", "large", "extra large"),
    ("xs", "s", "m", "l", "xl", "xxl"),
    ("strongly disagree", "disagree", "neutral", "agree", "strongly agree"),
    ("i", "ii", "iii", "iv", "v", "vi"),
)
"""Lowest first, in the spelling of `folded`. A column is on a scale if it holds nothing else."""
FEWEST_LEVELS = 3

_RANGE = re.compile(r"^(\d+(?:\.\d+)?) ?(?:-|to) ?(\d+(?:\.\d+)?)$")
_OPEN_BELOW = re.compile(r"^(?:<=?|≤|under |below |up to )\s*(\d+(?:\.\d+)?)$")
_OPEN_ABOVE = re.compile(
    r"^(?:>=?|≥|over |above )\s*(\d+(?:\.\d+)?)$|^(\d+(?:\.\d+)?) ?(?:\+|and over|and above|or more)$"
)


def natural_levels(labels: Sequence[str]) -> list[str] | None:
    """The labels from lowest to highest where they are bands or a known scale; None otherwise.

    >>> natural_levels(["80+", "20-29", "<20", "30–79"])
    ['<20', '20-29', '30–79', '80+']
    >>> natural_levels(["High", "Low", "Medium"])
    ['Low', 'Medium', 'High']
    """
    if len(labels) < FEWEST_LEVELS:
        return None
    texts = folded(pl.Series(labels, dtype=pl.String)).to_list()
    if len(set(texts)) < len(texts):
        return None
    return _bands(labels, texts) or _scale(labels, texts)


def _bands(labels: Sequence[str], texts: Sequence[str]) -> list[str] | None:
    bands = [_band(text) for text in texts]
    ranges = [band for band in bands if band is not None and math.isfinite(band[0]) and math.isfinite(band[1])]
    if None in bands or len(ranges) < 2 or any(low >= high for low, high in ranges):
        return None
    order = sorted(range(len(labels)), key=lambda at: bands[at] or (0.0, 0.0))
    ordered = [band for at in order if (band := bands[at]) is not None]
    apart = all(below[1] <= above[0] for below, above in pairwise(ordered))
    return [labels[at] for at in order] if apart else None


def _band(text: str) -> tuple[float, float] | None:
    if found := _RANGE.match(text):
        return float(found[1]), float(found[2])
    if found := _OPEN_BELOW.match(text):
        return -math.inf, float(found[1])
    if found := _OPEN_ABOVE.match(text):
        return float(found[1] or found[2]), math.inf
    return None


def _scale(labels: Sequence[str], texts: Sequence[str]) -> list[str] | None:
    for scale in SCALES:
        if set(texts) <= set(scale):
            return sorted(labels, key=lambda label: scale.index(texts[labels.index(label)]))
    return None
