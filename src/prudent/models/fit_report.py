"""What happened while a model was fitted, and what to know before trusting it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from prudent.networks import Members, Trained, compiled
from prudent.propensity import FittedPropensity, effective_sample_size
from prudent.show import counted
from prudent.table import Log

ACTIVE_VARIANCE = 0.01


@dataclass(frozen=True)
class FitReport:
    """The rows that were used, the rounds of training, the best held-out bound of every member, and notes."""

    rows: int
    rewarded: int
    rounds: int
    held_out_bound: tuple[float, ...]
    notes: tuple[str, ...]
    choices: tuple[str, ...] = ()
    """What fitting decided by itself, in a sentence each."""


def choices_of(shares: Sequence[float], ordered: bool) -> tuple[str, ...]:
    """What held-out rewards decided about the average of prices."""
    network, trees, linear = (f"{float(share):.0%}" for share in shares)
    average = (
        f"Expected rewards are an average of the network ({network}), boosted trees ({trees}) and linear regression "
        f"({linear}); held-out rewards decided the shares."
    )
    if not ordered:
        return (average,)
    return average, "Actions are numbers, and the trees take neighbouring ones to be alike: held-out rewards say so."


def fit_report(
    log: Log,
    trained: Trained,
    active_latents: int,
    propensity: FittedPropensity | None,
    choices: tuple[str, ...] = (),
) -> FitReport:
    notes = list(log.notes)
    if active_latents == 0:
        notes.append(
            "The latent variables carry no information (posterior collapse): gaps are filled without regard to what "
            "was observed. The attributes may be unrelated, or the log too small."
        )
    if propensity is not None:
        weights = propensity.weights()[log.rewarded]
        effective = effective_sample_size(weights)
        notes.append(f"Inverse-propensity weights leave an effective sample of {effective:.0f} of {len(weights)} rows.")
    if trained.cut:
        rounds = counted(len(trained.history), "round")
        notes.append(
            f"The time budget cut training to {rounds}. The number depends on how busy the machine was, so another fit "
            "with the same seed may differ; --rounds (Training(rounds=...)) fixes it."
        )
    bounds = tuple(float(bound) for bound in trained.history.max(axis=0))
    return FitReport(len(log), int(log.rewarded.sum()), len(trained.history), bounds, tuple(notes), choices)


def active_latents(
    networks: Members, posterior_mean: Callable[[Any, dict[str, Array]], Array], data: dict[str, np.ndarray]
) -> int:
    """The number of latent coordinates whose posterior mean varies between records, in the member with the fewest."""
    rows = {name: jnp.asarray(column[:1000]) for name, column in data.items()}

    @compiled
    def posterior_means(networks: Members) -> Array:
        return networks.each(lambda network: jax.vmap(lambda row: posterior_mean(network, row))(rows))

    return int(jnp.min(jnp.sum(jnp.var(posterior_means(networks), axis=1) > ACTIVE_VARIANCE, axis=1)))
