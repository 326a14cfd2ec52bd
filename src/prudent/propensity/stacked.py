"""The default propensity: two different learners, mixed."""

from dataclasses import dataclass

import numpy as np

from prudent.errors import check, whole
from prudent.propensity.best_guess import BestGuess
from prudent.propensity.boosted import Boosted
from prudent.propensity.cross_fitting import deal_folds
from prudent.propensity.fitted_propensity import FittedPropensity
from prudent.table import Log

_RULES = {"folds": whole(2)}


@dataclass(frozen=True)
class Stacked:
    """A mixture of `BestGuess` and `Boosted`, in the shares under which the other folds' actions are most likely."""

    folds: int = 5

    def __post_init__(self) -> None:
        check("Stacked", _RULES, vars(self))

    def fit(self, log: Log, seed: int = 0) -> FittedPropensity:
        """Estimate π0(a | x̃) for every row of the log."""
        learners = [BestGuess(self.folds), Boosted(self.folds)]
        fitted = [learner.fit(log, seed).probabilities for learner in learners]
        both = np.stack([probabilities for probabilities in fitted if probabilities is not None])
        return FittedPropensity.of(log, mixed(both, log, self.folds, seed))


def mixed(several: np.ndarray, log: Log, folds: int, seed: int) -> np.ndarray:
    """Probabilities [model, row, action] mixed, in each fold by the shares that make the other folds most likely."""
    fold, actions = deal_folds(log, folds, seed), np.asarray(log.actions)
    likelihoods = several[:, np.arange(len(actions)), np.maximum(actions, 0)]
    result = np.empty(several.shape[1:])
    for held in range(-1, int(fold.max()) + 1):
        shares = best_shares(likelihoods[:, (fold >= 0) & (fold != held)])
        result[fold == held] = np.einsum("p,pra->ra", shares, several[:, fold == held])
    return result


def best_shares(likelihoods: np.ndarray, rounds: int = 200) -> np.ndarray:
    """Shares of a mixture of several models that make the rows most likely, by EM; likelihoods are [model, row].

    >>> best_shares(np.array([[0.9, 0.9, 0.9], [0.1, 0.1, 0.1]])).round(3).tolist()
    [1.0, 0.0]
    """
    shares = np.full(len(likelihoods), 1 / len(likelihoods))
    for _ in range(rounds):
        joint = shares[:, None] * likelihoods
        shares = np.mean(joint / joint.sum(axis=0), axis=1)
    return shares
