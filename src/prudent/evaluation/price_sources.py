"""Where the prices of an evaluation may come from: models, learners, or an array of the user's."""

from typing import Any, TypeAlias

import numpy as np

from prudent.decide import FittedModel
from prudent.errors import require
from prudent.evaluation.cross_fitting import CrossFitted
from prudent.evaluation.gaussian_prices import GaussianPrices
from prudent.evaluation.prices import LearntPrices, Prices, cross_fitted_prices, model_prices
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
    if isinstance(source, CrossFitted):
        require_same_actions(source.models[0], log)
        return cross_fitted_prices(source, log, below), []
    if isinstance(source, FittedModel):
        require_same_actions(source, log)
        warnings = require_unseen([source], log, "its prices are too optimistic there.")
        return model_prices(source, log, below), warnings
    array, shape = _as_array(source), (len(used), len(log.action_labels))
    valid = array is not None and array.shape == shape and bool(np.isfinite(array).all())
    must = f"be a model, LearntPrices(), GaussianPrices() or finite numbers of shape {shape}"
    require(valid, owner, "prices", must, type(source).__name__ if array is None else array.shape)
    assert array is not None
    return Prices(log.sign * array[used], None, "given"), []


def _as_array(prices: Any) -> np.ndarray | None:
    try:
        return np.asarray(prices, np.float64)
    except (TypeError, ValueError):
        return None
