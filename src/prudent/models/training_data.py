"""A log as the training program takes it: arrays by row, with standardised rewards."""

from typing import Literal

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from prudent.errors import InputProblem
from prudent.propensity import Censoring
from prudent.table import Log, count_groups, usual_range

FEWEST_ROWS = 20
FAR_FROM_ZERO = 8.0
"""Standard deviations from zero beyond which a model measures rewards from an origin among them."""
SINGLE, DOUBLE = 1e5, 1e9
"""Standard deviations that rewards may lie from the origin and from zero, in numbers of seven and of sixteen digits."""


class RewardScale(eqx.Module):
    """Networks see standardised rewards; prices are reported in the log's units (higher is better)."""

    location: Float[Array, ""]
    scale: Float[Array, ""]

    def restore(self, prices: Float[Array, "..."]) -> Float[Array, "..."]:
        return self.location + self.scale * prices


def require_fittable(log: Log) -> None:
    """Refuse what no model can be fitted to."""
    if not isinstance(log, Log):
        raise InputProblem(
            f"A model is fitted to a Log, not to a {type(log).__name__}. "
            "Make one with prudent.Log.from_frame(frame, action=..., reward=...) or prudent.read_log."
        )
    rewarded = int(log.rewarded.sum())
    if rewarded < FEWEST_ROWS:
        raise InputProblem(
            f"The log has only {rewarded} rows with both an action and a reward; "
            f"prudent needs at least {FEWEST_ROWS} to fit a model. Collect more decisions."
        )
    if count_groups(log.groups, log.rewarded) == 1:
        raise InputProblem(
            f"All rows with an action and a reward belong to one group by '{log.roles.group}', so none can be held out "
            "to judge what was learnt from others; use a log of more groups, or leave the group out."
        )


How = Literal["standardised", "raw", "unit"]


def reward_origin(log: Log, how: How = "standardised") -> float:
    """What a model measures rewards from: their median where they lie far from zero, since prices could not tell
    actions apart there; else 0, as with rewards that are to be seen as they are."""
    rewards = _usual(log)
    far = abs(float(rewards.mean())) > FAR_FROM_ZERO * float(rewards.std())
    return float(np.median(rewards)) if far and how == "standardised" else 0.0


def _usual(log: Log) -> np.ndarray:
    """The rewards that are not extreme: a slip such as 1e30 would leave nothing of the others."""
    rewards = log.rewards[log.rewarded]
    lowest, highest = usual_range(rewards)
    return rewards[(rewards >= lowest) & (rewards <= highest)]


def reward_scale(log: Log, how: How = "standardised") -> RewardScale:
    """How networks see the rewards, as distances from the origin: standardised, as they are, or mapped to [0, 1] by
    their range; by those that are not extreme."""
    rewards, origin = _usual(log), reward_origin(log, how)
    spread = float(rewards.std())
    if not spread > 0:
        raise InputProblem(
            f"Every reward in the log is {rewards[0]:g}, so no action can be better than another. "
            "Name the column that says how each decision turned out."
        )
    centre = float(rewards.mean())
    if abs(centre) > DOUBLE * spread or abs(centre - origin) > SINGLE * spread:
        raise InputProblem(
            f"The rewards lie around {centre:.12g} and differ by {spread:.3g} only, and prices have too few digits to "
            f"tell actions apart there; subtract a number such as {centre:.6g} from the reward column."
        )
    rewards = rewards - origin
    if how == "raw":
        return RewardScale(jnp.float32(0.0), jnp.float32(1.0))
    if how == "unit":
        return RewardScale(jnp.float32(rewards.min()), jnp.float32(np.ptp(rewards)))
    return RewardScale(jnp.float32(rewards.mean()), jnp.float32(spread))


def reward_weights(weights: np.ndarray | None, censoring: Censoring | None) -> np.ndarray | None:
    """Weights of the rewards by row, by inverse propensity and by how unlikely it was to see the outcome."""
    if censoring is None or weights is None:
        return weights if censoring is None else censoring.clipped
    both = weights * censoring.clipped
    return both / both[censoring.known].mean()


def training_arrays(
    log: Log, scale: RewardScale, weights: np.ndarray | None, origin: float = 0.0
) -> dict[str, np.ndarray]:
    """The columns of a log by row; a row without a reward has weight zero, but the features are learnt from it too."""
    rewarded = log.rewarded
    lowest, highest = usual_range(log.rewards[rewarded])
    width = highest - lowest
    counted = np.clip(np.where(rewarded, log.rewards, 0.0), lowest - width, highest + width) - origin
    standardised = (counted - float(scale.location)) / float(scale.scale)
    return {
        "values": log.values,
        "observed": log.observed,
        "action": np.where(rewarded, log.actions, 0).astype(np.int32),
        "reward": np.where(rewarded, standardised, 0.0).astype(np.float32),
        "weight": np.where(rewarded, 1.0 if weights is None else weights, 0.0).astype(np.float32),
    }
