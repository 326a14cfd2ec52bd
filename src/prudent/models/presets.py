"""Presets: less time, or more certainty, than the defaults of a model. Measured by benchmarks/presets.py.

More rounds than the default are not among them: twice as many made the advice worse in one of two simulated clinics.
"""

from typing import Any

from prudent.errors import check, one_of
from prudent.networks import Training

PRESETS: dict[str, dict[str, Any]] = {
    "fast": {"members": 1, "training": Training(rounds=10)},
    "best": {"members": 6},
}


def preset_options(owner: str, name: str) -> dict[str, Any]:
    """The settings that a preset stands for; the same for every model."""
    check(f"{owner}.preset", {"name": one_of(*PRESETS)}, {"name": name})
    return dict(PRESETS[name])
