"""The text of an effect study, from the facts of `Effects.to_dict()`, and what `prudent effects` shows of it."""

from collections.abc import Iterator, Sequence

from prudent.show.evaluation.estimates import Interval, figures_for
from prudent.show.json_types import Facts
from prudent.show.numbers import counted
from prudent.show.sections import Section
from prudent.show.tables import TextTable

LINES = (
    ("ATE", "aipw", "on all rows (ATE)"),
    ("ATT", "aipw", "on the treated (ATT)"),
    ("ATC", "aipw", "on the control rows (ATC)"),
    ("ATE", "difference in means", "plain difference in means"),
)


def effects_text(facts: Facts) -> str:
    estimates = {(one["estimand"], one["estimator"]): one for one in facts["effects"]}
    lines = [
        f"Effect of '{facts['treated']}' against '{facts['control']}' on '{facts['reward']}': {facts['rows']} rows, "
        f"{facts['treated_rows']} of them treated."
    ]
    for estimand, estimator, label in LINES:
        estimate = estimates[estimand, estimator]
        interval = _interval(estimate)
        lines.append(f"  {label:<26} {interval.written(lambda number: f'{number:.3f}')}")
    return "\n".join([*lines, f"Intervals have a confidence of {facts['confidence']:g}.", *facts["notes"]])


def _interval(estimate: Facts) -> Interval:
    return Interval.of({"value": estimate["effect"], **estimate})


def effects_sections(facts: Facts) -> Iterator[Section]:
    """The averages; groups and predicted effects where the facts have them."""
    worse = " A negative effect is a good one." if facts["minimize"] else ""
    yield Section(
        introduction=(
            f"{facts['log']}: effect of '{facts['treated']}' against '{facts['control']}' on '{facts['reward']}', the "
            f"outcome under the one minus the outcome under the other.{worse} {counted(facts['rows'], 'row')}, "
            f"{facts['treated_rows']:,} of them treated.",
        )
    )
    names = {"ATE": "all rows (ATE)", "ATT": "the treated (ATT)", "ATC": "the control rows (ATC)"}
    labels = [f"on {names[one['estimand']]}, {one['estimator']}" for one in facts["effects"]]
    sentences = (
        f"In brackets: intervals of confidence {facts['confidence']:g}. aipw (doubly robust) is right when either the "
        "prices or the propensities are; the difference in means ignores who was treated.",
    )
    yield Section("Average effects", _table("effect", labels, facts["effects"]), sentences)
    for column, groups in facts["groups"].items():
        yield Section(f"By '{column}'", _table(column, [group["group"] for group in groups], groups))
    if "by_predicted" in facts:
        yield _predicted(facts)
    if facts["notes"]:
        yield Section("Notes", points=tuple(facts["notes"]))


def _predicted(facts: Facts) -> Section:
    groups, slope = facts["by_predicted"], Interval.of(facts["heterogeneity"])
    labels = [f"{group['predicted']:.3g}" for group in groups]
    sentence = (
        "No differences between rows are predicted: every row has the average effect."
        if not slope.exists
        else f"Where predicted effects differ by 1, effects differ by {slope.written(lambda number: f'{number:.2f}')}: "
        "near 1 the predicted differences are real, near 0 they are noise."
    )
    return Section("By predicted effect", _table("predicted", labels, groups), (sentence,))


def _table(heading: str, labels: Sequence[str], estimates: Sequence[Facts]) -> TextTable:
    intervals = [_interval(one) for one in estimates]
    write = figures_for(intervals)
    if "rows" not in estimates[0]:
        rows = [(label, one.written(write)) for label, one in zip(labels, intervals, strict=True)]
        return TextTable((heading, "estimate"), rows)
    counts = [f"{one['rows']:,}" for one in estimates]
    rows = [(label, count, one.written(write)) for label, count, one in zip(labels, counts, intervals, strict=True)]
    return TextTable((heading, "rows", "effect"), rows)
