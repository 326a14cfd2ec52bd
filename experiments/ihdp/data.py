"""The records of the Infant Health and Development Program, and outcomes made for them (Hill 2011, response surface B).

`covariates.csv` is `econml/data/ihdp/sim.csv` of EconML (MIT licence, https://github.com/py-why/EconML) without the
treated children of mothers who are not white, as Hill made it: 747 rows, 139 of them treated.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

import numpy as np

from experiments.rivals.effects import Study
from prudent.worlds import mar, mcar

TABLE = Path(__file__).parent / "covariates.csv"
NUMBERS = 6  # the first columns are numbers, the others have two levels
FIRST = "first"  # coded 1 and 2 in the benchmark
EFFECT = 4.0

Gaps = Literal["shared", "fresh", "mar"]
"""One mask for all replications, as in MissDeepCausal; a fresh one for each; one that depends on what is seen."""
GAPS: tuple[Gaps, ...] = get_args(Gaps)


def covariates() -> tuple[np.ndarray, np.ndarray]:
    """The complete records [747, 25], numbers standardised, and who was treated."""
    with TABLE.open() as file:
        names = file.readline().strip().split(",")
        table = np.loadtxt(file, delimiter=",")
    treated, values = table[:, 0] == 1, table[:, 1:]
    values[:, names.index(FIRST) - 1] += 1
    numbers = values[:, :NUMBERS]
    values[:, :NUMBERS] = (numbers - numbers.mean(axis=0)) / numbers.std(axis=0, ddof=1)
    return values, treated


@dataclass(frozen=True, eq=False)
class Outcomes:
    """Expected and realised outcomes of both arms, [replication, row, arm]."""

    expected: np.ndarray
    realised: np.ndarray

    @property
    def realised_effect(self) -> np.ndarray:
        """The mean of R(1) − R(0) over the rows, which the paper measures against; [replication]."""
        return (self.realised[..., 1] - self.realised[..., 0]).mean(axis=1)

    def seen(self, treated: np.ndarray) -> np.ndarray:
        return np.where(treated, self.realised[..., 1], self.realised[..., 0])


def surface_b(values: np.ndarray, replications: int, seed: int) -> Outcomes:
    """μ0 = exp((X + ½)β), μ1 = Xβ − ω with ω such that the effect is 4 over all rows; noise N(0, 1).

    The setting called A in the NPCI code, whose intercept has no offset. Replication r is the same however many there
    are.
    """
    expected, realised = np.empty((2, replications, len(values), 2))
    for replication in range(replications):
        random = np.random.default_rng([seed, replication])
        intercept = random.choice(np.arange(-4, 5) / 4)
        slopes = random.choice(np.arange(5) / 10, values.shape[1], p=[0.6, 0.1, 0.1, 0.1, 0.1])
        control, treated = np.exp(intercept + (values + 0.5) @ slopes), intercept + values @ slopes
        treated += EFFECT - (treated - control).mean()
        expected[replication] = np.stack([control, treated], axis=1)
        realised[replication] = expected[replication] + random.normal(size=(len(values), 2))
    return Outcomes(expected, realised)


def with_gaps(values: np.ndarray, gaps: Gaps, share: float, replications: int, seed: int) -> np.ndarray:
    """Tables [1 or replications, row, attribute] with NaN where a cell is gone."""

    def mask(mask_seed: int) -> np.ndarray:
        return mar(values, share, mask_seed) if gaps == "mar" else mcar(values.shape, share, mask_seed)

    first = 1_000_003 * seed  # so that no two seeds share a mask
    masks = [mask(first + table) for table in range(1 if gaps == "shared" else replications)]
    return np.where(np.stack(masks), values[None], np.nan)


def study(gaps: Gaps, share: float, replications: int, seed: int) -> tuple[Study, Outcomes]:
    """What a method is shown, and the truth it is not shown."""
    values, treated = covariates()
    outcomes = surface_b(values, replications, seed)
    tables = with_gaps(values, gaps, share, replications, seed)
    binary = np.arange(values.shape[1]) >= NUMBERS
    return Study(tables, binary, treated, outcomes.seen(treated)), outcomes
