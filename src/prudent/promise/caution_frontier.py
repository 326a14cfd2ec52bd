"""The frontier: what every degree of caution costs in mean reward and gains in the tail, on held-out decisions.

    frontier(model, held_out_log, below=-5).choose(limit=0.03)

One table, one picture, and the choice of a setting that keeps the tail within a limit.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from prudent.decide import Policy, Search, Strategy
from prudent.errors import InputProblem, Rule, check, instance, number, require
from prudent.models import Fitted, align_log
from prudent.promise.caution_settings import DEFAULT_SETTINGS, families, mildest
from prudent.promise.certificate import Certificate, certified, chosen_sentence, nothing_sentence, tie_sentence
from prudent.promise.frontier_points import Point, points_on_log, points_on_truth
from prudent.promise.known_truth import KnownTruth
from prudent.promise.matching_gaps import shown_cells
from prudent.show import Picture, frontier_picture, frontier_text
from prudent.table import Log

OPTIONS = ("doubt", "noise", "costs", "support", "search")


def _comparable(settings: Any) -> bool:
    return len(settings) > 0 and all(
        isinstance(setting, Strategy) and not setting.stochastic and not setting.literal for setting in settings
    )


_RULES: dict[str, Rule] = {
    "model": instance(Fitted, "a fitted model, see CausalPVAE.fit"),
    "below": number(),
    "settings": Rule(
        "be strategies that make the same choice from the same completions, e.g. [Conservative(risk=0.05)]", _comparable
    ),
}
_LIMITS: dict[str, Rule] = {"limit": number(0, 1, "()"), "confidence": number(0, 1, "()")}


def frontier(
    model: Fitted,
    log: Log | KnownTruth,
    *,
    below: float,
    cases: Any = None,
    settings: Sequence[Strategy] = DEFAULT_SETTINGS,
    completions: int = 256,
    seed: int = 0,
    **policy_options: Any,
) -> "Frontier":
    """Mean reward against tail for every setting, on decisions that the model was not fitted on.

    log: held-out decisions (`model.read(frame)`, or the other part of `Log.split`), judged by `prudent.evaluate`: the
        same estimates, intervals and warnings; or cases whose true rewards are known.
    below: outcomes below this reward are the tail (with a minimised reward: above it). An outcome of a log includes its
        noise; a known truth has none.
    cases: the cases that the chosen setting is meant for, a frame of any common kind. With more gaps than the held-out
        decisions they would fare worse: a share of bad outcomes says something only about gaps like those it was
        tested with. So each held-out row gets the gaps of a case in addition, see `matching_gaps`. What was done stays
        as likely as it was, so propensities and prices use the whole rows; only what the policies see is masked.
        By default nothing is masked, and the result is for cases with gaps like those of the held-out decisions.
    policy_options: `doubt`, `noise`, `costs`, `support` and `search` of the policies. Cases are completed and
        priced once, and all settings choose from the same prices; only with `search=Search()`, which a policy uses by
        default and the frontier does not, each `Conservative` setting searches for its worst cases (slow).
    """
    check("frontier", _RULES, locals())
    must = "be a Log read with model.read(...), or a KnownTruth"
    require(isinstance(log, Log | KnownTruth), "frontier", "log", must, type(log).__name__)
    options = {"search": Search(steps=0), **_checked_options(policy_options), "completions": completions, "seed": seed}
    policies = tuple(model.policy(setting, **options) for setting in settings)
    if isinstance(log, KnownTruth):
        require(cases is None, "frontier", "cases", "be left out where the truth is known: its cases have gaps", cases)
        return Frontier(policies, points_on_truth(policies, log, float(below)), float(below))
    if cases is None:
        points, notes = points_on_log(policies, log, float(below), seed)
        return Frontier(policies, points, float(below), notes)
    log = align_log(log, model)
    shown, masking = shown_cells(model, log, cases, seed)
    points, notes = points_on_log(policies, log, float(below), seed, shown)
    return Frontier(policies, points, float(below), (*masking, *notes), "the cases given")


@dataclass(frozen=True, eq=False)
class Frontier:
    """All settings on the same held-out decisions; `points` has them in the order of `policies`.

    notes: warnings of the evaluation, such as rows that the model was fitted on.
    tested: whose gaps the rows had: all that is shown holds for cases with such gaps.
    """

    policies: tuple[Policy, ...]
    points: tuple[Point, ...]
    below: float
    notes: tuple[str, ...] = ()
    tested: str = "the held-out decisions"

    @property
    def settings(self) -> tuple[Strategy, ...]:
        return tuple(point.strategy for point in self.points)

    @property
    def sign(self) -> float:
        """1 where higher rewards are better, -1 where lower ones are."""
        return self.policies[0].fitted.sign

    @property
    def tail_name(self) -> str:
        """Which outcomes are the tail, in words."""
        return f"{'below' if self.sign > 0 else 'above'} {self.below:.12g}"

    def to_dict(self) -> dict[str, Any]:
        """Everything in plain types for JSON, pictures and tables."""
        points = [point.to_dict() for point in self.points]
        return {"below": self.below, "tail": self.tail_name, "points": points, "notes": list(self.notes)}

    def to_frame(self) -> pl.DataFrame:
        """One row per setting."""
        return pl.DataFrame(self.to_dict()["points"])

    def __str__(self) -> str:
        return frontier_text(self.to_dict())

    def picture(self) -> Picture:
        """Mean reward against tail share, one line per family of settings, most careful first."""
        return frontier_picture(self.to_dict())

    def certify(self, limit: float, confidence: float = 0.9) -> Certificate:
        """Every setting whose tail share is shown to be at most `limit`, perhaps none; see `choose`."""
        check("choose", _LIMITS, locals())
        order, shares = families(self.settings), [point.observed_share for point in self.points]
        passed = certified(order, shares, limit, confidence)
        scope = f" This is for gaps like those of {self.tested}."
        if not passed:
            sentence = nothing_sentence(self.settings, order, shares, self.tail_name, limit, confidence)
            return Certificate(limit, confidence, (), None, sentence + scope)
        tied = self._tied_for_best(passed)
        best = self.points[mildest(self.settings, tied)]
        mean, share = best.mean_reward.value, best.tail_share.value
        sentence = chosen_sentence(best.strategy, mean, share, len(passed), self.tail_name, limit, confidence)
        alike = sum(repr(self.settings[index]) in best.alike for index in tied)
        sentence += tie_sentence(len(tied), alike, len(self.points)) + scope
        return Certificate(limit, confidence, tuple(self.settings[i] for i in passed), best.strategy, sentence)

    def _tied_for_best(self, passed: list[int]) -> list[int]:
        """The settings with the best mean reward, up to rounding: those that decide alike have the same."""
        means = {index: self.sign * self.points[index].mean_reward.value for index in passed}
        top = max(means, key=lambda index: means[index])
        rounding = 1e-6 * self.points[top].mean_reward.error + 1e-12 * abs(means[top])
        return [index for index in passed if index == top or means[top] - means[index] <= rounding]

    def choose(self, limit: float, confidence: float = 0.9) -> Strategy:
        """The setting with the best mean reward among those shown to keep the tail share within `limit`; of settings
        that do equally well, the mildest.

        With probability `confidence` over held-out logs, the true tail share of the chosen setting is at most `limit`.
        The limit is compared with Clopper and Pearson's upper bound on effective counts, as in the intervals of
        `evaluate`; choosing among many settings is paid for by testing each family from its most careful setting on
        (`certificate.certified`), so that all settings that pass are within the limit together. This is as good as
        the propensities and the prices; and no estimate can warn of bad outcomes that occur only where the setting's
        action was almost never taken. It holds for gaps like those that were tested, see the `cases` of `frontier`.
        With a known truth the bound is exact.

        Raises `InputProblem` when no setting passes, with the lowest bound that could be shown and the rows it takes.
        """
        certificate = self.certify(limit, confidence)
        if certificate.best is None:
            raise InputProblem(certificate.sentence)
        return certificate.best

    def policy(self, limit: float, confidence: float = 0.9) -> Policy:
        """The policy of the chosen setting, with the options, completions and seed that were judged."""
        chosen = self.choose(limit, confidence)
        return next(policy for policy in self.policies if policy.strategy is chosen)


def _checked_options(options: dict[str, Any]) -> dict[str, Any]:
    for name in options:
        if name not in OPTIONS:
            raise InputProblem(
                "The frontier compares settings that always recommend an action from the same completions, so it "
                f"accepts only the policy options {', '.join(OPTIONS)}. Leave '{name}' out, or give it to the policy "
                "of the chosen setting."
            )
    return options
