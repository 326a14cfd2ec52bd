"""Reading a log of later decisions, whose groups and censored outcomes may stand in other columns, or nowhere."""

from dataclasses import replace

import polars as pl

from prudent.errors import InputProblem
from prudent.models import Fitted

WHAT = {
    "group": "that says which rows belong together, as the model's log had; every row counts as independent",
    "censored": "that says which outcomes are censored, as the model's log had; none counts as censored",
}


def reading_as(
    fitted: Fitted, frame: pl.DataFrame, group: str | None = None, censored: str | None = None
) -> tuple[Fitted, list[str]]:
    """The model with the columns that this log has for these roles, and notes on those it lacks."""
    roles, notes = fitted.roles, []
    for role, named in (("group", group), ("censored", censored)):
        usual = getattr(roles, role)
        if named is not None and named in fitted.schema.names:
            raise InputProblem(f"Column '{named}' is one the model decides by, so it cannot be --{role} as well.")
        if named is None and usual is not None and usual not in frame.columns:
            notes.append(f"The log has no column '{usual}' {WHAT[role]}. Name another with --{role}.")
            roles = replace(roles, **{role: None})
        elif named is not None:
            roles = replace(roles, **{role: named})
    return replace(fitted, roles=roles), notes
