"""perpetual's policy learner, which takes gaps as they are and knows two actions."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from prudent.errors import InputProblem, require
from prudent.rivals import FittedRival, LoggedDecisions


@dataclass(frozen=True)
class PerpetualPolicy:
    """Policy learning by boosting on inverse propensities (Athey and Wager 2021), for logs of two actions.

    `mode` is "ipw" (the package's default) or "aipw", doubly robust. Categories are numbers to it. A price is the
    second action's score; the first is priced 0.
    """

    mode: str = "ipw"

    def fit(self, log: LoggedDecisions, seed: int = 0) -> FittedRival:
        learner = _policy_learner()
        require(
            log.n_actions == 2 and bool(log.seen.all()), "PerpetualPolicy", "log", "have two actions", log.n_actions
        )
        fitted = learner(mode=self.mode, seed=seed).fit(log.values, log.actions, log.rewards)

        def price(new: np.ndarray) -> np.ndarray:
            scores = np.asarray(fitted.decision_function(new))
            return np.stack([np.zeros_like(scores), scores], axis=1)

        return FittedRival(price)


def _policy_learner() -> Any:
    try:
        from perpetual.policy import PolicyLearner
    except ImportError as problem:
        raise InputProblem(
            "PerpetualPolicy needs perpetual, which is not installed. "
            "Install it with pip install 'prudent[experiments]'."
        ) from problem
    return PolicyLearner
