"""Correlated attributes whose gaps can be filled exactly: Gaussian numbers, shifted by a few categories."""

from dataclasses import dataclass
from itertools import product

import numpy as np

from prudent.worlds.exact_scores import Posterior

LEVELS = (3, 4, 3)
BETWEEN = 0.3
BLOCK = 4096


@dataclass(frozen=True, eq=False)
class Contexts:
    """The distribution of records and of the dose they need, made once from a seed.

    A record is its numeric attributes, then its categories (level numbers). A configuration is one choice of all
    categories; without categories there is one. Within each, the numbers are N(centres[configuration], covariance)
    and the needed dose is numbers · slopes + offsets[configuration].
    """

    covariance: np.ndarray
    slopes: np.ndarray
    levels: np.ndarray
    prior: np.ndarray
    centres: np.ndarray
    offsets: np.ndarray

    @staticmethod
    def make(
        numeric: int, categorical: int, factors: int, common: float, target_sd: float, intercept: float, seed: int
    ) -> "Contexts":
        """A factor model with unit variances; categories move a share of that variance between configurations."""
        random = np.random.default_rng(seed)
        loadings = random.normal(size=(numeric, factors))
        loadings /= np.linalg.norm(loadings, axis=1, keepdims=True)
        within = common * loadings @ loadings.T + (1 - common) * np.eye(numeric)
        slopes = random.normal(size=numeric)
        levels = np.array(list(product(*map(range, LEVELS[:categorical]))), dtype=float)
        prior, centres, offsets = np.ones(len(levels)), np.zeros((len(levels), numeric)), np.zeros(len(levels))
        for position, count in enumerate(LEVELS[:categorical]):
            share = random.dirichlet(np.full(count, 8.0))
            shift = random.normal(size=(count, numeric + 1))
            shift -= share @ shift
            chosen = levels[:, position].astype(int)
            prior *= share[chosen]
            centres += shift[chosen, :numeric]
            offsets += shift[chosen, numeric]
        if categorical:
            centres *= np.sqrt(BETWEEN / (prior @ centres**2))
            shrink = np.sqrt(1 - BETWEEN)
            within = shrink * within * shrink
        means = centres @ slopes + offsets
        scale = target_sd / np.sqrt(slopes @ within @ slopes + prior @ (means - prior @ means) ** 2)
        return Contexts(within, scale * slopes, levels, prior, centres, intercept + scale * offsets)

    @property
    def numeric(self) -> int:
        return len(self.slopes)

    def target(self, full: np.ndarray) -> np.ndarray:
        """The dose that each complete record needs."""
        return full[:, : self.numeric] @ self.slopes + self.offsets[self.configuration(full)]

    def configuration(self, full: np.ndarray) -> np.ndarray:
        """The number of each complete record's configuration."""
        sizes = LEVELS[: self.levels.shape[1]]
        number = np.zeros(len(full), dtype=int)
        for position, size in enumerate(sizes):
            number = number * size + full[:, self.numeric + position].astype(int)
        return number

    def draw(self, rows: int, random: np.random.Generator) -> np.ndarray:
        """Complete records [row, attribute]."""
        chosen = random.choice(len(self.prior), size=rows, p=self.prior)
        noise = random.normal(size=(rows, self.numeric)) @ np.linalg.cholesky(self.covariance).T
        return np.concatenate([self.centres[chosen] + noise, self.levels[chosen]], axis=1)

    def log_density(self, full: np.ndarray) -> np.ndarray:
        """ln p(x) of complete records; up to a constant per row it is also ln p(x | observed cells)."""
        chosen = self.configuration(full)
        deviation = full[:, : self.numeric] - self.centres[chosen]
        squared = np.sum(deviation * np.linalg.solve(self.covariance, deviation.T).T, axis=1)
        constant = np.linalg.slogdet(2 * np.pi * self.covariance)[1]
        return np.log(self.prior[chosen]) - 0.5 * (squared + constant)

    def posterior(self, values: np.ndarray, observed: np.ndarray) -> Posterior:
        """The needed dose given the observed cells of each row."""
        blocks = [
            self._posterior_block(values[start : start + BLOCK], observed[start : start + BLOCK])
            for start in range(0, max(len(values), 1), BLOCK)
        ]
        weights, means, sd, gaps = (np.concatenate(arrays) for arrays in zip(*blocks, strict=True))
        return Posterior(weights, means, sd, gaps)

    def _posterior_block(self, values: np.ndarray, observed: np.ndarray) -> tuple[np.ndarray, ...]:
        seen = observed[:, : self.numeric]
        numbers = np.where(seen, values[:, : self.numeric], 0.0)
        patterns, row = _patterns(seen)
        precision = self._precision(patterns)
        missing_slopes = np.where(patterns, 0.0, self.slopes)
        through = missing_slopes @ self.covariance
        regression = np.einsum("pij,pj->pi", precision, through)
        # Only the variance of the missing cells enters, so a complete row has a spread of exactly zero.
        variance = np.sum(missing_slopes * through, axis=1) - np.sum(through * regression, axis=1)
        sd = np.where(patterns.all(axis=1), 0.0, np.sqrt(np.maximum(variance, 0.0)))
        centres = (missing_slopes - np.where(patterns, regression, 0.0)) @ self.centres.T + self.offsets
        means = np.sum(numbers * (self.slopes + regression[row]), axis=1)[:, None] + centres[row]
        log_weights = self._log_weights(values, observed, numbers, precision, row)
        weights = np.exp(log_weights - log_weights.max(axis=1, keepdims=True))
        return weights / weights.sum(axis=1, keepdims=True), means, sd[row], (~seen).sum(axis=1)

    def _log_weights(
        self, values: np.ndarray, observed: np.ndarray, numbers: np.ndarray, precision: np.ndarray, row: np.ndarray
    ) -> np.ndarray:
        """ln p(configuration | observed cells) up to a constant per row."""
        if len(self.prior) == 1:
            return np.zeros((len(values), 1))
        pull = precision @ self.centres.T
        norm = np.einsum("si,pis->ps", self.centres, pull)
        likelihood = np.einsum("ni,nis->ns", numbers, pull[row]) - 0.5 * norm[row]
        categories, known = values[:, None, self.numeric :], observed[:, None, self.numeric :]
        possible = np.all(~known | (categories == self.levels), axis=2)
        return np.where(possible, np.log(self.prior) + likelihood, -np.inf)

    def _precision(self, patterns: np.ndarray) -> np.ndarray:
        """The inverse covariance of the observed numbers, zero in the rows and columns of the missing ones."""
        both = patterns[:, :, None] & patterns[:, None, :]
        padded = np.where(both, self.covariance, np.eye(self.numeric))
        return np.where(both, np.linalg.inv(padded), 0.0)

    def completions(
        self, values: np.ndarray, observed: np.ndarray, count: int, random: np.random.Generator
    ) -> np.ndarray:
        """Exact draws of the complete record, [row, draw, attribute], observed cells held fixed."""
        weights = self.posterior(values, observed).weights
        ends = np.cumsum(weights, axis=1)[:, None, :]
        uniform = random.random((len(values), count, 1)) * ends[:, :, -1:]
        chosen = np.minimum(np.sum(uniform >= ends, axis=2), len(self.prior) - 1)
        noise = random.normal(size=(len(values), count, self.numeric)) @ np.linalg.cholesky(self.covariance).T
        return self._complete(values, observed, chosen, self.centres[chosen] + noise)

    def mode(self, values: np.ndarray, observed: np.ndarray) -> np.ndarray:
        """The most likely complete record, [row, attribute]."""
        chosen = np.argmax(self.posterior(values, observed).weights, axis=1)[:, None]
        return self._complete(values, observed, chosen, self.centres[chosen])[:, 0]

    def _complete(
        self, values: np.ndarray, observed: np.ndarray, chosen: np.ndarray, prior_draw: np.ndarray
    ) -> np.ndarray:
        """Condition unconditional draws on the observed cells (Matheron's rule): exact for a Gaussian."""
        seen = observed[:, : self.numeric]
        patterns, row = _patterns(seen)
        gain = self._precision(patterns) @ self.covariance
        residual = np.where(seen[:, None, :], values[:, None, : self.numeric] - prior_draw, 0.0)
        numbers = prior_draw + np.einsum("nci,nij->ncj", residual, gain[row])
        full = np.concatenate([numbers, self.levels[chosen]], axis=2)
        return np.where(observed[:, None, :], values[:, None, :], full)


def _patterns(seen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The distinct patterns of gaps, and the number of each row's pattern."""
    patterns, row = np.unique(seen, axis=0, return_inverse=True)
    return patterns, row.reshape(-1)
