"""The expectation of a whole record given its observed cells, under one joint normal distribution of all columns."""

from typing import NamedTuple

import numpy as np

BLOCK_CELLS = 8_000_000
RIDGE = 1e-3  # of a column's variance: one-hot columns of one attribute are linearly dependent


class JointNormal(NamedTuple):
    """Mean and covariance of the columns of a table."""

    mean: np.ndarray
    covariance: np.ndarray

    @classmethod
    def fit(cls, table: np.ndarray, rounds: int = 50, tolerance: float = 1e-3) -> "JointNormal":
        """Maximum likelihood by EM from a table [row, column] with NaN in the gaps; columns must vary.

        Unbiased whenever gaps depend on nothing but observed cells (missing at random); a regression on a table whose
        gaps are already filled by guesses is not, since it takes the guesses for facts.

        >>> both = np.array([[0.0, 0.0], [1.0, 2.0], [2.0, 4.0], [3.0, np.nan]])
        >>> bool(abs(JointNormal.fit(both, rounds=500, tolerance=0).expected(both)[3, 1] - 6) < 0.1)
        True
        """
        observed = ~np.isnan(table)
        centre, spread = np.nanmean(table, axis=0), np.nanstd(table, axis=0)
        scaled = np.where(observed, (table - centre) / spread, 0.0)
        patterns, back, counts = np.unique(observed, axis=0, return_inverse=True, return_counts=True)
        back = back.reshape(-1)
        normal = cls(np.zeros(table.shape[1]), np.eye(table.shape[1]))
        for _ in range(rounds):
            coefficients = normal._coefficients(patterns)
            filled = normal._filled(scaled, observed, coefficients, back)
            mean = filled.mean(axis=0)
            unknown = np.einsum("p,pij->ij", counts, normal._gap_covariance(coefficients, patterns))
            covariance = ((filled - mean).T @ (filled - mean) + unknown) / len(table) + RIDGE * np.eye(len(mean))
            moved = max(np.abs(mean - normal.mean).max(), np.abs(covariance - normal.covariance).max())
            normal = cls(mean, covariance)
            if moved < tolerance:
                break
        return cls(centre + spread * normal.mean, normal.covariance * spread[:, None] * spread[None, :])

    def expected(self, table: np.ndarray) -> np.ndarray:
        """The table with every gap filled by its expectation given the row's other cells."""
        block = max(1, BLOCK_CELLS // table.shape[1] ** 2)
        return np.concatenate(
            [self._expected(table[start : start + block]) for start in range(0, max(len(table), 1), block)]
        )

    def _expected(self, table: np.ndarray) -> np.ndarray:
        observed = ~np.isnan(table)
        patterns, back = np.unique(observed, axis=0, return_inverse=True)
        return self._filled(np.where(observed, table, 0.0), observed, self._coefficients(patterns), back.reshape(-1))

    def _coefficients(self, patterns: np.ndarray) -> np.ndarray:
        """Regression on the observed cells, for each pattern of gaps: Σ[:, o] Σ[o, o]⁻¹, [pattern, d, d]."""
        both = patterns[:, :, None] & patterns[:, None, :]
        identity = np.eye(len(self.mean))
        # gaps get an identity block, so that all patterns can be inverted together
        inverse = np.linalg.inv(np.where(both, self.covariance[None], identity[None]))
        return self.covariance[None] @ np.where(both, inverse, 0.0)

    def _filled(
        self, values: np.ndarray, observed: np.ndarray, coefficients: np.ndarray, pattern: np.ndarray
    ) -> np.ndarray:
        deviation = np.where(observed, values - self.mean, 0.0)
        return np.where(observed, values, self.mean + np.einsum("nij,nj->ni", coefficients[pattern], deviation))

    def _gap_covariance(self, coefficients: np.ndarray, patterns: np.ndarray) -> np.ndarray:
        """The covariance of the gaps given the rest, [pattern, d, d]."""
        gaps = ~patterns[:, :, None] & ~patterns[:, None, :]
        return np.where(gaps, self.covariance[None] - coefficients @ self.covariance[None], 0.0)
