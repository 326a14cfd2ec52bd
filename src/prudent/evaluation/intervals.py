"""Confidence intervals: Student's, the bootstrap's, empirical Bernstein's, and a smoothed lower bound.

All take per-row terms (per group, where rows belong together: see `Terms.by_group`) and, where the propensity imputed
gaps, the variance that the imputations add.
"""

import abc
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from prudent.errors import Rule, check, is_number, number, optional, whole
from prudent.evaluation.row_terms import Evidence, Terms, between_imputations, ratios
from prudent.progress import tracked
from prudent.show import plain_types
from prudent.table import group_codes

BLOCK_CELLS = 4_000_000  # resampled rows held at once: memory does not grow with the number of draws
SMOOTHING_STEPS = (1.0, 0.5, 0.25, 0.125)
_CONFIDENCE = {"confidence": number(0, 1, "()")}


@dataclass(frozen=True)
class Estimate:
    """A number with its standard error and an interval; NaN where the log cannot say."""

    value: float
    error: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"

    def negated(self) -> "Estimate":
        """The same for a reward of the other sign."""
        return Estimate(-self.value, self.error, -self.high, -self.low)


def estimate_columns(name: str, estimate: Estimate) -> dict[str, float | None]:
    """An estimate as columns of a table: name, name_error, name_low, name_high."""
    return {name if key == "value" else f"{name}_{key}": number for key, number in plain_types(estimate).items()}


@dataclass(frozen=True)
class Imputed:
    """What multiple imputation adds to an estimate: the variance `between` imputations (Rubin's rule), and how many."""

    between: float = 0.0
    count: int = 0


NOT_IMPUTED = Imputed()


@dataclass(frozen=True, eq=False)
class ImputedTerms:
    """A quantity before it has an interval: its terms, and its value by each imputation of the propensity alone.

    drawn: its value on every resampled log, where that is known already; see `Bootstrap.resampled`.
    """

    terms: Terms
    values: Sequence[float] = ()
    drawn: np.ndarray | None = None

    def __sub__(self, other: "ImputedTerms") -> "ImputedTerms":
        """Paired: the difference on the same rows and imputations, and on the same resampled logs."""
        pairs = zip(self.values, other.values, strict=True)
        drawn = None if self.drawn is None or other.drawn is None else self.drawn - other.drawn
        return ImputedTerms(self.terms - other.terms, [left - right for left, right in pairs], drawn)

    @property
    def imputed(self) -> Imputed:
        return Imputed(between_imputations(self.values), len(self.values))


class Interval(abc.ABC):
    """Turns per-row terms into estimates with intervals. Subclasses are final."""

    @abc.abstractmethod
    def estimates(
        self,
        several: Sequence[Terms],
        imputed: Sequence[Imputed] | None = None,
        confidence: float = 0.95,
        drawn: np.ndarray | None = None,
    ) -> list[Estimate]:
        """One estimate for each, all of the same rows; `drawn`: `Bootstrap.resampled`, where it is known."""

    def with_imputations(self, several: Sequence[ImputedTerms], confidence: float) -> list[Estimate]:
        """The same with the variance that imputations add."""
        known = [one.drawn for one in several if one.drawn is not None]
        drawn = np.stack(known) if several and len(known) == len(several) else None
        return self.estimates([one.terms for one in several], [one.imputed for one in several], confidence, drawn)


class FormulaInterval(Interval):
    """An interval that is a formula of the rows' influence. Subclasses are final."""

    @staticmethod
    @abc.abstractmethod
    def one(terms: Terms, imputed: Imputed, confidence: float) -> Estimate:
        """The estimate of one value."""

    def estimates(
        self,
        several: Sequence[Terms],
        imputed: Sequence[Imputed] | None = None,
        confidence: float = 0.95,
        drawn: np.ndarray | None = None,
    ) -> list[Estimate]:
        known = _imputed(several, imputed, confidence)
        return [self.one(terms, added, confidence) for terms, added in zip(several, known, strict=True)]


@dataclass(frozen=True)
class Student(FormulaInterval):
    """Mean ± t · standard error of the rows' influence; imputations add Rubin's variance and take degrees of freedom.

    >>> print(Student().estimates([Terms.mean(np.array([1.0, 2.0, 3.0, 4.0]))])[0])
    2.500 [0.446, 4.554]
    """

    @staticmethod
    def one(terms: Terms, imputed: Imputed, confidence: float) -> Estimate:
        from scipy.stats import t

        within = _within(terms)
        error = math.sqrt(within + imputed.between)
        freedom = float(len(terms) - 1)
        if imputed.between > 0:
            freedom = min(freedom, (imputed.count - 1) * (1 + within / imputed.between) ** 2)
        half = float(t.ppf((1 + confidence) / 2, max(freedom, 1.0))) * error
        return Estimate(terms.value, error, terms.value - half, terms.value + half)


@dataclass(frozen=True)
class Bootstrap(Interval):
    """Quantiles of the value over resampled logs, with the same resampled logs for every policy and estimator."""

    draws: int = 1000
    seed: int = 0

    def __post_init__(self) -> None:
        check("Bootstrap", {"draws": whole(20), "seed": whole()}, vars(self))

    def estimates(
        self,
        several: Sequence[Terms],
        imputed: Sequence[Imputed] | None = None,
        confidence: float = 0.95,
        drawn: np.ndarray | None = None,
    ) -> list[Estimate]:
        known = _imputed(several, imputed, confidence)
        if not several:
            return []
        drawn = self.resampled(several) if drawn is None else drawn
        noise = np.random.default_rng([self.seed, 1]).standard_normal(self.draws)
        spread = np.sqrt([added.between for added in known])
        return [
            _of_draws(terms.value, values, confidence)
            for terms, values in zip(several, drawn + spread[:, None] * noise[None, :], strict=True)
        ]

    def resampled(self, several: Sequence[Terms]) -> np.ndarray:
        """The value of each on every resampled log, [terms, draw]."""
        numerators = np.concatenate([terms.numerators for terms in several])
        denominators, back = _distinct(np.concatenate([terms.denominators for terms in several]))
        owner = np.repeat(np.arange(len(several)), [len(terms.numerators) for terms in several])
        parts = [
            ratios(counts @ numerators.T, (counts @ denominators.T)[:, back])
            for counts in resampled_rows(numerators.shape[1], self.draws, self.seed)
        ]
        values = np.zeros((len(several), self.draws))
        np.add.at(values, owner, np.concatenate(parts).T)
        return values


@dataclass(frozen=True)
class EmpiricalBernstein(FormulaInterval):
    """Maurer and Pontil's (2009): wide, since it does not assume normality; needs the range of a row's influence.

    The range is that of these rows, so it may be too small if the largest weights or the worst rewards have not
    occurred yet. For self-normalised estimators it is that of the linearised value.
    """

    @staticmethod
    def one(terms: Terms, imputed: Imputed, confidence: float) -> Estimate:
        rows, within = len(terms), _within(terms)
        tail = math.log(4 / (1 - confidence))  # each side may fail (1 − confidence) / 2 of the time
        half = math.sqrt(2 * (within + imputed.between) * tail)
        half += 7 * float(np.ptp(terms.influence)) * tail / (3 * (rows - 1)) if rows > 1 else math.inf
        return Estimate(terms.value, math.sqrt(within + imputed.between), terms.value - half, terms.value + half)


@dataclass(frozen=True)
class LogarithmicSmoothing:
    """A lower bound on a policy's value that, given the range of rewards, holds for any number of rows and any weights.

    Sakhi, Aouali, Alquier and Chopin, 2024 (arXiv 2405.14335): with rewards scaled to [0, 1] by `reward_range` (by
    default that of these rows), E Π(1 + λwᵢrᵢ) = (1 + λV)ⁿ, so V ≥ (exp(mean ln(1 + λwᵢrᵢ) − ln(1/δ)/n) − 1)/λ with
    probability 1 − δ. Of four λ, √(2 ln(4/δ)/n) and its halves, the best is taken, each at δ/4. It needs the true
    propensities; with estimated ones it is as good as they are. A reward below the given range counts as its lower end,
    and then the bound does not hold.

    Where rows belong together, groups are independent, and wᵢrᵢ is a group's total, in units of the mean group size:
    the mean of these is the mean over rows. Given the sizes their expectations Vg differ, and E Π(1 + λxg) =
    Π(1 + λVg) ≤ (1 + λV)ᴳ, since the logarithm is concave; so the bound holds.
    """

    reward_range: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        check("LogarithmicSmoothing", {"reward_range": optional(Rule("be two rising numbers", _is_range))}, vars(self))

    def lower_bound(self, evidence: Evidence, confidence: float = 0.95) -> float:
        """The value is at least this with probability `confidence`."""
        check("lower_bound", _CONFIDENCE, {"confidence": confidence})
        low, high = self.reward_range or (float(evidence.rewards.min()), float(evidence.rewards.max()))
        if not low < high:
            return low
        scaled = np.clip((evidence.rewards - low) / (high - low), 0.0, 1.0)
        weights = evidence.weights
        if evidence.groups is not None:
            codes, count = group_codes(evidence.groups)
            weights, scaled = np.bincount(codes, weights * scaled, count) * count / len(codes), np.ones(count)
        rows, tail = len(weights), math.log(len(SMOOTHING_STEPS) / (1 - confidence))
        steps = math.sqrt(2 * tail / rows) * np.array(SMOOTHING_STEPS)
        smooth = np.array([np.log1p(step * weights * scaled).mean() for step in steps])
        best = float(np.max(np.expm1(smooth - tail / rows) / steps))
        return low + (high - low) * float(np.clip(best, 0.0, 1.0))


def _is_range(value: Any) -> bool:
    return isinstance(value, tuple | list) and len(value) == 2 and all(map(is_number, value)) and value[0] < value[1]


def resampled_rows(rows: int, draws: int, seed: int, groups: np.ndarray | None = None) -> Iterator[np.ndarray]:
    """How often each row is drawn, [draw, row], in blocks that bound memory; all rows of a group are drawn together."""
    if groups is not None:
        codes, count = group_codes(groups)
        for drawn in resampled_rows(count, draws, seed):
            size = max(1, BLOCK_CELLS // rows)
            yield from (drawn[at : at + size, codes] for at in range(0, len(drawn), size))
        return
    random, block = np.random.default_rng(seed), max(1, BLOCK_CELLS // rows)
    for at in tracked(-(-draws // block), "bootstrap"):
        start = at * block
        size = min(block, draws - start)
        index = random.integers(0, rows, size=(size, rows), dtype=np.int64)
        index += rows * np.arange(size)[:, None]
        yield np.bincount(index.ravel(), minlength=size * rows).reshape(size, rows).astype(np.float64)


def _within(terms: Terms) -> float:
    """The variance of the value over logs of this size."""
    return float(np.var(terms.influence, ddof=1)) / len(terms) if len(terms) > 1 else math.nan


def _of_draws(value: float, drawn: np.ndarray, confidence: float) -> Estimate:
    finite = drawn[np.isfinite(drawn)]  # a resampled log may have no row that the policy agrees with
    if len(finite) < 2:
        return Estimate(value, math.nan, math.nan, math.nan)
    low, high = np.quantile(finite, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Estimate(value, float(finite.std(ddof=1)), float(low), float(high))


def _distinct(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The distinct rows of an array, and the index of each row among them: most denominators are ones, and multiplying
    them is expensive."""
    kept: dict[bytes, int] = {}
    back = np.array([kept.setdefault(row.tobytes(), len(kept)) for row in rows])
    first = [int(np.argmax(back == index)) for index in range(len(kept))]
    return rows[first], back


def _imputed(several: Sequence[Terms], imputed: Sequence[Imputed] | None, confidence: float) -> Sequence[Imputed]:
    check("estimates", _CONFIDENCE, {"confidence": confidence})
    return imputed if imputed is not None else [NOT_IMPUTED] * len(several)
