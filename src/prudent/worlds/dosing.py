"""A dosing clinic whose records have gaps and whose best advice is known exactly."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from prudent.errors import InputProblem, Rule, check, number, one_of, require, whole
from prudent.models import Fitted
from prudent.promise import KnownTruth
from prudent.worlds.contexts import LEVELS, Contexts
from prudent.worlds.display import DisplayColumn, display_columns
from prudent.worlds.doses import dose_numbers, draw_doses
from prudent.worlds.exact_measuring import exact_value_of_measuring
from prudent.worlds.exact_model import exact_model
from prudent.worlds.exact_scores import Posterior, exact_scores
from prudent.worlds.gap_probabilities import gap_probabilities
from prudent.worlds.losses import NAMED, Loss

SCORE_CELLS = 1 << 20

_POSITIVE = number(0, ends="(]")
_RULES: dict[str, Rule] = {
    "attributes": whole(1),
    "doses": whole(2),
    "loss": Rule(f"be {', '.join(map(repr, NAMED))} or a Loss", lambda loss: isinstance(loss, Loss) or loss in NAMED),
    "categorical": whole(),
    "gaps": number(0, 1, "[)"),
    "mechanism": one_of("mcar", "mar"),
    "target_sd": _POSITIVE,
    "intercept": number(),
    "reach": _POSITIVE,
    "noise": number(0),
    "temperature": _POSITIVE,
    "uniform": number(0, 1, "(]"),
    "factors": whole(1),
    "common": number(0, 1, "[)"),
    "seed": whole(),
}
_SAMPLE_RULES: dict[str, Rule] = {"rows": whole(1), "seed": whole()}
_RECORD_RULES: dict[str, Rule] = {"seed": whole()}


@dataclass(frozen=True)
class DosingWorld:
    """Choose one of `doses` for a patient who needs an unknown one, from a record with gaps.

    Attributes are correlated, each of mean 0 and variance 1 (a factor model made from `seed`: `factors` of them carry
    the share `common` of the variance). The needed dose is linear in them, around `intercept` with sd `target_sd`, and
    the doses cover intercept ± `reach` · target_sd. θ(x, dose) = −loss(dose − needed dose); a logged reward adds noise
    of sd `noise`. `loss` is "quadratic" (an overdose costs three times as much), "absolute", "cliff" (5 more for an
    overdose of more than 1) or a `Loss`. The last `categorical` attributes are categories that shift the numbers and
    the needed dose, so that the posterior is a finite mixture of Gaussians. `gaps` is the share of cells that is
    missing, `mechanism` "mcar" or "mar". The clinician who wrote the log saw the observed cells only: softmax of
    −(dose − E[needed | observed])² / `temperature`, mixed with a `uniform` share over all doses.

    >>> world = DosingWorld(attributes=4, doses=5)
    >>> sample = world.sample(200, seed=1)
    >>> best = world.act("expected", sample)
    >>> round(world.share_of_the_way(best, sample), 6)
    1.0
    """

    attributes: int = 8
    doses: int = 9
    loss: str | Loss = "cliff"
    categorical: int = 0
    gaps: float = 0.4
    mechanism: str = "mcar"
    target_sd: float = 1.75
    intercept: float = 0.0
    reach: float = 2.0
    noise: float = 0.5
    temperature: float = 1.0
    uniform: float = 0.2
    factors: int = 3
    common: float = 0.7
    seed: int = 0

    def __post_init__(self) -> None:
        check("DosingWorld", _RULES, vars(self))
        most = min(len(LEVELS), self.attributes - 1)
        require(self.categorical <= most, "DosingWorld", "categorical", f"be in 0..{most}", self.categorical)
        # raises where so many gaps are impossible
        _ = gap_probabilities(self.contexts, self.gaps, self.mechanism, np.zeros((1, self.attributes)))

    @cached_property
    def loss_function(self) -> Loss:
        """The loss, also where `loss` is a name."""
        return self.loss if isinstance(self.loss, Loss) else Loss.named(self.loss)

    @cached_property
    def contexts(self) -> Contexts:
        """The distribution of records and of the dose they need."""
        numeric = self.attributes - self.categorical
        return Contexts.make(
            numeric, self.categorical, self.factors, self.common, self.target_sd, self.intercept, self.seed
        )

    @cached_property
    def columns(self) -> tuple[DisplayColumn, ...]:
        """How each attribute is shown in a frame: its name, and its units or labels."""
        return display_columns(self.attributes - self.categorical, self.categorical)

    @property
    def kinds(self) -> dict[str, str]:
        """The kind of each attribute's column, as `Log.from_frame(kinds=…)` takes it."""
        return {column.name: "categorical" if column.labels else "real" for column in self.columns}

    @cached_property
    def levels(self) -> np.ndarray:
        """The doses on the scale of the needed dose: equally spaced over intercept ± reach · target_sd."""
        half = self.reach * self.target_sd
        return self.intercept + np.linspace(-half, half, self.doses)

    @property
    def dose_labels(self) -> tuple[int, ...]:
        """The doses as a frame shows them, in mg: 0, 5, 10, …"""
        return tuple(range(0, 5 * self.doses, 5))

    def index(self, labels: Iterable[object]) -> np.ndarray:
        """The dose numbers 0, 1, … of dose labels, as they come back in advice."""
        return dose_numbers(labels, self.dose_labels)

    def sample(self, rows: int, seed: int = 0) -> "DosingSample":
        """Fresh patients, their gaps, what the clinician gave and how it turned out."""
        check("DosingWorld.sample", _SAMPLE_RULES, {"rows": rows, "seed": seed})
        random = np.random.default_rng([seed, self.seed])
        full = self.contexts.draw(rows, random)
        observed = random.random(full.shape) >= gap_probabilities(self.contexts, self.gaps, self.mechanism, full)
        return self._recorded(full, observed, random)

    def record(self, full: np.ndarray, observed: np.ndarray, seed: int = 0) -> "DosingSample":
        """What the clinician gave and how it turned out when only these cells of complete records were observed.

        For studies of gaps: `observed` [row, attribute] may come from `mcar`, `mar` or `mnar`.
        """
        check("DosingWorld.record", _RECORD_RULES, {"seed": seed})
        full, present = self._cells(full, None)
        require(bool(present.all()), "DosingWorld.record", "full", "have no gaps", full)
        observed = np.asarray(observed)
        fits = observed.shape == full.shape and observed.dtype == bool
        require(fits, "DosingWorld.record", "observed", f"be True or False of shape {full.shape}", observed)
        # another stream: records drawn by `sample` with the same seed must not decide how they are treated
        return self._recorded(full, observed, np.random.default_rng([seed, self.seed, 1]))

    def _recorded(self, full: np.ndarray, observed: np.ndarray, random: np.random.Generator) -> "DosingSample":
        rows, values = len(full), np.where(observed, full, np.nan)
        theta = self.theta(full)
        propensity = self.propensity(values, observed)
        actions = draw_doses(propensity, random)
        rewards = theta[np.arange(rows), actions] + self.noise * random.normal(size=rows)
        return DosingSample(self, full, values, observed, theta, actions, rewards, propensity)

    def target(self, full: np.ndarray) -> np.ndarray:
        """The dose that each complete record needs."""
        return self.contexts.target(np.asarray(full, dtype=float))

    def theta(self, full: np.ndarray) -> np.ndarray:
        """The mean reward of every dose for complete records, [row, dose]."""
        return -self.loss_function.of(self.levels - self.target(full)[:, None])

    def posterior(self, values: np.ndarray, observed: np.ndarray | None = None) -> Posterior:
        """The exact posterior of the needed dose; gaps are NaN in `values`, or False in `observed`."""
        return self.contexts.posterior(*self._cells(values, observed))

    def completions(
        self, values: np.ndarray, observed: np.ndarray | None = None, *, count: int, seed: int = 0
    ) -> np.ndarray:
        """Exact draws of the complete records, [row, draw, attribute]; observed cells are held fixed."""
        return self.contexts.completions(*self._cells(values, observed), count, np.random.default_rng(seed))

    def mode(self, values: np.ndarray, observed: np.ndarray | None = None) -> np.ndarray:
        """The most likely complete records, [row, attribute]."""
        return self.contexts.mode(*self._cells(values, observed))

    def log_density(self, full: np.ndarray) -> np.ndarray:
        """ln p(x) of complete records; up to a constant per row it is also ln p(x | observed cells)."""
        return self.contexts.log_density(full)

    def propensity(self, values: np.ndarray, observed: np.ndarray | None = None) -> np.ndarray:
        """The clinician's probability of every dose, [row, dose]."""
        distance = self.levels - self.posterior(values, observed).mean[:, None]
        pull = -(distance**2) / self.temperature
        weight = np.exp(pull - pull.max(axis=1, keepdims=True))
        return (1 - self.uniform) * weight / weight.sum(axis=1, keepdims=True) + self.uniform / self.doses

    def exact_model(self) -> Fitted:
        """This world as a fitted model that knows everything: for trying strategies without fitting."""
        return exact_model(
            self,
            self.contexts,
            self.columns,
            doses=self.levels,
            labels=self.dose_labels,
            loss=self.loss_function,
            noise=self.noise,
        )

    def expected(self, values: np.ndarray, observed: np.ndarray | None = None) -> np.ndarray:
        """E[θ(x, dose) | observed cells], [row, dose], in closed form."""
        return self.scores("expected", values, observed)

    def scores(
        self,
        strategy: str,
        rows: "DosingSample | np.ndarray",
        observed: np.ndarray | None = None,
        *,
        c: float | None = None,
        risk: float | None = None,
        measure: str = "cvar",
    ) -> np.ndarray:
        """The exact score of every dose, [row, dose]; the strategy's action is the argmax.

        - "imputation": θ of the most likely completion (eq 5).
        - "expected": E[θ | observed cells] (eq 6).
        - "conservative": the lowest θ over the plausible set (eq 7), from `c`, or of mass 1 − `risk`.
        - "tail": the mean of θ over its worst `risk` share (default: 0.2; this is the CVaR), or with measure="quantile"
          the quantile.
        - "most often best": the probability that the dose is the best one.

        All are closed forms, except for the threshold behind `risk`, by bisection to about 1e-11.
        """
        posterior = self.contexts.posterior(*self._cells(rows, observed))
        block = max(1, SCORE_CELLS // (self.doses * posterior.weights.shape[1]))
        return np.concatenate(
            [
                exact_scores(strategy, some, self.levels, self.loss_function, c=c, risk=risk, measure=measure)
                for some in posterior.blocks(block)
            ]
        )

    def act(
        self, strategy: str, rows: "DosingSample | np.ndarray", observed: np.ndarray | None = None, **settings: Any
    ) -> np.ndarray:
        """The exact action of a strategy, per row: the argmax of its `scores`."""
        return np.argmax(self.scores(strategy, rows, observed, **settings), axis=1)

    def value_of_measuring(
        self,
        rows: "DosingSample | np.ndarray",
        observed: np.ndarray | None = None,
        *,
        strategy: str = "expected",
        **settings: Any,
    ) -> np.ndarray:
        """What filling each gap before deciding adds to the best dose's score, [row, attribute]; NaN where present.

        The score is a strategy's, as in `scores`: "conservative" gives the gain in the worst plausible case.
        """

        def scores(values: np.ndarray, observed: np.ndarray) -> np.ndarray:
            return self.scores(strategy, values, observed, **settings)

        return exact_value_of_measuring(self.contexts, scores, *self._cells(rows, observed))

    def value(self, actions: np.ndarray, sample: "DosingSample") -> float:
        """The mean of θ(x, action) over the true, complete records."""
        chosen = self._checked(actions, sample)[:, None]
        return float(np.mean(np.take_along_axis(sample.theta, chosen, axis=1)))

    def catastrophes(self, actions: np.ndarray, sample: "DosingSample") -> float:
        """The share of rows overdosed by more than the loss's margin (1 in the cliff world)."""
        given = self.levels[self._checked(actions, sample)]
        return float(np.mean(given - self.target(sample.full) > self.loss_function.margin))

    def best_constant(self, sample: "DosingSample") -> int:
        """The single dose that would have been best for all these rows together."""
        return int(np.argmax(sample.theta.mean(axis=0)))

    def share_of_the_way(self, actions: np.ndarray, sample: "DosingSample") -> float:
        """How far the actions get from the best constant dose (0) to the Bayes policy (1), on these rows."""
        constant = float(sample.theta.mean(axis=0).max())
        bayes = self.value(self.act("expected", sample), sample)
        if bayes == constant:
            raise InputProblem("On these rows one dose is as good as the Bayes policy. Draw a larger sample.")
        return (self.value(actions, sample) - constant) / (bayes - constant)

    def _checked(self, actions: np.ndarray, sample: "DosingSample") -> np.ndarray:
        actions = np.asarray(actions, dtype=int)
        valid = actions.shape == (len(sample),) and bool(np.all((actions >= 0) & (actions < self.doses)))
        must = f"be {len(sample)} dose numbers in 0..{self.doses - 1}"
        require(valid, "DosingWorld", "actions", must, actions)
        return actions

    def _cells(self, rows: "DosingSample | np.ndarray", observed: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        """The values of the rows, and which of them are observed."""
        if isinstance(rows, DosingSample):
            rows, observed = rows.values, rows.observed
        values = np.asarray(rows, dtype=float)
        fits = values.ndim == 2 and values.shape[1] == self.attributes
        require(fits, "DosingWorld", "values", f"have shape [rows, {self.attributes}]", values.shape)
        present = ~np.isnan(values)
        present = present if observed is None else present & np.asarray(observed, dtype=bool)
        for column, size in enumerate(LEVELS[: self.categorical], start=self.attributes - self.categorical):
            cells = values[present[:, column], column]
            known = bool(np.isin(cells, np.arange(size)).all())
            require(known, "DosingWorld", "values", f"hold 0..{size - 1} or NaN in column {column}", cells)
        return values, present


@dataclass(frozen=True, eq=False)
class DosingSample:
    """Rows of a dosing world, with the truth that nobody in the clinic could see.

    full [row, attribute] is the truth and values the record, NaN in the gaps, both on the world's standard scale;
    observed marks the cells that are present; theta [row, dose] the true mean rewards; actions the dose numbers of
    the log, rewards how they turned out, propensity [row, dose] the clinician's true probabilities.
    """

    world: DosingWorld
    full: np.ndarray
    values: np.ndarray
    observed: np.ndarray
    theta: np.ndarray
    actions: np.ndarray
    rewards: np.ndarray
    propensity: np.ndarray

    def __len__(self) -> int:
        return len(self.full)

    def cases(self) -> pl.DataFrame:
        """The records as a polars frame in readable units, gaps empty."""
        columns = enumerate(self.world.columns)
        return pl.DataFrame({c.name: c.cells(self.values[:, j], self.observed[:, j]) for j, c in columns})

    def known_truth(self, fitted: Fitted) -> KnownTruth:
        """The cases with their true mean rewards, doses in the order of the model's labels."""
        return KnownTruth(self.cases(), fitted.sign * self.theta[:, self.world.index(fitted.action_labels)])

    def frame(self) -> pl.DataFrame:
        """The log as a polars frame: the records, then `dose` (mg) and `outcome`."""
        dose = np.array(self.world.dose_labels)[self.actions]
        return self.cases().with_columns(pl.Series("dose", dose), pl.Series("outcome", np.round(self.rewards, 4)))
