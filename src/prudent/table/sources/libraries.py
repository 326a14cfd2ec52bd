"""Packages that only some sources need."""

from importlib import import_module
from typing import Any

from prudent.errors import InputProblem


def library(name: str, extra: str, what: str) -> Any:
    """An optional package. extra: the option of prudent that installs it. what: begins the sentence where it lacks."""
    try:
        return import_module(name)
    except ImportError as problem:
        raise InputProblem(
            f"{what} needs the package '{name.partition('.')[0]}', which is not installed: "
            f"pip install 'prudent[{extra}]'"
        ) from problem
