"""Cases whose true rewards are known, as in a simulator: they can judge policies without weights or propensities."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from prudent.decide import Policy
from prudent.errors import InputProblem, require
from prudent.evaluation import policy_probabilities


@dataclass(frozen=True, eq=False)
class KnownTruth:
    """Cases whose true reward under every action is known.

    cases: the records with their gaps, a frame of any common kind.
    rewards: [row, action] in the order of `fitted.action_labels`, in the units and the sign of the log's reward column.
    """

    cases: Any
    rewards: np.ndarray


def true_decisions(policies: Sequence[Policy], truth: KnownTruth) -> list[np.ndarray]:
    """What each policy of one model decides in these cases: probabilities [row, action] in the order of the rewards."""
    fitted = policies[0].fitted
    encoded = fitted.schema.encode(truth.cases)
    rewards = np.asarray(truth.rewards, np.float64)
    shape = (len(encoded.flags), len(fitted.action_labels))
    valid = rewards.shape == shape and shape[0] > 0 and bool(np.isfinite(rewards).all())
    must = f"be finite numbers of shape {shape}, one per case and action of the log"
    require(valid, "KnownTruth", "rewards", must, rewards.shape)
    decided = policy_probabilities(policies, encoded)
    referred = max(int(np.isnan(chances).any(axis=1).sum()) for chances in decided)
    if referred:
        raise InputProblem(
            f"In {referred} of the {shape[0]} cases no action is open, so they are referred and have no known "
            "reward; leave them out, or judge with support=None."
        )
    return decided
