"""Degrees of caution: a ladder of settings, and the families in which they differ by one number."""

from collections.abc import Sequence

from prudent.decide import Conservative, Imputation, MaximumExpectedReward, Strategy, TailAverse
from prudent.errors import require

DEFAULT_LADDER: tuple[Strategy, ...] = (
    Imputation(),
    MaximumExpectedReward(),
    *(TailAverse(risk=risk) for risk in (0.5, 0.3, 0.2, 0.1, 0.05, 0.02)),
    *(Conservative(risk=risk) for risk in (0.5, 0.2, 0.1, 0.05, 0.01)),
    *(Conservative(c=c) for c in (0.7, 0.1, 0.01, 0.001)),
)


def families(settings: Sequence[Strategy]) -> list[list[int]]:
    """Settings that differ in one number only, each family from its most to its least careful.

    The expected reward ends the tail's family (it is its risk 1), imputation that of c (its limit c → 1). Any other
    strategy is alone.
    """
    order: dict[str, list[tuple[float, int]]] = {}
    for index, setting in enumerate(settings):
        order.setdefault(setting.family, []).append((setting.boldness, index))
    return [[index for _, index in sorted(family)] for family in order.values()]


def checked_settings(settings: Sequence[Strategy]) -> tuple[Strategy, ...]:
    """The settings, if a frontier can compare them."""
    settings = tuple(settings)
    right = len(settings) > 0 and all(isinstance(setting, Strategy) for setting in settings)
    require(right, "frontier", "settings", "be strategies, e.g. [Conservative(risk=0.05)]", settings)
    for setting in settings:
        must = "be strategies that always choose alike from the same completions"
        require(not (setting.stochastic or setting.literal), "frontier", "settings", must, setting)
    return settings
