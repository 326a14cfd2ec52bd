"""The API reference, from the docstrings: a part of the site."""

import warnings
from pathlib import Path

import pdoc

import prudent


def write_reference(folder: Path) -> None:
    # public names are looked up lazily; pdoc lists only those that were looked up
    for name in prudent.__all__:
        getattr(prudent, name)
    pdoc.render.configure(docformat="restructuredtext")
    rooms = ("table", "propensity", "decide", "models", "evaluation", "promise", "show")  # checks and worlds are public
    beside = ("journal", "reporting", "web", "sklearn", "mlflow")
    modules = ("prudent", *(f"prudent.{room}" for room in (*rooms, *beside)))
    with warnings.catch_warnings():
        # a type of htpy's that contains itself
        warnings.filterwarnings("ignore", "Error parsing type annotation htpy", UserWarning)
        pdoc.pdoc(*modules, output_directory=folder)
