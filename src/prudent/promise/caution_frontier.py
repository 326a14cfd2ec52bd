"""The frontier: what every degree of caution costs in mean reward and gains in the tail, on decisions held out.

    frontier(fitted, held_out_log, below=-5).choose(limit=0.03)

One table, one picture, and the choice of a setting that keeps the tail within a limit.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from prudent.decide import Policy, Search, Strategy
from prudent.errors import InputProblem, is_number, require
from prudent.evaluation import Estimate, estimate_columns, upper_bound
from prudent.models import Fitted
from prudent.promise.known_truth import KnownTruth, from_log, from_truth
from prudent.promise.limits import Judgement, certified, judge, rows_needed, share_of_level
from prudent.promise.settings import DEFAULT_LADDER, checked_settings, families
from prudent.show import Picture, Series, scatter_lines
from prudent.table import Log

OPTIONS = ("doubt", "noise", "costs", "search")


@dataclass(frozen=True)
class Point:
    """One setting: what it earns, and how bad its tail is. Rewards are in the log's units and sign.

    tail_share: the share of outcomes beyond the threshold. worst_mean: the mean of the worst 5 % of outcomes (CVaR).
    effective_sample_size: how many equally weighted rows say as much as the held-out ones do about this setting.
    """

    strategy: Strategy
    mean_reward: Estimate
    tail_share: Estimate
    worst_mean: Estimate
    effective_sample_size: float


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


def frontier(
    fitted: Fitted,
    judged_on: Log | KnownTruth,
    *,
    below: float,
    settings: Sequence[Strategy] = DEFAULT_LADDER,
    completions: int = 256,
    seed: int = 0,
    **policy_options: Any,
) -> "Frontier":
    """Mean reward against tail for every setting, on decisions that the model was not fitted on.

    judged_on: a held-out log (`fitted.read(frame)`, or the other part of `Log.split`), judged by self-normalised
        inverse propensities; or cases whose true rewards are known.
    below: outcomes below this reward are the tail (with a minimised reward: above it). In a log an outcome has its
        noise in it; a known truth has none.
    policy_options: `doubt`, `noise`, `costs` and `search` of the policies. Cases are completed and priced once, and all
        settings choose from the same prices; only with `search=Search()`, which a policy uses by default and the
        frontier does not, each `Conservative` setting looks for worst cases of its own (slow).
    """
    require(isinstance(fitted, Fitted), "frontier", "fitted", "be a fitted model, see CausalPVAE.fit", fitted)
    require(is_number(below), "frontier", "below", "be a number, a reward", below)
    options = {"search": Search(steps=0), **_checked_options(policy_options), "completions": completions, "seed": seed}
    policies = tuple(fitted.policy(setting, **options) for setting in checked_settings(settings))
    if isinstance(judged_on, KnownTruth):
        weights, rewards = from_truth(policies, judged_on)
    else:
        must = "be a Log read with fitted.read(...), or a KnownTruth"
        require(isinstance(judged_on, Log), "frontier", "judged_on", must, type(judged_on).__name__)
        weights, rewards = from_log(policies, judged_on, seed)
    threshold = -float(below) if fitted.minimize else float(below)
    return Frontier(policies, tuple(judge(weights, rewards, threshold, seed)), float(below))


@dataclass(frozen=True, eq=False)
class Frontier:
    """All settings on the same held-out decisions; `points` has them in the order they were given.

    `judged` is in the inner sign (higher is better), `points` in the log's.
    """

    policies: tuple[Policy, ...]
    judged: tuple[Judgement, ...]
    below: float

    @property
    def settings(self) -> tuple[Strategy, ...]:
        return tuple(policy.strategy for policy in self.policies)

    @property
    def minimize(self) -> bool:
        return self.policies[0].fitted.minimize

    @property
    def points(self) -> tuple[Point, ...]:
        return tuple(
            Point(
                setting,
                one.mean_reward.negated() if self.minimize else one.mean_reward,
                one.tail_share,
                one.worst_mean.negated() if self.minimize else one.worst_mean,
                one.effective_sample_size,
            )
            for setting, one in zip(self.settings, self.judged, strict=True)
        )

    @property
    def tail_name(self) -> str:
        """Which outcomes are the tail, in words."""
        return f"{'above' if self.minimize else 'below'} {self.below:g}"

    @property
    def rows(self) -> list[dict[str, Any]]:
        """One plain row per setting, for JSON and frames; a number that does not exist is None."""
        return [
            {
                "strategy": repr(point.strategy),
                **estimate_columns("mean_reward", point.mean_reward),
                **estimate_columns("tail_share", point.tail_share),
                **estimate_columns("worst_mean", point.worst_mean),
                "effective_sample_size": point.effective_sample_size,
            }
            for point in self.points
        ]

    def to_frame(self) -> pl.DataFrame:
        return pl.DataFrame(self.rows)

    def table(self) -> str:
        """The frontier as text: mean ± standard error; of the tail share also the upper end of its 90 % interval."""
        header = ("setting", "mean reward", f"{self.tail_name}", "at most", "worst 5 %", "effective rows")
        lines = [header, *(_cells(point) for point in self.points)]
        widths = [max(len(line[i]) for line in lines) for i in range(len(header))]
        return "\n".join(
            "  ".join(
                f"{cell:>{w}}" if i else f"{cell:<{w}}" for i, (cell, w) in enumerate(zip(line, widths, strict=True))
            )
            for line in lines
        )

    def __str__(self) -> str:
        return self.table()

    def picture(self) -> Picture:
        """Mean reward against tail share, one line per family of settings, most careful first."""
        points = self.points
        shares, means = [point.tail_share.value for point in points], [point.mean_reward.value for point in points]
        return scatter_lines(
            frontier_series(self.settings, shares, means),
            f"outcomes {self.tail_name}, in %",
            "mean reward",
            "What caution costs, and what it gains",
        )

    def certify(self, limit: float, confidence: float = 0.9) -> Certificate:
        """Every setting whose tail share is shown to be at most `limit`, perhaps none; see `choose`."""
        require(is_number(limit) and 0 < limit < 1, "choose", "limit", "be between 0 and 1, a share of outcomes", limit)
        sure = is_number(confidence) and 0 < confidence < 1
        require(sure, "choose", "confidence", "be between 0 and 1", confidence)
        order = families(self.settings)
        passed = certified(order, self.judged, limit, confidence)
        if not passed:
            return Certificate(limit, confidence, (), None, self._nothing(order, limit, confidence))
        best = max(passed, key=lambda index: self.judged[index].mean_reward.value)
        point = self.points[best]
        sentence = (
            f"{point.strategy} has the best mean reward ({point.mean_reward.value:.4g}) of the {len(passed)} settings "
            f"whose share of outcomes {self.tail_name} is at most {100 * limit:.3g}% with {confidence:.0%} confidence; "
            f"its own was {point.tail_share.value:.2%}."
        )
        return Certificate(limit, confidence, tuple(self.settings[i] for i in passed), self.settings[best], sentence)

    def choose(self, limit: float, confidence: float = 0.9) -> Strategy:
        """The setting with the best mean reward among those shown to keep the tail share within `limit`.

        With probability `confidence` over held-out logs, the true tail share of the chosen setting is at most `limit`.
        The limit is compared with an upper bound, Clopper and Pearson's on effective counts (`tails.upper_bound`);
        choosing among many settings is paid for by testing each family from its most careful setting on
        (`judgement.certified`), so that all settings that pass are within the limit together. This is as good as the
        propensities; and inverse propensities cannot warn of bad outcomes that occur only where the setting's action
        was almost never taken. With a known truth the bound is exact.

        Raises `InputProblem` when no setting passes, with the least limit that could be shown and the rows it takes.
        """
        found = self.certify(limit, confidence)
        if found.best is None:
            raise InputProblem(found.sentence)
        return found.best

    def policy(self, limit: float, confidence: float = 0.9) -> Policy:
        """The policy of the chosen setting, with just the options, completions and seed that were judged."""
        chosen = self.choose(limit, confidence)
        return next(policy for policy in self.policies if policy.strategy is chosen)

    def _nothing(self, order: list[list[int]], limit: float, confidence: float) -> str:
        """Why nothing can be certified: the setting with the lowest bound, and what it would take."""
        level = share_of_level(order, confidence)
        bounds = [upper_bound(one.tail_share.value, one.tail_rows, level) for one in self.judged]
        nearest = bounds.index(min(bounds))
        own = self.judged[nearest]
        times = rows_needed(own.tail_share.value, own.tail_rows, limit, level) / max(own.tail_rows, 1e-9)
        more = (
            f"hold out about {_times(times)} as many decisions, or raise the limit"
            if math.isfinite(times) and own.tail_rows > 0
            else "more decisions would not change that while the share stays so; raise the limit"
        )
        return (
            f"The held-out decisions cannot show that any setting keeps the share {self.tail_name} within "
            f"{100 * limit:.3g}%: {self.settings[nearest]} comes nearest and may reach {bounds[nearest]:.2%} "
            f"({own.tail_share.value:.2%} seen, {own.tail_rows:.0f} effective rows, {confidence:.0%} confidence); "
            f"{more}."
        )


def frontier_series(
    settings: Sequence[Strategy], tail_shares: Sequence[float], mean_rewards: Sequence[float], suffix: str = ""
) -> list[Series]:
    """The lines of the picture, (tail share in %, mean reward) by family, to be drawn beside others."""
    return [
        Series(
            settings[family[0]].family + suffix,
            [(100 * tail_shares[index], mean_rewards[index], settings[index].setting) for index in family],
        )
        for family in families(settings)
    ]


def _checked_options(options: dict[str, Any]) -> dict[str, Any]:
    for name in options:
        if name not in OPTIONS:
            raise InputProblem(
                f"The frontier compares settings that always act on the same completions, so of a policy's options it "
                f"takes {', '.join(OPTIONS)}. Leave '{name}' out, or give it to the policy of the chosen setting."
            )
    return options


def _cells(point: Point) -> tuple[str, ...]:
    mean, tail, worst = point.mean_reward, point.tail_share, point.worst_mean
    return (
        repr(point.strategy),
        f"{mean.value:.3f} ± {mean.error:.3f}",
        f"{tail.value:.2%} ± {tail.error:.2%}",
        f"{tail.high:.2%}",
        f"{worst.value:.3f} ± {worst.error:.3f}",
        f"{point.effective_sample_size:.0f}",
    )


def _times(factor: float) -> str:
    return f"{factor:.1f} times" if factor < 10 else f"{factor:,.0f} times"
