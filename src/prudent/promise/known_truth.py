"""Held-out decisions: what several policies of one model would have done there, as per-row weights and rewards."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from prudent.decide import Policy, score_together
from prudent.errors import InputProblem, require
from prudent.evaluation import require_unseen
from prudent.models import align_log
from prudent.propensity import Boosted, Known
from prudent.table import Encoded, Log


@dataclass(frozen=True, eq=False)
class KnownTruth:
    """Cases whose true reward under every action is known, as in a simulator.

    cases: the records with their gaps, a frame of any common kind.
    rewards: [row, action] in the order of `fitted.action_labels`, in the units and the sign of the log's reward column.
    """

    cases: Any
    rewards: np.ndarray


def best_actions(policies: Sequence[Policy], encoded: Encoded) -> np.ndarray:
    """The action numbers of every policy, [policy, row]; what they share of the work is done once."""
    return np.stack(
        [
            np.argmax(scored.scores, axis=1)
            for scored in score_together([policy.chooser for policy in policies], encoded)
        ]
    )


def from_truth(policies: tuple[Policy, ...], truth: KnownTruth) -> tuple[np.ndarray, np.ndarray]:
    """Weights and rewards, [policy, row]: every row counts once, with what its chosen action truly earns."""
    fitted = policies[0].fitted
    encoded = fitted.schema.encode(truth.cases)
    rewards = np.asarray(truth.rewards, np.float64)
    shape = (len(encoded.flags), len(fitted.action_labels))
    right = rewards.shape == shape and shape[0] > 0 and bool(np.isfinite(rewards).all())
    must = f"be finite numbers of shape {shape}, one per case and action of the log"
    require(right, "KnownTruth", "rewards", must, rewards.shape)
    chosen = best_actions(policies, encoded)
    earned = np.take_along_axis(rewards, chosen.T, axis=1).T
    return np.ones_like(earned), -earned if fitted.minimize else earned


def from_log(policies: tuple[Policy, ...], log: Log, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Weights and rewards, [policy, row]: rows whose logged action the policy agrees with, by inverse propensity."""
    fitted = policies[0].fitted
    log = align_log(log, fitted)
    require_unseen([fitted], log, "the policies look better there than they are.")
    if not log.rewarded.any():
        raise InputProblem("The held-out log has no row with both an action and a reward, so nothing can be judged.")
    chosen = best_actions(policies, log.encoded)
    weights = log_weights(log, chosen, seed)[:, log.rewarded]
    return weights, np.broadcast_to(log.rewards[log.rewarded], weights.shape)


def log_weights(log: Log, chosen: np.ndarray, seed: int = 0) -> np.ndarray:
    """Inverse-propensity weights [policy, row] of the policies whose action numbers are `chosen` [policy, row].

    1[Aᵢ = π(x̃ᵢ)] / π̂0(Aᵢ | x̃ᵢ), 0 where no reward is known. Logged probabilities are used where the log has them,
    otherwise `Boosted` ones, cross-fitted on this log.
    """
    propensity = (Boosted() if log.propensities is None else Known()).fit(log, seed)
    agrees = (chosen == log.actions[None, :]) & log.rewarded[None, :]
    return np.where(agrees, 1 / np.where(log.rewarded, propensity.taken, 1.0)[None, :], 0.0)
