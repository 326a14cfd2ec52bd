"""Our methods on many replications at once: the package's networks and loss, one network for each replication."""

from dataclasses import dataclass

import numpy as np
import polars as pl

from prudent.baselines.study import Answer, Progress, Study
from prudent.evaluation.gaussian_prices import GaussianPrices, surfaces
from prudent.log import Log


@dataclass(frozen=True, eq=False)
class Encoded:
    """The tables of a study as the networks see them, under the schema of the first: [table, row, attribute]."""

    log: Log
    values: np.ndarray
    observed: np.ndarray

    @classmethod
    def of(cls, study: Study) -> "Encoded":
        frames = [_frame(table, study) for table in study.values]
        kinds = {name: "boolean" if two else "real" for name, two in zip(_names(study), study.binary, strict=True)}
        outcome = {"treated": study.treated.astype(int), "outcome": study.outcomes[0]}
        log = Log.from_frame(frames[0].with_columns(**outcome), action="treated", reward="outcome", kinds=kinds)
        encoded = [log.schema.encode(frame) for frame in frames]
        return cls(log, np.stack([own.values for own in encoded]), np.stack([own.observed for own in encoded]))


def _names(study: Study) -> list[str]:
    return [f"x{attribute}" for attribute in range(study.attributes)]


def _frame(table: np.ndarray, study: Study) -> pl.DataFrame:
    return pl.DataFrame(dict(zip(_names(study), table.T, strict=True))).fill_nan(None)


@dataclass(frozen=True)
class GaussianProcess:
    """`prudent.evaluation.GaussianPrices`: the expected effect given all outcomes, and made doubly robust."""

    prices: GaussianPrices = GaussianPrices()

    def estimate(self, study: Study, seed: int = 0, progress: Progress | bool | None = None) -> dict[str, Answer]:
        encoded, codes = Encoded.of(study), study.treated.astype(int)
        known = self.prices.known(encoded.log.schema, encoded.values, encoded.observed, codes, 2, seed, progress)
        found = surfaces(known, codes, study.outcomes, 2)
        informed, left_out = (np.asarray(part, np.float64) for part in (found.expected, found.left_out))
        return {"": Answer.of_prices(informed), "left out": Answer.of_prices(left_out)}
