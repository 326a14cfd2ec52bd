"""Contexts of made-up boluses: one Gaussian per patient, cut to the range of the data."""

from dataclasses import dataclass

import numpy as np

from prudent.errors import InputProblem

PATIENCE = 10_000
"""Draws per wanted row after which a patient is given up, since almost none fall into the range."""
SMALLEST, LARGEST = 1 << 10, 1 << 16
"""Draws made at once."""


@dataclass(frozen=True, eq=False)
class UnitGaussian:
    """A Gaussian on contexts scaled to [0, 1]; contexts without spread stay exactly where they are."""

    name: str
    mean: np.ndarray
    covariance: np.ndarray

    @staticmethod
    def of(name: str, contexts: np.ndarray) -> "UnitGaussian":
        """The maximum likelihood fit; one row gives a point."""
        # the mean of equal numbers need not be that number, and beside 0 or 1 a rounding error is outside
        constant = np.ptp(contexts, axis=0) == 0
        mean = np.where(constant, contexts[0], contexts.mean(axis=0))
        deviation = contexts - mean
        return UnitGaussian(name, mean, deviation.T @ deviation / len(contexts))

    def draw(self, count: int, random: np.random.Generator) -> np.ndarray:
        """Draws [count, context] inside [0, 1] in every context; those outside are thrown away, none is clipped.

        Clipping would pile rows up on the faces of the cube. Where almost all draws fall outside there is no honest
        way to go on, and the patient has to be left out.
        """
        spread = np.diag(self.covariance) > 0
        if not spread.any():
            return np.tile(self.mean, (count, 1))
        covariance = self.covariance[np.ix_(spread, spread)]
        accepted, tried, kept = [np.empty((0, len(self.mean)))], 0, 0
        while kept < count:
            if tried >= PATIENCE * count:
                raise InputProblem(
                    f"Of {tried} contexts drawn for patient {self.name} only {kept} lay in the range of the data, so "
                    f"that {count} would take too long. Leave the patient out: name the others in 'patients'."
                )
            wanted = (count - kept) * (tried + 1) // (kept + 1)
            batch = np.tile(self.mean, (min(max(wanted, SMALLEST), LARGEST), 1))
            batch[:, spread] = random.multivariate_normal(self.mean[spread], covariance, len(batch), method="eigh")
            inside = batch[np.all((batch >= 0) & (batch <= 1), axis=1)]
            accepted.append(inside)
            tried, kept = tried + len(batch), kept + len(inside)
        return np.concatenate(accepted)[:count]
