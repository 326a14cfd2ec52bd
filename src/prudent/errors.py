"""The one exception that says the input, not prudent, is at fault."""

import math
from numbers import Integral, Real


class InputProblem(ValueError):
    """Bad input: one sentence that names the column or parameter, the value, and the way out.

    The command line prints it without a traceback and exits with 2.
    """


def require(condition: bool, owner: str, parameter: str, must: str, got: object) -> None:
    """Raise the one sentence every bad argument gets.

    >>> require(False, "Conservative", "c", "be in [0, 1)", 1.5)
    Traceback (most recent call last):
        ...
    prudent.errors.InputProblem: The 'c' parameter of Conservative must be in [0, 1). Got 1.5 instead.
    """
    if not condition:
        raise InputProblem(f"The '{parameter}' parameter of {owner} must {must}. Got {got!r} instead.")


def is_number(value: object) -> bool:
    """A finite number, of Python or NumPy; True and False are none."""
    return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)


def is_whole(value: object, least: int = 0) -> bool:
    """A whole number of at least `least`; 2.0 is none, for it may have been meant as a share."""
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= least
