"""Presets: less time, or more certainty, than the defaults of a model. Measured by benchmarks/presets.py.

More rounds than the default are not among them: twice as many made the advice worse in one of two simulated clinics.
"""

from dataclasses import replace
from typing import Any

from prudent.errors import check, one_of
from prudent.models.settings import Sizes
from prudent.networks import Training

PRESETS: dict[str, dict[str, Any]] = {
    "fast": {"members": 1, "training": Training(rounds=10)},
    "best": {"members": 6},
}


def preset_options(owner: str, name: str) -> dict[str, Any]:
    """The settings that a preset stands for; the same for every model."""
    check(f"{owner}.preset", {"name": one_of(*PRESETS)}, {"name": name})
    return dict(PRESETS[name])


PRINTED_NOISE = 0.1 * 2**0.5
"""The fixed standard deviation in EDDI's public code, for numbers in [0, 1]."""


def printed_options(rows: int, epochs: int, sizes: Sizes, noise: float | None, batch: int) -> dict[str, Any]:
    """How the paper's networks are formed and trained: ReLU, diagonal posterior, fixed noise, Adam at one rate."""
    form = {"plain": True, "correlated": False, "rectified": True, "noise": noise}
    return {"sizes": replace(sizes, **form), "training": Training.plain_adam(rows, epochs, batch)}
