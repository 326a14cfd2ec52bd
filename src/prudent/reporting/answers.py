"""A part of a report that cannot be made is a sentence that says why; the others stand."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from prudent.errors import InputProblem

Found = TypeVar("Found")


@dataclass(frozen=True)
class Unanswered:
    """Why there is no answer."""

    sentence: str


def answered(study: Callable[[], Found]) -> Found | Unanswered:
    try:
        return study()
    except InputProblem as problem:
        return Unanswered(str(problem))
