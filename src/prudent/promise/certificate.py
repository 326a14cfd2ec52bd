"""Showing that settings keep their share of bad outcomes within a limit, for all settings at once."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from prudent.decide import Strategy
from prudent.evaluation import upper_bound
from prudent.show import significant


class ObservedShare(NamedTuple):
    """A share of bad outcomes as estimated, and the effective sample size (equally weighted rows) behind it."""

    value: float
    rows: float

    def at_most(self, significance: float) -> float:
        """An upper bound on the true share, too low with a probability of at most `significance`."""
        return upper_bound(self.value, self.rows, significance)

    def rows_needed(self, limit: float, significance: float) -> float:
        """The effective rows that would bring the bound down to the limit if the share stayed the same; ∞ if none."""
        if not self.value < limit:
            return math.inf
        low, high = self.rows, max(self.rows, 1.0)
        while upper_bound(self.value, high, significance) > limit and high < 1e12:
            low, high = high, 2 * high
        for _ in range(40):
            middle = (low + high) / 2
            too_few = upper_bound(self.value, middle, significance) > limit
            low, high = (middle, high) if too_few else (low, middle)
        return high


@dataclass(frozen=True)
class Certificate:
    """Which settings are shown to keep the tail share within `limit`, and the best of them; `sentence` says it."""

    limit: float
    confidence: float
    strategies: tuple[Strategy, ...]
    best: Strategy | None
    sentence: str

    def __str__(self) -> str:
        return self.sentence


def certified(
    families: Sequence[Sequence[int]], shares: Sequence[ObservedShare], limit: float, confidence: float
) -> list[int]:
    """The settings whose tail share is shown to be within the limit, all of them at once with the given confidence.

    Each family is tested in its order, which must not depend on the outcomes, by the fallback procedure (Wiens, 2003),
    one of those that Learn-then-Test (Angelopoulos and others, 2021) builds on: the permitted probability of error,
    1 − confidence, is divided equally among all settings, and one that passes hands its part on to the next. So a
    family that holds from its most careful setting on is soon tested as if it were alone, and one whose first setting
    fails is not lost.
    """
    alone = significance_alone(families, confidence)
    passed: list[int] = []
    for family in families:
        significance = alone
        for index in family:
            holds = shares[index].at_most(significance) <= limit
            passed += [index] if holds else []
            significance = alone + significance if holds else alone
    return passed


def significance_alone(families: Sequence[Sequence[int]], confidence: float) -> float:
    """The permitted probability of error of one setting when nothing was handed on to it."""
    return (1 - confidence) / sum(len(family) for family in families)


def chosen_sentence(
    strategy: Strategy, mean: float, share: float, passed: int, tail: str, limit: float, confidence: float
) -> str:
    which = (
        f"has the best mean reward ({significant(mean)}) of the {passed} settings"
        if passed > 1
        else "is the only setting"
    )
    return (
        f"{strategy} {which} whose share of outcomes {tail} is at most {100 * limit:.3g}% with {confidence:.0%} "
        f"confidence; its estimated share is {share:.2%}."
    )


def tie_sentence(tied: int, alike: int, settings: int) -> str:
    """Why this one, where others do as well; empty where it stands alone.

    tied: how many settings have this mean reward. alike: how many decide every held-out row as it does.
    """
    if tied < 2:
        return ""
    if alike == settings:
        return (
            f" All {settings} settings decide these rows alike, so caution changes nothing here: the mildest is chosen."
        )
    why = "decide these rows alike" if alike == tied else "do equally well on these rows"
    return f" {tied} of them {why}: the mildest is chosen."


def nothing_sentence(
    settings: Sequence[Strategy],
    families: Sequence[Sequence[int]],
    shares: Sequence[ObservedShare],
    tail: str,
    limit: float,
    confidence: float,
) -> str:
    """Why nothing can be certified: the setting with the lowest bound, and what it would take."""
    significance = significance_alone(families, confidence)
    bounds = [share.at_most(significance) for share in shares]
    nearest = bounds.index(min(bounds))
    share = shares[nearest]
    factor = share.rows_needed(limit, significance) / share.rows if share.rows > 0 else math.inf
    way_out = (
        f"hold out about {factor:{'.1f' if factor < 10 else ',.0f'}} times as many decisions, or raise the limit"
        if math.isfinite(factor)
        else "more decisions with the same share would not change that; raise the limit"
    )
    return (
        f"The held-out decisions cannot show that any setting keeps the share {tail} within {100 * limit:.3g}%: "
        f"{settings[nearest]} comes nearest and may reach {bounds[nearest]:.2%} (estimate {share.value:.2%}, effective "
        f"sample size {share.rows:.0f}, {confidence:.0%} confidence); {way_out}."
    )
