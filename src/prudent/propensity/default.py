"""Which propensities there are, the names they are stored under, and which one is used by default."""

from collections.abc import Callable
from typing import Any

from prudent.errors import check, instance, optional
from prudent.propensity.best_guess import BestGuess
from prudent.propensity.boosted import Boosted
from prudent.propensity.imputed_logistic import ImputedLogistic
from prudent.propensity.known import Known
from prudent.propensity.stacked import Stacked
from prudent.table import Log

Propensity = Known | ImputedLogistic | BestGuess | Boosted | Stacked

PROPENSITIES: dict[str, Callable[..., Any]] = {
    "imputed_logistic": ImputedLogistic,
    "best_guess": BestGuess,
    "boosted": Boosted,
    "stacked": Stacked,
    "known": Known,
}

_RULES = {"propensity": optional(instance(Propensity, "a propensity, e.g. Known(), Boosted() or ImputedLogistic()"))}


def propensity_or_default(propensity: Propensity | None, log: Log, owner: str) -> Propensity:
    """The given propensity; by default `Known()` where the log has probabilities, otherwise `Stacked()`."""
    check(owner, _RULES, {"propensity": propensity})
    if propensity is not None:
        return propensity
    return Stacked() if log.propensities is None else Known()
