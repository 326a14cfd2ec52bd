"""`prudent serve`: whether what it needs is installed, and then the server."""

from importlib import import_module
from typing import Any

from prudent.errors import InputProblem


def serve_model(limits: dict[str, Any], **options: Any) -> None:
    """limits: those of `prudent.web.Limits`; options: those of `prudent.web.Serving`."""
    try:
        web = import_module("prudent.web")
    except ModuleNotFoundError as problem:
        if (problem.name or "").partition(".")[0] == "prudent":
            raise
        raise InputProblem(
            f"Serving needs the package '{problem.name}', which is not installed: pip install 'prudent[web]'"
        ) from problem
    web.serve(web.Serving(limits=web.Limits(**limits), **options))
