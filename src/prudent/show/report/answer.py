"""The answer at the top of a report: five sentences for somebody who reads no further."""

from collections.abc import Iterator

from prudent.show.evaluation.comparison import LOGGED
from prudent.show.evaluation.estimates import Interval, digits, figures_for, percent_written
from prudent.show.json_types import Facts
from prudent.show.numbers import counted, percent
from prudent.show.report.changed_part import changed_sentence
from prudent.show.report.filled_part import filled_sentence
from prudent.show.report.parts import own, unanswered
from prudent.show.report.values_part import best_rival_sentence
from prudent.show.text import one_line

CANNOT = ("nothing", "hardly", "extrapolated")
"""Answers of a log that are no value to show."""


def answer_sentences(report: Facts) -> list[str]:
    return list(_sentences(report))


def _sentences(report: Facts) -> Iterator[str]:
    yield _about(report)
    yield _worth(report)
    yield _simpler(report)
    changed = report["changed"]
    yield changed["sentence"] if unanswered(changed) else changed_sentence(changed)
    yield _gaps(report)


def _about(report: Facts) -> str:
    evaluation, model = report["values"]["evaluation"], report["model"]["model"]
    better = "lower" if evaluation["minimize"] else "higher"
    return (
        f"The policy chooses one of {len(evaluation['actions'])} actions ('{one_line(model['action_name'])}') from "
        f"{counted(len(model['columns']), 'column')}, so that '{one_line(evaluation['reward'])}' becomes {better}; it "
        f"was tried on {counted(evaluation['rows'], 'decision')} that it had not learnt from."
    )


def _worth(report: Facts) -> str:
    """Whether it would have done better than what was done."""
    evaluation = report["values"]["evaluation"]
    policy = own(evaluation, report["values"]["recommended"])
    if policy["diagnosis"]["answer"] in CANNOT:
        return policy["diagnosis"]["verdict"]
    value, logged = (Interval.of(one["value"]) for one in (policy, own(evaluation, LOGGED)))
    write, gain = figures_for([value, logged]), Interval.of(policy["gain"])
    means = f"Had it decided, the mean would have been about {write(value.value)} instead of {write(logged.value)}"
    return f"{means} as it was: {_judged(gain, evaluation)}."


def _judged(gain: Interval, evaluation: Facts) -> str:
    judged = gain.judged(evaluation["minimize"], evaluation["rounding"])
    if judged in ("no difference", "unknown"):
        return "no difference" if judged == "no difference" else "the two cannot be compared"
    size, low, high = digits(gain, gain.value, gain.low, gain.high)
    interval = f"difference {size}, {percent_written(evaluation['confidence'])} interval {low} to {high}"
    known = "which chance alone may explain" if judged == "not clearly different" else f"clearly {judged}"
    return f"{known} ({interval})"


def _simpler(report: Facts) -> str:
    """Whether one action for everybody, or a simpler method, does as well."""
    evaluation = report["values"]["evaluation"]
    policy, constant = own(evaluation, report["values"]["recommended"]), evaluation["best_constant"]
    parts = []
    if constant is not None and policy["over_constant"] is not None:
        judged = Interval.of(policy["over_constant"]).judged(evaluation["minimize"], evaluation["rounding"])
        words = {
            "better": f"It is also better than the best single action, '{one_line(constant)}' for everybody",
            "worse": f"But '{one_line(constant)}' for everybody would have done better",
            "unknown": f"It cannot be compared with '{one_line(constant)}' for everybody",
        }
        as_well = f"But '{one_line(constant)}' for everybody may do as well: no clear difference was found"
        parts.append(words.get(judged, as_well))
    rival = best_rival_sentence(report["values"])
    if not parts:
        return rival or "No simpler way could be compared with it."
    return f"{parts[0]}." if rival is None else f"{parts[0]}; {_first(rival)}"


def _first(sentences: str) -> str:
    """The first sentence of several, to follow a semicolon."""
    return sentences.partition(". ")[0].rstrip(".") + "."


def _gaps(report: Facts) -> str:
    log, gaps = report["log"], report["gaps"]
    share = f"{percent(log['gap_share'])} of the cells are missing"
    if log["gap_share"] == 0:
        share = "No cell is missing"
    filled = gaps["sentence"] if unanswered(gaps) else filled_sentence(gaps)
    return f"{share}. {filled}" if unanswered(gaps) else f"{share}; {filled[:1].lower()}{filled[1:]}"
