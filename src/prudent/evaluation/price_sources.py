"""Where the prices of an evaluation may come from: models, learners, or an array of the user's."""

from typing import Any, TypeAlias

import numpy as np

from prudent.decide import FittedModel
from prudent.errors import require
from prudent.evaluation.cross_fitting import CrossFitted
from prudent.evaluation.decisions import decisions
from prudent.evaluation.gaussian_prices import GaussianPrices
from prudent.evaluation.prices import LearntPrices, Prices
from prudent.evaluation.usable_rows import require_unseen
from prudent.models import require_same_actions
from prudent.table import Log

PriceSource: TypeAlias = LearntPrices | GaussianPrices | FittedModel | CrossFitted | Prices | np.ndarray


def prices_from(
    source: PriceSource, log: Log, used: np.ndarray, below: float | None, seed: int, owner: str
) -> tuple[Prices, list[str]]:
    """Prices of the rows of `log`, and warnings.

    used: which rows of the log that the user gave are in `log`; arrays and `Prices` cover all rows that were given.
    below: the threshold of the tail, in the internal sign.
    """
    if isinstance(source, Prices):
        return source.take(used), []
    if isinstance(source, LearntPrices | GaussianPrices):
        return source.fit(log, below, seed), []
    if isinstance(source, FittedModel | CrossFitted):
        warnings = check_priced(source, log)
        prices = decisions({}, log, used, source, below)[1]
        assert prices is not None  # asked for
        return prices, warnings
    array, shape = _as_array(source), (len(used), len(log.action_labels))
    valid = array is not None and array.shape == shape and bool(np.isfinite(array).all())
    must = f"be a model, LearntPrices(), GaussianPrices() or finite numbers of shape {shape}"
    require(valid, owner, "prices", must, type(source).__name__ if array is None else array.shape)
    assert array is not None
    return Prices(log.sign * array[used], None, "given"), []


def check_priced(model: FittedModel | CrossFitted, log: Log) -> list[str]:
    """Whether a model can price the rows of a log; returns warnings."""
    if isinstance(model, CrossFitted):
        require_same_actions(model.models[0], log)
        return []
    require_same_actions(model, log)
    return require_unseen([model], log, "its prices are too optimistic there.")


def _as_array(prices: Any) -> np.ndarray | None:
    try:
        return np.asarray(prices, np.float64)
    except (TypeError, ValueError):
        return None
