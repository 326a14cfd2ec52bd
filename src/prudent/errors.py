"""The one exception that says the input, not prudent, is at fault."""


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
