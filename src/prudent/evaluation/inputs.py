"""What an evaluation takes as given before it asks its question: propensities and prices, on rows no model has seen."""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from prudent.decide import FittedModel
from prudent.errors import InputProblem, require
from prudent.evaluation.cross_fitting import CrossFitted, rows_seen
from prudent.evaluation.gaussian_prices import GaussianPrices
from prudent.evaluation.prices import LearntPrices, Prices, cross_fitted_prices, own_prices
from prudent.models import align_log, require_same_actions
from prudent.table import Log

SEEN_TO_REFUSE, SEEN_TO_WARN = 0.5, 0.01
DISTINCT_ROWS = 20

PriceSource: TypeAlias = LearntPrices | GaussianPrices | FittedModel | CrossFitted | Prices | np.ndarray


def left_out(all_rows: int, used: int) -> list[str]:
    """The note on rows that cannot take part."""
    if used == all_rows:
        return []
    return [f"{all_rows - used} of {all_rows} rows have no action or no reward, and are left out."]


def share_seen(model: FittedModel, log: Log) -> float:
    """The share of the log's rows that the model was fitted on, told by rows that are one of a kind.

    Where records are few whole numbers, different people look alike; a row that occurs twice on either side says
    nothing, and where hardly any row is one of a kind nothing can be told.
    """
    if not len(model.fingerprints):
        return 0.0
    own = align_log(log, model)
    own = own.take(own.rewarded)  # another model may not know all of the log's actions
    _, back, counts = np.unique(own.fingerprints(), return_inverse=True, return_counts=True)
    prints, times = np.unique(model.fingerprints, return_counts=True)
    repeated = np.isin(own.fingerprints(), prints[times > 1])
    distinct = (counts[back] == 1) & ~repeated
    if distinct.sum() < min(DISTINCT_ROWS, len(log)):
        return 0.0
    return float(rows_seen(model, own)[distinct].mean())


def seen_notes(seen: Sequence[float], rows: int, consequence: str) -> list[str]:
    """Refuse rows that a model was fitted on; where only some are, a note with what follows from it."""
    most = max(seen, default=0.0)
    if most > SEEN_TO_REFUSE:
        raise InputProblem(
            f"The model was fitted on these very rows ({most:.0%} of the {rows}), so they would only confirm what it "
            "learnt from them. Evaluate on decisions that were held out of the fit (Log.split, or --hold-out when "
            "fitting), or, in Python, fit without each part of the log in turn (cross_fit)."
        )
    if most > SEEN_TO_WARN:
        return [f"About {most:.0%} of the rows look exactly like rows that the model was fitted on; {consequence}"]
    return []


def prices_of(
    prices: PriceSource, log: Log, used: np.ndarray, below: float | None, seed: int, owner: str
) -> tuple[Prices, list[str]]:
    """Prices of the rows of `log`, and notes. An array has a row for each of `used`, which says those in `log`."""
    if isinstance(prices, Prices):
        return prices.take(used), []
    if isinstance(prices, LearntPrices | GaussianPrices):
        return prices.fit(log, below, seed), []
    if isinstance(prices, CrossFitted):
        require_same_actions(prices.models[0], log)
        return cross_fitted_prices(prices, log, below), []
    if isinstance(prices, FittedModel):
        require_same_actions(prices, log)
        notes = seen_notes([share_seen(prices, log)], len(log), "its prices are flattered there.")
        return own_prices(prices, log, below), notes
    given = _array(prices)
    shape = (len(used), len(log.action_labels))
    must = f"be a model, LearntPrices(), GaussianPrices() or finite numbers of shape {shape}"
    right = given is not None and given.shape == shape and bool(np.isfinite(given).all())
    require(right, owner, "prices", must, type(prices).__name__ if given is None else given.shape)
    assert given is not None
    return Prices(-given[used] if log.minimize else given[used], None, "given"), []


def _array(prices: Any) -> np.ndarray | None:
    try:
        return np.asarray(prices, np.float64)
    except (TypeError, ValueError):
        return None
