"""CausalPVAE: one posterior over features serves all actions; the reward is predicted from the completed record."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import logsumexp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from prudent.decide import OutcomeCalibration
from prudent.errors import TRUTH, InputProblem, Rule, check, is_whole, one_of, optional, require
from prudent.models import partial_vae
from prudent.models.averaging import FEWEST_AVERAGED, PriceAverage, fit_average, fit_beside, neighbours_alike
from prudent.models.case_types import TypedModel, calibrated, first_profiles
from prudent.models.causal_graph import CausalGraphModel
from prudent.models.fit_report import (
    ALIKE,
    GAPS_SPEAK,
    NOT_ALIKE,
    active_latents,
    fit_report,
    longer_in_words,
    shares_in_words,
)
from prudent.models.fitted import Fitted
from prudent.models.fitting import Prepared, fit_one
from prudent.models.partial_vae import PartialVAE, log_mean
from prudent.models.possible import Possible
from prudent.models.presets import preset_options
from prudent.models.price_uncertainty import RowPredictions, regression_uncertainty, row_predictions, type_uncertainty
from prudent.models.settings import PROPENSITY_RULE, SHARED_RULES, WIDE_TABLE, Sizes
from prudent.models.training_data import RewardScale, reward_origin, reward_scale, reward_weights, training_arrays
from prudent.networks import (
    Members,
    RewardNetwork,
    Trained,
    Training,
    TypeNetwork,
    bucket,
    layout_of,
    quasi_random,
    two_widths,
    untrained,
)
from prudent.progress import Progress
from prudent.propensity import Censoring, Propensity
from prudent.table import ActionLabel, Log, Schema

CALIBRATION_DRAWS = 64
MOST_TYPES = 256


class CausalNetwork(eqx.Module):
    """z → x → R ← a, the paper's causal graph (Fig. 1)."""

    features: PartialVAE
    reward: RewardNetwork | TypeNetwork

    def __init__(self, settings: "CausalPVAE", schema: Schema, actions: int, key: PRNGKeyArray):
        layout, sizes, keys = layout_of(schema), settings.sizes.of(schema), jax.random.split(key)
        self.features = PartialVAE(layout, **sizes, key=keys[0])
        shape = {"width": sizes["width"], "key": keys[1]}
        if settings.types > 1:
            self.reward = TypeNetwork(layout.width, actions, types=settings.types, **shape)
        else:
            options = {"ordered": bool(settings.ordered), "varying_noise": settings.varying_noise}
            self.reward = RewardNetwork(layout.width, actions, **options, **shape)

    def price(self, values: Float[Array, "... attribute"]) -> Float[Array, "... action"]:
        return self.reward(self.features.layout.cells(values))


@dataclass(frozen=True)
class CausalLoss:
    """The bound: log ⅟K Σ ωₖ for the features, plus w·[log Σ ωₖ p(R|xₖ,a) − log Σ ωₖ] for the reward.

    Held-out rows judge the two apart: the reward is learnt by heart long before the features are known well.
    """

    parts: ClassVar[tuple[str, ...]] = ("features", "reward")
    hide: float

    def __call__(
        self, network: CausalNetwork, record: dict[str, Array], uniforms: Array, hiding: Array
    ) -> tuple[Float[Array, " record"], Float[Array, "record part"]]:
        seen = record["observed"] & (hiding >= self.hide)
        samples = network.features.sample(record["values"], record["observed"], seen, uniforms)
        fit = network.reward.log_prob(samples.cells, record["action"][:, None], record["reward"][:, None])
        reward_bound = logsumexp(samples.log_weights + fit, axis=-1) - logsumexp(samples.log_weights, axis=-1)
        parts = log_mean(samples.log_weights), record["weight"] * reward_bound
        return -(parts[0] + parts[1]), jnp.stack(parts, axis=-1)


class CausalModel(CausalGraphModel):
    """Fitted CausalPVAE: completions from the importance-weighted partial VAE, prices from the reward network."""

    known: Float[Array, "member action feature feature"]
    calibration: OutcomeCalibration
    calibration_with_doubt: OutcomeCalibration
    average: PriceAverage | None = None

    @property
    def has_average(self) -> bool:
        return self.average is not None

    @property
    def ordered(self) -> bool:
        return self.networks.shared.reward.ordered

    def shift(
        self,
        values: Float[Array, " attribute"],
        observed: Bool[Array, " attribute"],
        completed: Float[Array, "completion attribute"],
        weights: Float[Array, " completion"],
        expected: Float[Array, " action"],
    ) -> Float[Array, " action"]:
        assert self.average is not None  # asked only of a model that has one
        layout = self.networks.shared.features.layout
        standardised = (expected - self.scale.location) / self.scale.scale
        mean = weights @ layout.cells(completed)
        return self.scale.scale * self.average.shift(layout, values, observed, mean, standardised)

    def log_density(
        self, values: Float[Array, "... attribute"], evidence: Float[Array, " member"]
    ) -> Float[Array, "..."]:
        return partial_vae.log_density_given(self.networks, lambda n: n.features, values, evidence)

    def price(self, values: Float[Array, " attribute"]) -> Float[Array, "member action"]:
        return self.scale.restore(self.networks.each(lambda network: network.price(values)))

    def prices(self, values: Float[Array, "completion attribute"]) -> Float[Array, "completion member action"]:
        each = self.networks.each(lambda network: network.price(values))
        return self.scale.restore(jnp.swapaxes(each, 0, 1))

    def own_doubt(self, values: Float[Array, " attribute"]) -> Float[Array, "member action"]:
        def of_member(network: Any, known: Float[Array, "action feature feature"]) -> Float[Array, " action"]:
            return jnp.linalg.norm(known @ network.reward.hidden(network.features.layout.cells(values)), axis=1)

        return self.scale.scale * self.networks.each(of_member, self.known)

    def noise(self, values: Float[Array, " attribute"]) -> Float[Array, " action"]:
        each = self.networks.each(lambda network: network.reward.noise(network.features.layout.cells(values)))
        return self.scale.scale * jnp.sqrt(jnp.mean(each**2, axis=0))


def _texts(labels: tuple[ActionLabel, ...]) -> list[ActionLabel]:
    return [label for label in labels if isinstance(label, bool) or not isinstance(label, (int, float))]


def may_be_ordered(log: Log) -> bool:
    """Whether a fit looks if neighbouring actions are alike: three numbers or more, with enough rewards to tell."""
    enough = log.rewarded.sum() >= FEWEST_AVERAGED
    return bool(enough) and len(log.action_labels) > 2 and not _texts(log.action_labels)


def _require_numbers(labels: tuple[ActionLabel, ...]) -> None:
    """Ordered actions must be numbers: only those are kept in a meaningful order."""
    texts = _texts(labels)
    if texts:
        raise InputProblem(
            f"The actions are not all numbers ('{texts[0]}' is not), so it is not known which are neighbours; leave "
            "out 'ordered', or write them as numbers in the log."
        )


def _posterior_mean(network: CausalNetwork, record: dict[str, Array]) -> Float[Array, " latent"]:
    return network.features.posterior_mean(record)


def _calibrated(model: TypedModel, data: dict[str, np.ndarray], rows: np.ndarray, seed: int) -> TypedModel:
    padded = np.resize(rows, bucket(len(rows)))
    counted = (np.arange(len(padded)) < len(rows)).astype(np.float32)
    records = {name: jnp.asarray(column[padded]) for name, column in data.items()}
    each = -(-CALIBRATION_DRAWS // model.members)
    points = quasi_random(each * model.members, model.draw_size, seed).reshape(model.members, each, -1)
    return calibrated(model, records, jnp.asarray(counted), jnp.asarray(points))


_RULES: dict[str, Rule] = {
    **SHARED_RULES,
    "types": Rule(
        f"be a whole number from 1 to {MOST_TYPES}", lambda types: is_whole(types, 1) and types <= MOST_TYPES
    ),
    "ordered": optional(TRUTH),
    "varying_noise": TRUTH,
    "prices": one_of("averaged", "network"),
    "propensity": optional(PROPENSITY_RULE),
}


@dataclass(frozen=True)
class CausalPVAE:
    """The default model: partial VAE for the features, a reward network on the completed feature.

    members: independently trained networks, averaged.
    samples: importance samples K per record in the bound; the one number that matters most.
    hide: share of observed cells hidden from the encoder in training.
    types: with 1, the reward is a smooth function of the record. With more, every record belongs to one of this many
        types, each with a mean reward for every action, and the record says how likely each type is: right where
        outcomes fall into a few patterns (responders and others, which digit an image shows). Give half again as many
        as expected. What is plausible is then a list of types, however many cells are missing.
    ordered: whether neighbouring actions have similar rewards, as doses do: what is learnt about an action then also
        moves the prices of its neighbours, unless the log contradicts it. The actions of the log must be numbers. None
        decides by rewards that were left out, where the actions are numbers.
    varying_noise: whether single rewards scatter around their price more for some records than for others.
    prices: "averaged" averages the network's expected rewards with those of boosted trees and linear regression, which
        see the record with its gaps, and of a Gaussian process; held-out rewards decide the shares. "network" is the
        network alone, as are models with types and those of more than 128 attributes.
    propensity: (e.g. `Boosted()`) weights the reward's bound by its inverse. None weights all rows equally, which is
        right when the reward network is rich enough, and keeps the effective sample size at all rows.
    """

    stored_as: ClassVar[str] = "causal"
    members: int = 3
    samples: int = 20
    hide: float = 0.1
    types: int = 1
    ordered: bool | None = None
    varying_noise: bool = False
    prices: str = "averaged"
    propensity: Propensity | None = None
    sizes: Sizes = Sizes()
    training: Training = Training(extensions=2)

    def __post_init__(self) -> None:
        check("CausalPVAE", _RULES, vars(self))
        require(self.training.hold_out, "CausalPVAE", "training", "hold out rows, by which it decides", self.training)
        for name in ("ordered", "varying_noise"):
            value = getattr(self, name)
            require(not value or self.types == 1, "CausalPVAE", name, f"be False with {self.types} types", value)

    @classmethod
    def preset(cls, name: str, **options: Any) -> "CausalPVAE":
        """Settings for less time ("fast") or a better model ("best"); `options` take precedence."""
        return cls(**(preset_options("CausalPVAE", name) | options))

    def network(self, schema: Schema, actions: int, key: PRNGKeyArray) -> CausalNetwork:
        return CausalNetwork(self, schema, actions, key)

    def blank(self, schema: Schema, actions: int) -> CausalModel | TypedModel:
        """An untrained model of the same shape, to be filled from a folder."""
        networks = untrained(partial(self.network, schema, actions), self.members)
        scale = RewardScale(jnp.float32(0), jnp.float32(1))
        if self.types > 1:
            profiles = jnp.zeros((self.members, self.types, actions))
            return TypedModel(networks, scale, Possible.blank(len(schema)), profiles, jnp.float32(1))
        features = two_widths(self.sizes.of(schema)["width"])[-1] + 1
        known = jnp.zeros((self.members, actions, features, features))
        average = PriceAverage.blank(layout_of(schema), actions) if self.averages(schema) else None
        calibrations = OutcomeCalibration.none(actions), OutcomeCalibration.none(actions)
        return CausalModel(networks, scale, Possible.blank(len(schema)), known, *calibrations, average)

    def averages(self, schema: Schema) -> bool:
        """Whether prices are an average, see `prices`."""
        return self.prices == "averaged" and self.types == 1 and len(schema) <= WIDE_TABLE

    @property
    def loss(self) -> CausalLoss:
        return CausalLoss(self.hide)

    def draw_size(self, schema: Schema) -> int:
        return self.sizes.of(schema)["latent"] + len(schema)

    def fit(self, log: Log, seed: int = 0, progress: Progress = None) -> Fitted:
        """Learn from a log; `progress=None` shows a bar on a terminal and nothing elsewhere."""
        return fit_one(self, log, seed, progress)

    def prepare(self, log: Log, seed: int) -> Prepared:
        if self.ordered:
            _require_numbers(log.action_labels)
        scale, origin = reward_scale(log), reward_origin(log)
        propensity = None if self.propensity is None else self.propensity.fit(log, seed=seed)
        censoring = Censoring.of(log, seed)
        weights = reward_weights(None if propensity is None else propensity.weights(), censoring)
        columns = training_arrays(log, scale, weights, origin)
        return Prepared(columns, scale, propensity, origin=origin, censoring=censoring)

    def decided(self, log: Log, prepared: Prepared, seed: int) -> tuple["CausalPVAE", tuple[str, ...]]:
        """The settings with what the log decides about them: whether actions are ordered."""
        if self.ordered is not None:
            return self, ()
        if self.types > 1 or not may_be_ordered(log):
            return replace(self, ordered=False), ()
        rewarded, actions = np.flatnonzero(log.rewarded), len(log.action_labels)
        alike = neighbours_alike(layout_of(log.schema), prepared.columns, rewarded, actions, seed, log.groups)
        return replace(self, ordered=alike), (ALIKE if alike else NOT_ALIKE,)

    def start(self, logs: Sequence[Log], prepared: Sequence[Prepared], seed: int) -> Callable[[Members], Members]:
        """Types start from a first guess of their rewards."""
        if self.types == 1:
            return lambda networks: networks
        schema, actions = logs[0].schema, len(logs[0].action_labels)
        columns, width = [ready.columns for ready in prepared], self.sizes.of(schema)["width"]
        shape = self.types, actions
        guess = first_profiles(layout_of(schema), columns, shape, width, self.training, seed, logs[0].groups)
        repeated = jnp.asarray(np.repeat(guess, self.members, axis=0))
        return lambda networks: eqx.tree_at(lambda n: n.arrays.reward.profiles, networks, repeated)

    def finish(self, log: Log, prepared: Prepared, trained: Trained, seed: int) -> Fitted:
        """The fitted model, with how uncertain its prices are."""
        networks, scale, data = trained.networks, prepared.scale, prepared.columns
        choices = [*longer_in_words(len(trained.history), self.training.rounds), *prepared.choices]
        active = active_latents(networks, _posterior_mean, data)
        if self.types > 1:
            doubt = type_uncertainty(networks, data, log, seed)
            model = TypedModel(networks, scale, Possible.of(log), doubt, jnp.float32(1))
            model = _calibrated(model, data, trained.held_out, seed)
        else:
            predictions = row_predictions(networks, data, log, seed)
            known = regression_uncertainty(networks, predictions, log)
            held = np.flatnonzero(np.isin(predictions.rows, trained.held_out))
            average, shift, decided = self._average(log, prepared, predictions, held, seed)
            choices += decided
            judged = [predictions.held_out(held, data, shift, scale, doubt) for doubt in (None, known)]
            raw, with_doubt = (OutcomeCalibration.of(each, len(log.action_labels)) for each in judged)
            model = CausalModel(networks, scale, Possible.of(log), known, raw, with_doubt, average)
        report = fit_report(log, trained, active, prepared.propensity, tuple(choices), prepared.censoring)
        return Fitted.of(self, log, model, report, prepared.support, prepared.origin)

    def _average(
        self, log: Log, prepared: Prepared, predictions: RowPredictions, held: np.ndarray, seed: int
    ) -> tuple[PriceAverage | None, np.ndarray, list[str]]:
        """The average, where there is one, with shares that held-out rewards decide; by how much it differs from the
        network there, [row, action], where nobody has learnt from these rows; and what was decided, in sentences.

        held: the places of the held-out rows among the predictions.
        """
        schema, actions = log.schema, len(log.action_labels)
        alone = np.zeros((len(held), actions))
        if not self.averages(schema):
            return None, alone, []
        layout, data = layout_of(schema), prepared.columns
        if log.rewarded.sum() < FEWEST_AVERAGED or not len(held):
            return PriceAverage.blank(layout, actions).of_network(), alone, []
        judged, network = predictions.rows[held], predictions.expected[held]
        rest = np.setdiff1d(np.arange(len(predictions.rows)), held)
        rows, completed = ((own[rest], own[held]) for own in (predictions.rows, predictions.completed))
        weights = None if prepared.censoring is None else prepared.censoring.clipped
        beside = fit_beside(layout, data, rows, completed, actions, bool(self.ordered), seed, log.groups, weights)
        counted = None if weights is None else weights[judged]
        average = fit_average(beside, network, data["action"][judged], data["reward"][judged], counted)
        together = np.tensordot(np.asarray(average.shares, float), np.stack([network, *beside.judged]), axes=1)
        decided = [GAPS_SPEAK] * beside.gaps_speak + shares_in_words(average.shares.tolist())
        return average, together - network, decided
