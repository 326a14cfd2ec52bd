"""The one exception that says the input, not prudent, is at fault, and the rules that arguments must keep."""

import math
from collections.abc import Callable, Mapping
from numbers import Integral, Real
from typing import Any, NamedTuple


class InputProblem(ValueError):
    """Bad input: one sentence that names the column or parameter, the value, and the way out.

    The command line prints it without a traceback and exits with 2. `details` is what a program may use, such as the
    odd cells of a table.
    """

    def __init__(self, sentence: str, details: object = None):
        super().__init__(sentence)
        self.details = details


class Rule(NamedTuple):
    """What a parameter must be: the test, and the words that follow "must"."""

    must: str
    holds: Callable[[Any], bool]


def check(owner: str, rules: Mapping[str, Rule], values: Mapping[str, object]) -> None:
    """Hold every argument against its rule; `values` may have entries without a rule, such as `locals()` has.

    >>> check("Conservative", {"c": number(0, 1, "[)")}, {"c": 1.5})
    Traceback (most recent call last):
        ...
    prudent.errors.InputProblem: The 'c' parameter of Conservative must be in [0, 1). Got 1.5 instead.
    """
    for name, rule in rules.items():
        require(rule.holds(values[name]), owner, name, rule.must, values[name])


def require(condition: bool, owner: str, parameter: str, must: str, got: object) -> None:
    """Raise the sentence of every bad argument; for conditions that no single parameter can be held to."""
    if not condition:
        raise InputProblem(f"The '{parameter}' parameter of {owner} must {must}. Got {got!r} instead.")


# --- rules ---


def number(low: float = -math.inf, high: float = math.inf, ends: str = "[]") -> Rule:
    """A finite number, perhaps within bounds; `ends` says which of them belong, as in "[)"."""

    def holds(value: Any) -> bool:
        above = value >= low if ends[0] == "[" else value > low
        below = value <= high if ends[1] == "]" else value < high
        return above and below

    return Rule(_range_words(low, high, ends), lambda value: is_number(value) and holds(value))


def _range_words(low: float, high: float, ends: str) -> str:
    if math.isinf(low) and math.isinf(high):
        return "be a number"
    if math.isinf(high):
        return f"be a number {'of at least' if ends[0] == '[' else 'above'} {low:g}"
    return f"be in {ends[0]}{low:g}, {high:g}{ends[1]}"


def whole(least: int = 0, most: int | None = None) -> Rule:
    if most is None:
        return Rule(f"be a whole number of at least {least}", lambda value: is_whole(value, least))
    words = f"be a whole number from {least} to {most}"
    return Rule(words, lambda value: is_whole(value, least) and int(value) <= most)


def one_of(*choices: str) -> Rule:
    words = [repr(choice) for choice in choices]
    return Rule(
        "be " + " or ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words), choices.__contains__
    )


def instance(kind: Any, words: str) -> Rule:
    """An object of a class; `words` name it with an example, as in "a Search, e.g. Search(steps=6)"."""
    return Rule(f"be {words}", lambda value: isinstance(value, kind))


def optional(rule: Rule) -> Rule:
    """The same, or None."""
    return Rule(rule.must, lambda value: value is None or rule.holds(value))


TRUTH = Rule("be True or False", lambda value: isinstance(value, bool))


def is_number(value: object) -> bool:
    """A finite number, of Python or NumPy; bools are rejected."""
    try:
        return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:  # a whole number of hundreds of digits
        return False


def is_whole(value: object, least: int = 0) -> bool:
    """A whole number of at least `least`; 2.0 is rejected, since it may have been meant as a share."""
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= least
