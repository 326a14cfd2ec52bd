"""Degrees of caution: a ladder of settings, and the families in which they differ by one number."""

from collections.abc import Sequence

from prudent.errors import require
from prudent.strategies import Conservative, Imputation, MaximumExpectedReward, Strategy, TailAverse

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
        order.setdefault(family_name(setting), []).append((carelessness(setting), index))
    return [[index for _, index in sorted(family)] for family in order.values()]


def family_name(setting: Strategy) -> str:
    """What a setting and its like are called."""
    if isinstance(setting, Conservative):
        return "conservative, by risk" if setting.c is None else "conservative, by c"
    if isinstance(setting, Imputation):
        return "conservative, by c"
    if isinstance(setting, MaximumExpectedReward):
        return "tail"
    if isinstance(setting, TailAverse):
        return "tail" if setting.measure == "cvar" else "tail, quantile"
    return repr(setting)


def carelessness(setting: Strategy) -> float:
    """Where a setting stands in its family: 0 is the most careful."""
    if isinstance(setting, Conservative):
        return float(setting.risk or 0.0) if setting.c is None else setting.c
    return setting.risk if isinstance(setting, TailAverse) else 1.0


def knob(setting: Strategy) -> str:
    """What tells a setting from the others of its family."""
    if isinstance(setting, Imputation | MaximumExpectedReward):
        return "imputation" if isinstance(setting, Imputation) else "expected"
    return f"{carelessness(setting):g}" if isinstance(setting, Conservative | TailAverse) else ""


def checked_settings(settings: Sequence[Strategy]) -> tuple[Strategy, ...]:
    """The settings, if a frontier can compare them."""
    settings = tuple(settings)
    right = len(settings) > 0 and all(isinstance(setting, Strategy) for setting in settings)
    require(right, "frontier", "settings", "be strategies, e.g. [Conservative(risk=0.05)]", settings)
    for setting in settings:
        literal = getattr(setting, "paper_literal", False)
        must = "be strategies that always choose alike from the same completions"
        require(not (setting.stochastic or literal), "frontier", "settings", must, setting)
    return settings
