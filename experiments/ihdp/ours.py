"""Our best on many replications: Gaussian-process prices on a partial VAE's completions."""

from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from experiments.rivals.effects import CLIP, Answer, Progress, Study, doubly_robust
from prudent.evaluation import GaussianPrices
from prudent.evaluation.gaussian_prices import surfaces
from prudent.propensity import BestGuess
from prudent.table import Log

ARMS = 2


@dataclass(frozen=True, eq=False)
class Encoded:
    """The tables of a study as the networks see them, under the schema of the first: [table, row, attribute]."""

    log: Log
    values: np.ndarray
    observed: np.ndarray

    @classmethod
    def of(cls, study: Study) -> "Encoded":
        frames = [_frame(table) for table in study.values]
        kinds = {name: "boolean" if two else "real" for name, two in zip(frames[0].columns, study.binary, strict=True)}
        first = frames[0].with_columns(treated=study.treated.astype(int), outcome=study.outcomes[0])
        log = Log.from_frame(first, action="treated", reward="outcome", kinds=kinds)
        encoded = [log.schema.encode(frame) for frame in frames]
        return cls(log, np.stack([table.values for table in encoded]), np.stack([table.observed for table in encoded]))

    def tables(self) -> list[Log]:
        """Each table as a log with the first replication's outcomes; only propensities are estimated from it."""
        blank = replace(self.log, source=None, positions=None)
        return [replace(blank, values=v, observed=o) for v, o in zip(self.values, self.observed, strict=True)]


def _frame(table: np.ndarray) -> pl.DataFrame:
    return pl.DataFrame({f"x{attribute}": column for attribute, column in enumerate(table.T)}).fill_nan(None)


def answers(study: Study, encoded: Encoded, seed: int, prices: np.ndarray) -> dict[str, Answer]:
    """By the prices alone, and made doubly robust with our propensity; no price may depend on the outcome of its row.

    Where each replication has its own table, a propensity for each would take longest of all and is left out.
    """
    estimates = {"": Answer.of_prices(prices)}
    if study.shared:
        taken = BestGuess().fit(encoded.tables()[0], seed).taken
        propensity = np.clip(np.where(study.treated, taken, 1 - taken), CLIP, 1 - CLIP)
        estimates["doubly robust"] = doubly_robust(prices, propensity, study.treated, study.outcomes)
    return estimates


@dataclass(frozen=True)
class GaussianProcess:
    """`GaussianPrices`: the effect expected given all outcomes; by prices that leave the row's outcome out; and by
    these made doubly robust."""

    prices: GaussianPrices = GaussianPrices()

    def estimate(self, study: Study, seed: int = 0, progress: Progress | bool | None = None) -> dict[str, Answer]:
        encoded, codes = Encoded.of(study), study.treated.astype(int)
        known = self.prices.known(encoded.log.schema, encoded.values, encoded.observed, codes, ARMS, seed, progress)
        prices = surfaces(known, codes, study.outcomes, ARMS)
        others = answers(study, encoded, seed, prices.left_out)
        return {"": Answer.of_prices(prices.expected), "own outcomes left out": others.pop(""), **others}
