"""The API reference, from the docstrings: a part of the site."""

from pathlib import Path

import pdoc

import prudent


def write_reference(folder: Path) -> None:
    # public names are looked up lazily; pdoc lists only those that were looked up
    for name in prudent.__all__:
        getattr(prudent, name)
    pdoc.render.configure(docformat="restructuredtext")
    rooms = ("table", "propensity", "decide", "models", "evaluation", "promise", "show")  # checks and worlds are public
    modules = ("prudent", *(f"prudent.{room}" for room in rooms))
    pdoc.pdoc(*modules, output_directory=folder)
