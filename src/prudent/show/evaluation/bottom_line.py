"""The bottom line of an evaluation in a few sentences, from the facts of `BottomLine.to_dict()`."""

from collections.abc import Sequence

from prudent.show.evaluation.diagnosis import comparison
from prudent.show.evaluation.estimates import Interval
from prudent.show.json_types import Facts
from prudent.show.text import one_line

LOGGED = "the decisions as logged"


def bottom_line_sentence(facts: Facts) -> str:
    """Which policy to use, or why none."""
    names, one = quoted(facts["policies"]), len(facts["policies"]) == 1
    match facts["conclusion"]:
        case "as logged":
            does = "decides" if one else "decide"
            return f"{names} {does} every case as it was decided, so there is nothing to gain and nothing to lose."
        case "cannot answer":
            why = "too few of its decisions are such" if facts["weighted"] else "these values use no logged outcome"
            return _together(f"Use none of them: the log cannot answer for {names}; {why}.", _constant_alone(facts))
        case "use":
            parts = f"Use {_best(facts)}: {_both(facts)}.", _choice(facts)
        case _:
            parts = (_same_for_all(facts),) if facts["as_constant"] else (_not_better(facts), _constant_alone(facts))
    return _together(*parts, _unanswered(facts), _doubt(facts))


def quoted(names: Sequence[str]) -> str:
    """Names in quotes, as in a sentence.

    >>> quoted(["a", "b", "c"])
    "'a', 'b' and 'c'"
    """
    *others, last = (f"'{one_line(name)}'" for name in names)
    return f"{', '.join(others)} and {last}" if others else last


def _together(*sentences: str) -> str:
    return " ".join(sentence for sentence in sentences if sentence)


def _best(facts: Facts) -> str:
    first, *others = facts["policies"]
    alike = f" (or {quoted(others)}, deciding alike)" if others else ""
    return f"{quoted([first])}{alike}"


def _same_for_all(facts: Facts) -> str:
    better = Interval.of(facts["over_logged"]).judged(facts["minimize"], facts["rounding"]) == "better"
    none = "No model is needed" if better else "None of this is shown to be better than the decisions as logged"
    best = f"the best of them, {_best(facts)}," if facts["compared"] > 1 else _best(facts)
    action = f"gives everybody the same action ('{one_line(facts['constant'])}')"
    return f"{none}: {best} {action}, and {_compared(facts, 'over_logged', LOGGED)}."


def _not_better(facts: Facts) -> str:
    several = facts["compared"] > 1
    others = [LOGGED if name != facts["constant"] else _constant(facts) for name in facts["not_beaten"]]
    which = f"None of the {facts['compared']} different policies is" if several else f"{_best(facts)} is not"
    of_whom = f"Of the best, {_best(facts)}" if several else "In detail"
    return f"{which} shown to be better than {' or than '.join(others)}. {of_whom}: {_both(facts)}."


def _both(facts: Facts) -> str:
    """The comparison with the log, and with the best constant action."""
    pairs = [("over_logged", LOGGED)] + ([] if facts["constant"] is None else [("over_constant", _constant(facts))])
    return ", and ".join(_compared(facts, key, other) for key, other in pairs)


def _compared(facts: Facts, key: str, other: str) -> str:
    return comparison(Interval.of(facts[key]), facts["minimize"], facts["rounding"], other)


def _constant(facts: Facts) -> str:
    return f"'{one_line(facts['constant'])}' for everybody"


def _constant_alone(facts: Facts) -> str:
    """What needs no model, where it is an improvement itself."""
    gain = facts["constant_over_logged"]
    if gain is None or Interval.of(gain).judged(facts["minimize"], facts["rounding"]) != "better":
        return ""
    return f"As for {_constant(facts)}, {_compared(facts, 'constant_over_logged', LOGGED)}."


def _choice(facts: Facts) -> str:
    count = facts["compared"]
    return f"The intervals allow for choosing the best of {count} different policies." if count > 1 else ""


def _unanswered(facts: Facts) -> str:
    return f"The log cannot answer for {quoted(facts['unanswered'])}." if facts["unanswered"] else ""


def _doubt(facts: Facts) -> str:
    doubt = "But the propensities look wrong (see the warnings), and no interval covers that: check them first."
    return doubt if facts["doubtful"] else ""
