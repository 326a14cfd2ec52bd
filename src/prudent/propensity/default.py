"""Which propensity is used where none is named, and the names under which they are stored."""

from collections.abc import Callable
from typing import Any

from prudent.errors import require
from prudent.propensity.learners import BestGuess, Boosted, ImputedLogistic, Known, Propensity, Stacked
from prudent.table import Log

PROPENSITIES: dict[str, Callable[..., Any]] = {
    "imputed_logistic": ImputedLogistic,
    "best_guess": BestGuess,
    "boosted": Boosted,
    "stacked": Stacked,
    "known": Known,
}


def propensity_or_default(propensity: Propensity | None, log: Log, owner: str) -> Propensity:
    """The propensity that was asked for; by default the logged one where the log has it, else `Stacked()`."""
    if propensity is None:
        return Stacked() if log.propensities is None else Known()
    known = isinstance(propensity, Propensity)
    require(known, owner, "propensity", "be a propensity, e.g. Known(), Boosted() or ImputedLogistic()", propensity)
    return propensity
