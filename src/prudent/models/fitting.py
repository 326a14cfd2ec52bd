"""What the three models share when they are fitted: sizes, checks, training arrays, the report."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from prudent.errors import InputProblem, Rule, instance, is_whole, number, require, whole
from prudent.networks import MANY_ATTRIBUTES, Members, Trained, Training, Width
from prudent.propensity import FittedPropensity, Propensity, effective_sample_size
from prudent.table import Log, Schema

ACTIVE_VARIANCE = 0.01

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Sizes:
    """Widths of the networks; None follows the table.

    latent: of z; as many as attributes, at least 4 and at most 12, in a wide table 24.
    width: of hidden layers; 48, in a wide table 256. A pair gives the two of the encoder, which the decoder has in the
        other order.
    embedding, summary: of an attribute's own vector and of the encoder's sum over attributes; 8 and 48, in a wide table
        64 and 128. A table is wide from more than 64 attributes.
    rectified: whether the encoder rectifies every attribute's token before it sums them, as the paper does; in a wide
        table it does not, which makes training several times faster.
    """

    latent: int | None = None
    width: Width | None = None
    embedding: int | None = None
    summary: int | None = None
    rectified: bool | None = None

    def __post_init__(self) -> None:
        if isinstance(self.width, list):  # as JSON stores a pair
            object.__setattr__(self, "width", tuple(self.width))
        for name in ("latent", "embedding", "summary"):
            value = getattr(self, name)
            fits = value is None or is_whole(value, 1)
            require(fits, "Sizes", name, "be a whole number of at least 1 or None", value)
        widths = self.width if isinstance(self.width, tuple) else (self.width, self.width)
        fits = self.width is None or (len(widths) == 2 and all(is_whole(one, 1) for one in widths))
        require(fits, "Sizes", "width", "be a whole number of at least 1, a pair of them, or None", self.width)
        known = self.rectified is None or isinstance(self.rectified, bool)
        require(known, "Sizes", "rectified", "be True, False or None", self.rectified)

    def of(self, schema: Schema) -> dict[str, Any]:
        narrow = {"latent": min(max(len(schema), 4), 12), "width": 48, "embedding": 8, "summary": 48, "rectified": True}
        usual = {"latent": 24, "width": 256, "embedding": 64, "summary": 128, "rectified": False}
        usual = usual if len(schema) > MANY_ATTRIBUTES else narrow
        return {name: usual[name] if (own := getattr(self, name)) is None else own for name in usual}


@dataclass(frozen=True)
class FitReport:
    """What happened during fitting: rows used, rounds of training, what to know before trusting the model."""

    rows: int
    rewarded: int
    rounds: int
    held_out_bound: tuple[float, ...]
    notes: tuple[str, ...]


class RewardScale(eqx.Module):
    """Networks see standardised rewards; prices leave in the user's units (higher is better)."""

    location: Float[Array, ""]
    scale: Float[Array, ""]

    def restore(self, prices: Float[Array, "..."]) -> Float[Array, "..."]:
        return self.location + self.scale * prices


SHARED_RULES: dict[str, Rule] = {
    "members": whole(1),
    "samples": whole(1),
    "hide": number(0, 1, "[)"),
    "sizes": instance(Sizes, "a Sizes, e.g. Sizes(width=64)"),
    "training": instance(Training, "a Training, e.g. Training(rounds=40)"),
}
"""What the settings of all models must be."""

PROPENSITY = instance(Propensity, "a propensity: ImputedLogistic(), Boosted() or Known()")


def check_log(log: Log, seed: int) -> None:
    require(is_whole(seed), "fit", "seed", "be a whole number of at least 0", seed)
    if not isinstance(log, Log):
        raise InputProblem(
            f"A model is fitted to a Log, and this is a {type(log).__name__}. "
            "Make one with prudent.Log.from_frame(frame, action=..., reward=...) or prudent.read_log."
        )
    if int(log.rewarded.sum()) < 20:
        raise InputProblem(
            f"The log has only {int(log.rewarded.sum())} rows with both an action and a reward; "
            "prudent needs at least 20 to fit a model. Collect more decisions."
        )


def reward_scale(log: Log) -> RewardScale:
    rewards = log.rewards[log.rewarded]
    spread = float(rewards.std())
    if not spread > 0:
        raise InputProblem(
            f"Every reward in the log is {rewards[0]:g}, so no action can be better than another. "
            "Name the column that says how each decision turned out."
        )
    return RewardScale(jnp.float32(rewards.mean()), jnp.float32(spread))


def training_arrays(log: Log, scale: RewardScale, weights: np.ndarray | None) -> dict[str, np.ndarray]:
    """The log as the loss sees it; a row without reward has weight zero and still teaches the features."""
    rewarded = log.rewarded
    standardised = (np.where(rewarded, log.rewards, 0.0) - float(scale.location)) / float(scale.scale)
    return {
        "values": log.values,
        "observed": log.observed,
        "action": np.where(rewarded, log.actions, 0).astype(np.int32),
        "reward": np.where(rewarded, standardised, 0.0).astype(np.float32),
        "weight": np.where(rewarded, 1.0 if weights is None else weights, 0.0).astype(np.float32),
    }


def report_of(log: Log, trained: Trained, active_latents: int, propensity: FittedPropensity | None) -> FitReport:
    notes = list(log.notes)
    if active_latents == 0:
        notes.append(
            "The latent variables carry nothing (posterior collapse): gaps are filled without regard to what was "
            "observed. The attributes may be unrelated, or the log too small."
        )
    if propensity is not None:
        weights = propensity.weights()[log.rewarded]
        effective = effective_sample_size(weights)
        notes.append(f"Inverse-propensity weights leave an effective sample of {effective:.0f} of {len(weights)} rows.")
    bounds = tuple(float(bound) for bound in trained.history.max(axis=0))
    return FitReport(len(log), int(log.rewarded.sum()), len(trained.history), bounds, tuple(notes))


def active_latents(
    networks: Members, posterior_mean: Callable[[Any, dict[str, Array]], Array], data: dict[str, np.ndarray]
) -> int:
    """Latent coordinates whose posterior mean moves from record to record, in the poorest member."""
    rows = {name: jnp.asarray(column[:1000]) for name, column in data.items()}
    means = eqx.filter_jit(lambda own: own.each(lambda n: jax.vmap(lambda row: posterior_mean(n, row))(rows)))(networks)
    return int(jnp.min(jnp.sum(jnp.var(means, axis=1) > ACTIVE_VARIANCE, axis=1)))
