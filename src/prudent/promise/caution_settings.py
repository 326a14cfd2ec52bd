"""Degrees of caution: the settings that a frontier compares by default, and the families they form."""

from collections.abc import Sequence

from prudent.decide import Conservative, Imputation, MaximumExpectedReward, Strategy, TailAverse

DEFAULT_SETTINGS: tuple[Strategy, ...] = (
    Imputation(),
    MaximumExpectedReward(),
    *(TailAverse(risk=risk) for risk in (0.5, 0.3, 0.2, 0.1, 0.05, 0.02)),
    *(Conservative(risk=risk) for risk in (0.5, 0.2, 0.1, 0.05, 0.01)),
    *(Conservative(c=c) for c in (0.7, 0.1, 0.01, 0.001)),
)


def mildest(settings: Sequence[Strategy], among: Sequence[int]) -> int:
    """Of some settings, by index, the one nearest to the plain expected reward; of equals, the first."""
    plain = (MaximumExpectedReward,)
    return min(among, key=lambda index: (not isinstance(settings[index], plain), -settings[index].boldness))


def families(settings: Sequence[Strategy]) -> list[list[int]]:
    """Indices of settings that differ in one number only, each family from its most to its least careful setting.

    The expected reward ends the family of the tail (it is risk 1), imputation that of c (its limit c → 1). Any other
    strategy is a family by itself.
    """
    members: dict[str, list[tuple[float, int]]] = {}
    for index, setting in enumerate(settings):
        members.setdefault(setting.family, []).append((setting.boldness, index))
    return [[index for _, index in sorted(family)] for family in members.values()]
