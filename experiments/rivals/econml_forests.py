"""EconML's forests, which are an extra and are imported only by the rivals that need them."""

import warnings
from importlib import import_module
from typing import Any

from prudent.errors import InputProblem


def econml_class(owner: str, module: str, name: str) -> Any:
    """A class of EconML for the rival `owner`; one sentence says how to install EconML where it is missing."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # EconML and the scikit-learn names that it imports warn about each other
        try:
            return getattr(import_module(f"econml.{module}"), name)
        except ImportError as problem:
            raise InputProblem(
                f"{owner} needs EconML, which is not installed. Install it with pip install 'prudent[experiments]'."
            ) from problem
