"""The results of the demonstration and their words, the same on the screen and on the page."""

from dataclasses import dataclass

from prudent.command_line.demo.doses import CAREFUL, CLINIC, MEANINGS, RULE, SINGLE, STRATEGIES, Outcome
from prudent.command_line.demo.meals import Filling, ShownMeal
from prudent.evaluation import Estimate
from prudent.show import Facts

VIRTUAL = (
    "These are virtual patients: nobody was treated. A simulator of glucose and insulin, with thirty patients that are "
    "commonly used for this, shows what every dose would have done, which no real log can."
)
REWARD = (
    "mean reward: 1 if the mean glucose from two to four hours after the meal is from 90 to 130 mg/dl, 0 at 80 or 180, "
    "-2 at 60 or 280; higher is better. bad: worse than -2. under 70, under 54: glucose was that low at some time in "
    "the four hours (hypoglycaemia, serious hypoglycaemia); in some meals it is low before any dose can act."
)


@dataclass(frozen=True, eq=False)
class Results:
    """Everything that is shown.

    learned_from, judged_on: the numbers of earlier and later decisions of the log. gaps: the share of missing entries.
    single: the best single dose, in units. preferred, advantage: the strategy with the best estimate from the log, and
    the estimate of how much better it is than the usual rule. explained: one of `meals`, as the careful policy
    explains it.
    """

    learned_from: int
    judged_on: int
    advised: int
    doses: int
    entries: int
    gaps: float
    single: float
    outcomes: tuple[Outcome, ...]
    preferred: str
    advantage: Estimate
    meals: tuple[ShownMeal, ...]
    explained: Facts
    filling: Filling

    def outcome(self, name: str) -> Outcome:
        return next(outcome for outcome in self.outcomes if outcome.name == name)

    def meaning(self, name: str) -> str:
        return f"{self.single:g} units, {MEANINGS[name]}" if name == SINGLE else MEANINGS[name]


def headline(results: Results) -> str:
    careful, rule = results.outcome(CAREFUL).bad, results.outcome(RULE).bad
    title = "Insulin doses from records with gaps"
    return title if careful >= rule else f"{title}: {careful:.1%} bad outcomes, {rule:.1%} with the usual rule"


def what_happened(results: Results) -> list[str]:
    careful, rule, clinic = (results.outcome(name).bad for name in (CAREFUL, RULE, CLINIC))
    return [
        f"prudent learned from {results.learned_from:,} meals in the log of a simulated clinic: {results.entries} "
        f"entries per record, {results.gaps:.0%} of them missing, one of {results.doses} doses of insulin, and how it "
        "turned out.",
        f"Then it advised on {results.advised:,} new meals. With its careful doses ('{CAREFUL}'), {careful:.1%} of "
        f"them end badly, with mean glucose under 60 or above 280 mg/dl; with the usual bolus rule {rule:.1%}, with "
        f"the clinic's doses {clinic:.1%}.",
    ]


def what_the_log_estimated(results: Results) -> list[str]:
    """The point of the demonstration: nobody has a simulator, but everybody has a log."""
    estimates = [(outcome.mean, outcome.estimated_mean) for outcome in results.outcomes if outcome.estimated_mean]
    inside = sum(estimate.low <= mean <= estimate.high for mean, estimate in estimates)
    means = {name: results.outcome(name).mean for name in (*STRATEGIES, RULE)}
    low, high = results.advantage.low, results.advantage.high
    return [
        f"A clinic has no simulator, but it has its log. From {results.judged_on:,} later decisions of the log, which "
        "the model had not seen, each way to dose was evaluated without knowing the truth ('from the log', 95% "
        "confidence intervals).",
        f"For {inside} of {len(estimates)} ways to dose the interval contains the true mean. Judged by the log alone, "
        f"'{results.preferred}' is the best strategy; its mean reward differs from that of the usual bolus rule by "
        f"{low:+.2f} to {high:+.2f}. In truth it differs by {means[results.preferred] - means[RULE]:+.2f}.",
    ]


def what_to_measure(results: Results) -> list[str]:
    filling = results.filling
    if not filling.first:
        return ["In these records no missing entry is worth filling before deciding."]
    (none, none_bad), (named, named_bad), (random, random_bad) = filling.none, filling.named, filling.random
    entries = ", ".join(f"{name.replace('_', ' ')} ({count})" for name, count in filling.first)
    return [
        f"Often the best advice is to fill a gap first. In {filling.meals} of {filling.records} new meals some missing "
        f"entry is worth filling; the one to fill first: {entries}.",
        f"The simulator knows these entries. With the one that prudent names filled in, the careful doses have a mean "
        f"reward of {named:.2f} instead of {none:.2f}, and {named_bad:.1%} bad outcomes instead of {none_bad:.1%}. "
        f"With a random missing entry filled in: {random:.2f} and {random_bad:.1%}.",
    ]
