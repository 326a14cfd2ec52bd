"""A dosing clinic whose records have gaps and whose best advice is known exactly."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from prudent.errors import InputProblem, require
from prudent.promise import KnownTruth
from prudent.worlds.columns import WorldColumn, world_columns
from prudent.worlds.contexts import LEVELS, Contexts
from prudent.worlds.exact import Posterior, exact_scores
from prudent.worlds.gaps import gap_probabilities
from prudent.worlds.losses import Loss
from prudent.worlds.measuring import exact_value

if TYPE_CHECKING:
    import polars

    from prudent.models import Fitted

SCORE_CELLS = 1 << 20


@dataclass(frozen=True)
class DosingWorld:
    """Choose one of `doses` for a patient who needs an unknown one, from a record with gaps.

    Attributes are correlated, each of mean 0 and variance 1 (a factor model made from `seed`: `factors` of them carry
    the share `common` of the variance). The needed dose is linear in them, around `intercept` with sd `target_sd`, and
    the doses cover intercept ± `reach` · target_sd. θ(x, dose) = −loss(dose − needed dose); a logged reward adds noise
    of sd `noise`. `loss` is "quadratic" (overdose three times as dear), "absolute", "cliff" (5 more when overdosed by
    over 1) or a `Loss`. The last `categorical` attributes are categories that shift the numbers and the needed dose,
    so that the posterior is a finite mixture of Gaussians. `gaps` is the share of cells that is missing, `mechanism`
    "mcar" or "mar". The clinician who wrote the log saw the observed cells only: softmax of
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
        owner = "DosingWorld"
        most = min(len(LEVELS), self.attributes - 1)
        require(self.attributes >= 1, owner, "attributes", "be 1 or more", self.attributes)
        require(self.doses >= 2, owner, "doses", "be 2 or more", self.doses)
        require(0 <= self.categorical <= most, owner, "categorical", f"be in 0..{most}", self.categorical)
        require(0 <= self.gaps < 1, owner, "gaps", "be in [0, 1)", self.gaps)
        require(self.mechanism in ("mcar", "mar"), owner, "mechanism", "be 'mcar' or 'mar'", self.mechanism)
        require(self.target_sd > 0, owner, "target_sd", "be above 0", self.target_sd)
        require(self.reach > 0, owner, "reach", "be above 0", self.reach)
        require(self.noise >= 0, owner, "noise", "be 0 or more", self.noise)
        require(self.temperature > 0, owner, "temperature", "be above 0", self.temperature)
        require(0 < self.uniform <= 1, owner, "uniform", "be in (0, 1]", self.uniform)
        require(self.factors >= 1, owner, "factors", "be 1 or more", self.factors)
        require(0 <= self.common < 1, owner, "common", "be in [0, 1)", self.common)
        require(self.seed >= 0, owner, "seed", "be 0 or more", self.seed)
        _ = self.loss_function
        _ = gap_probabilities(self.contexts, self.gaps, self.mechanism, np.zeros((1, self.attributes)))

    @cached_property
    def loss_function(self) -> Loss:
        """The loss as a value."""
        return self.loss if isinstance(self.loss, Loss) else Loss.named(self.loss)

    @cached_property
    def contexts(self) -> Contexts:
        """The distribution of records and of the dose they need."""
        numeric = self.attributes - self.categorical
        return Contexts.make(
            numeric, self.categorical, self.factors, self.common, self.target_sd, self.intercept, self.seed
        )

    @cached_property
    def columns(self) -> tuple[WorldColumn, ...]:
        """How each attribute is shown in a frame: its name, and its units or labels."""
        return world_columns(self.attributes - self.categorical, self.categorical)

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

    def index(self, labels: Any) -> np.ndarray:
        """The dose numbers 0, 1, … of dose labels, as they come back in advice."""
        positions = {float(label): i for i, label in enumerate(self.dose_labels)}
        try:
            return np.array([positions[float(label)] for label in labels], dtype=int)
        except (KeyError, TypeError, ValueError) as problem:
            known = ", ".join(map(str, self.dose_labels))
            raise InputProblem(f"A dose label is not one of this world's ({known}): {problem}.") from None

    def sample(self, rows: int, seed: int = 0) -> "DosingSample":
        """Fresh patients, their gaps, what the clinician gave and how it turned out."""
        require(rows >= 1, "DosingWorld.sample", "rows", "be 1 or more", rows)
        require(seed >= 0, "DosingWorld.sample", "seed", "be 0 or more", seed)
        random = np.random.default_rng([seed, self.seed])
        full = self.contexts.draw(rows, random)
        observed = random.random(full.shape) >= gap_probabilities(self.contexts, self.gaps, self.mechanism, full)
        return self._recorded(full, observed, random)

    def record(self, full: np.ndarray, observed: np.ndarray, seed: int = 0) -> "DosingSample":
        """What the clinician gave and how it turned out when just these cells of complete records were there to see.

        For studies of gaps: `observed` [row, attribute] may come from `prudent.worlds.missingness`.
        """
        require(seed >= 0, "DosingWorld.record", "seed", "be 0 or more", seed)
        full, present = self._cells(full, None)
        require(bool(present.all()), "DosingWorld.record", "full", "have no gaps", full)
        observed = np.asarray(observed)
        fits = observed.shape == full.shape and observed.dtype == bool
        require(fits, "DosingWorld.record", "observed", f"be True or False of shape {full.shape}", observed)
        # a stream of its own: records drawn by `sample` with the same seed must not decide how they are treated
        return self._recorded(full, observed, np.random.default_rng([seed, self.seed, 1]))

    def _recorded(self, full: np.ndarray, observed: np.ndarray, random: np.random.Generator) -> "DosingSample":
        rows, values = len(full), np.where(observed, full, np.nan)
        theta = self.theta(full)
        propensity = self.propensity(values, observed)
        beyond = random.random((rows, 1)) >= np.cumsum(propensity, axis=1)[:, :-1]
        actions = beyond.sum(axis=1)
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

    def exact_model(self) -> "Fitted":
        """This world as a fitted model that knows everything: for trying strategies without fitting."""
        from prudent.worlds.exact_model import exact_model

        return exact_model(self)

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
        - "tail": the mean of θ over its worst `risk` share (0.2 unless told), or with measure="quantile" the quantile.
        - "most often best": the probability that the dose is the best one.

        All are closed forms, but for the threshold behind `risk`, found by halving to about 1e-11.
        """
        values, observed = (rows.values, rows.observed) if isinstance(rows, DosingSample) else (rows, observed)
        posterior = self.posterior(values, observed)
        block = max(1, SCORE_CELLS // (self.doses * posterior.weights.shape[1]))
        return np.concatenate(
            [
                exact_scores(strategy, part, self.levels, self.loss_function, c=c, risk=risk, measure=measure)
                for part in posterior.blocks(block)
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
        values, observed = (rows.values, rows.observed) if isinstance(rows, DosingSample) else (rows, observed)
        return exact_value(self, strategy, *self._cells(values, observed), settings)

    def value(self, actions: np.ndarray, sample: "DosingSample") -> float:
        """The mean of θ(x, action) over the true, complete records."""
        chosen = self._checked(actions, sample)[:, None]
        return float(np.mean(np.take_along_axis(sample.theta, chosen, axis=1)))

    def catastrophes(self, actions: np.ndarray, sample: "DosingSample") -> float:
        """The share of rows overdosed by more than the loss's margin (1 in the cliff world)."""
        given = self.levels[self._checked(actions, sample)]
        return float(np.mean(given - self.target(sample.full) > self.loss_function.margin))

    def best_constant(self, sample: "DosingSample") -> int:
        """The one dose that would have been best for all these rows together."""
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
        right = actions.shape == (len(sample),) and bool(np.all((actions >= 0) & (actions < self.doses)))
        must = f"be {len(sample)} dose numbers in 0..{self.doses - 1}"
        require(right, "DosingWorld", "actions", must, actions)
        return actions

    def _cells(self, values: np.ndarray, observed: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        values = np.asarray(values, dtype=float)
        wide = f"have shape [rows, {self.attributes}]"
        require(values.ndim == 2 and values.shape[1] == self.attributes, "DosingWorld", "values", wide, values.shape)
        present = ~np.isnan(values)
        present = present if observed is None else present & np.asarray(observed, dtype=bool)
        for column, size in enumerate(LEVELS[: self.categorical], start=self.attributes - self.categorical):
            cells = values[present[:, column], column]
            known = bool(np.isin(cells, np.arange(size)).all())
            require(known, "DosingWorld", "values", f"hold 0..{size - 1} or NaN in column {column}", cells)
        return values, present


@dataclass(frozen=True, eq=False)
class DosingSample:
    """Rows of a dosing world, with what nobody in the clinic could see.

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

    def cases(self) -> "polars.DataFrame":
        """The records as a polars frame in readable units, gaps empty."""
        import polars

        columns = enumerate(self.world.columns)
        return polars.DataFrame({c.name: c.show(self.values[:, j], self.observed[:, j]) for j, c in columns})

    def known_truth(self, fitted: "Fitted") -> KnownTruth:
        """The cases with their true mean rewards, doses in the order of the model's labels."""
        return KnownTruth(self.cases(), fitted.sign * self.theta[:, self.world.index(fitted.action_labels)])

    def frame(self) -> "polars.DataFrame":
        """The log as a polars frame: the records, then `dose` (mg) and `outcome`."""
        import polars

        dose = np.array(self.world.dose_labels)[self.actions]
        return self.cases().with_columns(
            polars.Series("dose", dose), polars.Series("outcome", np.round(self.rewards, 4))
        )
