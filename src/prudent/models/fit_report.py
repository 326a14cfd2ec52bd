"""What happened while a model was fitted, and what to know before trusting it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jaxtyping import Array, Float

from prudent.networks import Members, Trained, bucket, compiled
from prudent.propensity import Censoring, FittedPropensity, effective_sample_size
from prudent.show import counted
from prudent.table import Log

ACTIVE_VARIANCE = 0.01
MOST_LOOKED_AT = 1000


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


GAPS_SPEAK = "Which cells are missing helps to predict rewards, so the Gaussian process reads that, too."
ALIKE = "The actions are numbers, and neighbouring ones are taken to be alike: rewards that were left out say so."
NOT_ALIKE = (
    "The actions are numbers, but rewards that were left out do not say that neighbouring ones are alike, so each is "
    "learnt by itself; --ordered (ordered=True) takes them to be alike."
)


def longer_in_words(rounds: int, usual: int) -> list[str]:
    """Whether held-out rewards decided to go on with the training."""
    if rounds <= usual:
        return []
    return [f"Training went on from {usual} to {rounds} rounds, since held-out rewards were predicted ever better."]


def shares_in_words(shares: Sequence[float]) -> list[str]:
    """What held-out rewards decided about the average of prices; nothing where the network stands alone."""
    if shares[0] == 1:
        return []
    network, trees, linear, process = (f"{float(share):.0%}" for share in shares)
    return [
        f"Expected rewards are an average of the network ({network}), boosted trees ({trees}), linear regression "
        f"({linear}) and a Gaussian process ({process}); held-out rewards decided the shares."
    ]


def fit_report(
    log: Log,
    trained: Trained,
    active_latents: int,
    propensity: FittedPropensity | None,
    choices: tuple[str, ...] = (),
    censoring: Censoring | None = None,
) -> FitReport:
    notes = [*log.notes, *([] if censoring is None else censoring.notes)]
    if active_latents == 0:
        notes.append(
            "The latent variables carry no information (posterior collapse): gaps are filled without regard to what "
            "was observed. The attributes may be unrelated, or the log too small."
        )
    if propensity is not None:
        weights = propensity.weights()[log.rewarded]
        effective = effective_sample_size(weights)
        notes.append(f"Inverse-propensity weights leave an effective sample of {effective:.0f} of {len(weights)} rows.")
    if not len(trained.held_out):
        notes.append("No rows were held out, so the held-out bound is that of rows the model has learnt from.")
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
    count = min(len(next(iter(data.values()))), MOST_LOOKED_AT)
    padded = np.resize(np.arange(count), bucket(count))
    rows = jax.device_put({name: column[padded] for name, column in data.items()})
    means = np.asarray(_posterior_means(networks, posterior_mean, rows))[:, :count]
    return int((means.var(axis=1) > ACTIVE_VARIANCE).sum(axis=1).min())


@compiled
def _posterior_means(
    networks: Members, posterior_mean: Callable[[Any, dict[str, Array]], Array], rows: dict[str, Array]
) -> Float[Array, "member row latent"]:
    return networks.each(lambda network: jax.vmap(lambda row: posterior_mean(network, row))(rows))
