"""The words of the demonstration, the same on the screen and on the page."""

from dataclasses import dataclass

from prudent.command_line.demo.meals import Measured, ShownMeal
from prudent.command_line.demo.ways import CAREFUL, CLINIC, MEANINGS, RULE, SINGLE, Outcome, Preferred, number, percent
from prudent.decide import Explanation

VIRTUAL = (
    "These are virtual patients: nobody was treated. A simulator of glucose and insulin, with thirty patients that are "
    "commonly used for this, tells what every dose would have brought, which no real log can."
)
REWARD = (
    "reward: of the mean glucose from two to four hours after the meal; 1 from 90 to 130 mg/dl, 0 at 80 or 180, -2 at "
    "60 or 280; higher is better. bad: outcomes worse than that, a mean under 60 or above 280. under 70, under 54: "
    "glucose was that low at some time in the four hours (hypoglycaemia, serious hypoglycaemia); some are low before "
    "any dose can act."
)


@dataclass(frozen=True, eq=False)
class Demonstration:
    """All that there is to tell.

    learnt_from, judged_on: the earlier and the later decisions of the log. gaps: the share of missing entries. single:
    the best single dose, in units. explained: one of `meals`, as advised carefully.
    """

    learnt_from: int
    judged_on: int
    advised: int
    doses: int
    entries: int
    gaps: float
    single: float
    outcomes: tuple[Outcome, ...]
    preferred: Preferred
    meals: tuple[ShownMeal, ...]
    explained: Explanation
    measured: Measured

    def outcome(self, name: str) -> Outcome:
        return next(own for own in self.outcomes if own.name == name)


def headline(told: Demonstration) -> str:
    careful, rule = told.outcome(CAREFUL), told.outcome(RULE)
    if careful.bad >= rule.bad:
        return "Insulin doses from records with gaps"
    return (
        f"Insulin doses from records with gaps: {percent(careful.bad)} bad outcomes, where the usual rule has "
        f"{percent(rule.bad)}"
    )


def what_happened(told: Demonstration) -> list[str]:
    careful, rule, clinic = (told.outcome(name) for name in (CAREFUL, RULE, CLINIC))
    return [
        f"prudent learnt from {told.learnt_from:,} meals in the log of a simulated clinic: {told.entries} entries in a "
        f"record, {told.gaps:.0%} of them missing, one of {told.doses} doses of insulin, and how it turned out.",
        f"Then it advised on {told.advised:,} new meals. With its careful doses ('{CAREFUL}') "
        f"{percent(careful.bad)} of them end badly, with the mean glucose under 60 or above 280 mg/dl; with the "
        f"usual bolus rule {percent(rule.bad)}, with the clinic's own doses {percent(clinic.bad)}.",
    ]


def what_the_log_said(told: Demonstration) -> list[str]:
    """The point of the demonstration: nobody has a simulator, but everybody has a log."""
    judged = [own for own in told.outcomes if own.said_mean is not None]
    inside = [own for own in judged if own.said_mean and own.said_mean.low <= own.mean <= own.said_mean.high]
    own, more = told.preferred, told.preferred.said_more
    truth = f"{number(abs(own.more))} {'below' if own.more < 0 else 'above'}"
    best = "no strategy has more" if own.behind == 0 else f"the best strategy has {number(own.behind)} more"
    return [
        f"A clinic has no simulator, but it has its log. From {told.judged_on:,} later decisions of the log, which the "
        "model had not seen, each way to dose was judged without knowing any truth ('the log had said', 95% "
        "intervals).",
        f"For {len(inside)} of {len(judged)} ways the true mean is within what the log had said. The log alone prefers "
        f"'{own.name}', {_beside_the_rule(more.low, more.high)} in mean reward; in truth it is {truth}, and {best}.",
    ]


def _beside_the_rule(low: float, high: float) -> str:
    """
    >>> _beside_the_rule(-0.5, -0.1)
    'below the usual bolus rule by 0.10 to 0.50'
    """
    if low > 0:
        return f"above the usual bolus rule by {number(low)} to {number(high)}"
    if high < 0:
        return f"below the usual bolus rule by {number(-high)} to {number(-low)}"
    return f"not told apart from the usual bolus rule: {number(low)} to {number(high)}"


def by_chance(told: Demonstration) -> str:
    """How far apart two marks must be to mean anything."""
    own = told.outcome(CAREFUL)
    share = (own.bad * (1 - own.bad) / told.advised) ** 0.5
    return (
        f"With {told.advised:,} meals chance alone moves a mark by about {number(own.error)} up or down and "
        f"{percent(share)} left or right."
    )


def what_to_measure(told: Demonstration) -> list[str]:
    found = told.measured
    if not found.meals or not found.worths:
        return ["In these records no missing entry is worth filling before deciding."]
    mean, bad = ([own[at] for own in (found.before, found.named, found.anyone)] for at in (0, 1))
    return [
        f"Often the best advice is to fill a gap first. Most worth filling where it is missing: "
        f"{_spaced(found.worths[0].name)}.",
        f"In {found.meals} of {found.records} new meals something is worth filling. There the entry that prudent names "
        f"was filled in, as the simulator knows it: the careful doses then have a mean reward of {number(mean[1])} "
        f"instead of {number(mean[0])}, and {percent(bad[1])} bad outcomes instead of {percent(bad[0])}. Filling any "
        f"one missing entry instead: {number(mean[2])} and {percent(bad[2])}.",
    ]


def meaning(told: Demonstration, name: str) -> str:
    """What a way to dose is, in a few words."""
    return f"{told.single:g} units, {MEANINGS[name]}" if name == SINGLE else MEANINGS[name]


def _spaced(name: str) -> str:
    return name.replace("_", " ")
