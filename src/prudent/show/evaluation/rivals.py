"""What is said about prudent beside the usual ways, from plain facts."""

from prudent.show.evaluation.estimates import Interval, in_sentence
from prudent.show.json_types import Facts


def rivals_sentence(facts: Facts) -> str:
    """Whether a simple rival is as good.

    facts: ours and rival (names), difference (ours minus the rival, in the log's units), differently (the share of rows
        decided differently), minimize, rounding and confidence.
    """
    difference = Interval.of(facts["difference"])
    gain = difference.times(-1.0 if facts["minimize"] else 1.0)
    ours, rival, judged = facts["ours"], facts["rival"], difference.judged(facts["minimize"], facts["rounding"])
    apart = f"They decide {facts['differently']:.0%} of the rows differently."
    if judged == "better":
        return f"{ours} is better than {rival}, the best of the usual ways here, by {in_sentence(gain)}. {apart}"
    if judged == "worse":
        return (
            f"{rival} is better than {ours} by {in_sentence(gain.times(-1.0))}: use it for expected rewards, or find "
            f"out what it sees. {apart}"
        )
    if judged == "unknown":
        return f"The log cannot tell {ours} and {rival} apart."
    return (
        f"{rival} is as good as {ours} here, as far as these rows can tell: the difference is {in_sentence(gain)}. "
        f"{apart} Where expected rewards are all you need, the simpler one will do."
    )
