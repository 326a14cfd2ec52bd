"""Several outcomes in one reward, as in `survival - 0.1*days`: columns, numbers, + - * and nothing else."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from prudent.errors import InputProblem, is_number

Weights = Mapping[str, float]
"""Columns and what each counts for, as in {"survival": 1, "days": -0.1}."""

_TOKEN = re.compile(
    r"""\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?!\w))
    |(?P<name>[^\W\d][\w.]*)
    |`(?P<back>[^`]+)`|'(?P<single>[^']+)'|"(?P<double>[^"]+)"
    |(?P<sign>[-+*]))""",
    re.VERBOSE,
)
_SIMPLE = re.compile(r"[^\W\d][\w.]*")
HOW = "write columns, numbers, + - and * only, as in survival - 0.1*days; other names go in backquotes"


class _Token(NamedTuple):
    kind: str
    text: str


@dataclass(frozen=True)
class WeightedSum:
    """`offset` and, for every column, what it counts for."""

    weights: tuple[tuple[str, float], ...]
    offset: float = 0.0

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.weights)

    def of(self, columns: Mapping[str, np.ndarray]) -> np.ndarray:
        """The sum, row by row; a gap in any part is a gap."""
        return np.sum([weight * columns[name] for name, weight in self.weights], axis=0) + self.offset


def weighted_sum(text: str) -> WeightedSum:
    """What the text means.

    >>> weighted_sum("survival - 0.1*days")
    WeightedSum(weights=(('survival', 1.0), ('days', -0.1)), offset=0.0)
    >>> weighted_sum("1 - 2*`days in ward`*0.5")
    WeightedSum(weights=(('days in ward', -1.0),), offset=1.0)
    >>> weighted_sum("survival / days")
    Traceback (most recent call last):
        ...
    prudent.errors.InputProblem: The reward 'survival / days' cannot be read at '/ days'; write columns, numbers, + - \
and * only, as in survival - 0.1*days; other names go in backquotes.
    """
    weights: dict[str, float] = {}
    offset = 0.0
    for sign, factors in _terms(text):
        named = [token.text for token in factors if token.kind == "name"]
        if len(named) > 1:
            raise InputProblem(
                f"The reward {text!r} multiplies two columns, '{named[0]}' and '{named[1]}'; add them with weights, or "
                "make a column of their product."
            )
        weight = sign * float(np.prod([float(token.text) for token in factors if token.kind == "number"]))
        if not np.isfinite(weight):
            raise InputProblem(f"The reward {text!r} holds a number that is too large; use another unit.")
        if named:
            weights[named[0]] = weights.get(named[0], 0.0) + weight
        else:
            offset += weight
    useless = [name for name, weight in weights.items() if weight == 0]
    if useless or not weights:
        what = f"counts column '{useless[0]}' for nothing" if useless else "names no column"
        raise InputProblem(f"The reward {text!r} {what}; {HOW}.")
    return WeightedSum(tuple(weights.items()), offset)


def is_sum(text: str) -> bool:
    """Whether the text is more than one name, so that it may be meant as a sum.

    >>> is_sum("survival - days"), is_sum("days in ward"), is_sum("-`days in ward`")
    (True, False, True)
    """
    return any(sign in text for sign in "+-*`")


def as_text(reward: str | Weights) -> str:
    """Weights as the text that means the same.

    >>> as_text({"survival": 1, "days in ward": -0.1})
    'survival - 0.1*`days in ward`'
    """
    if not isinstance(reward, Mapping):
        return reward
    for name, weight in reward.items():
        if not is_number(weight) or weight == 0 or "`" in str(name):
            raise InputProblem(
                f"The reward must map columns to numbers other than 0, as in {{'survival': 1, 'days': -0.1}}. "
                f"Got {weight!r} for {name!r} instead."
            )
    if not reward:
        raise InputProblem("The reward maps no column to a number; give one as in {'survival': 1, 'days': -0.1}.")
    parts = "".join(_part(str(name), float(weight)) for name, weight in reward.items())
    return parts.removeprefix(" + ") if parts.startswith(" + ") else "-" + parts.removeprefix(" - ")


def _part(name: str, weight: float) -> str:
    factor = "" if abs(weight) == 1 else f"{abs(weight)!r}*"
    return f" {'-' if weight < 0 else '+'} {factor}{name if _SIMPLE.fullmatch(name) else f'`{name}`'}"


def _terms(text: str) -> Iterator[tuple[int, list[_Token]]]:
    """Each term with its sign."""
    tokens, at = list(_tokens(text)), 0
    while at < len(tokens):
        sign, factors, expects = 1, [], True
        while at < len(tokens):
            token = tokens[at]
            if expects and token.text in ("+", "-") and token.kind == "sign":
                sign *= -1 if token.text == "-" else 1
            elif expects and token.kind != "sign":
                factors.append(token)
                expects = False
            elif not expects and token.kind == "sign":
                if token.text != "*":
                    break
                expects = True
            else:
                raise InputProblem(f"The reward {text!r} cannot be read at {token.text!r}; {HOW}.")
            at += 1
        if expects:
            raise InputProblem(f"The reward {text!r} ends where a column or a number should follow; {HOW}.")
        yield sign, factors


def _tokens(text: str) -> Iterator[_Token]:
    at = 0
    while text[at:].strip():
        found = _TOKEN.match(text, at)
        if found is None:
            raise InputProblem(f"The reward {text!r} cannot be read at {text[at:].strip()!r}; {HOW}.")
        kind = found.lastgroup or ""
        yield _Token("name" if kind in ("back", "single", "double") else kind, found[kind])
        at = found.end()
