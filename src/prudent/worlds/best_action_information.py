"""How certain the best action can be when a record has gaps: proposition 1 for any finite world."""

from dataclasses import dataclass

import numpy as np

from prudent.errors import require


@dataclass(frozen=True)
class Information:
    """What the record with gaps X̃ says about the best action a(X), in bits.

    Proposition 1: remaining_entropy = best_action_entropy − (information − irrelevant_information).

    best_action_entropy: H(a(X)), how varied the best action is before anything is seen.
    remaining_entropy: H(a(X) | X̃), how uncertain it still is, on average, after the record is seen.
    information: I(X; X̃), all that the record with gaps says about the full one.
    irrelevant_information: I(X; X̃ | a(X)), the part of it that the best action does not need.
    best_guess: the probability that the best guess from X̃ finds a(X).
    """

    best_action_entropy: float
    remaining_entropy: float
    information: float
    irrelevant_information: float
    best_guess: float

    @property
    def guess_bound(self) -> float:
        """2 ** −H(a(X) | X̃), at most `best_guess`.

        The paper calls this number the probability that the best algorithm finds a(X); it is only a lower bound. For
        one record the most likely action has probability max P ≥ ∏ P^P = 2 ** −H(a(X) | x̃), since a mean of log P is
        at most its maximum; over records the mean of 2 ** −H is at least 2 ** −(mean of H), by Jensen's inequality.
        Both are equalities only when, for every record alike, the actions still possible are equally likely.
        """
        return 2.0**-self.remaining_entropy


def information(joint: np.ndarray, theta: np.ndarray) -> Information:
    """The terms of proposition 1 by enumeration.

    joint [record, degraded] is p(x, x̃) over all full records and all records with gaps; theta [record, action] the mean
    rewards, whose argmax is a(x) (the first of equals).

    One fair bit that says which of two actions is right, and is erased half of the time:

    >>> bit = information(np.array([[0.25, 0.0, 0.25], [0.0, 0.25, 0.25]]), np.eye(2))
    >>> bit.best_action_entropy, bit.remaining_entropy, bit.information, bit.irrelevant_information
    (1.0, 0.5, 0.5, 0.0)
    >>> bit.best_guess, round(bit.guess_bound, 3)
    (0.75, 0.707)
    """
    joint, theta = _checked(joint, theta)
    best = np.eye(theta.shape[1])[np.argmax(theta, axis=1)]
    by_action = best.T[:, :, None] * joint[None, :, :]
    share = by_action.sum(axis=(1, 2))
    action_and_degraded = by_action.sum(axis=1)
    within = [
        p * mutual_information(joint_of_action / p)
        for p, joint_of_action in zip(share, by_action, strict=True)
        if p > 0
    ]
    return Information(
        best_action_entropy=float(entropy(share)),
        remaining_entropy=float(entropy(share)) - mutual_information(action_and_degraded),
        information=mutual_information(joint),
        irrelevant_information=float(sum(within)),
        best_guess=float(action_and_degraded.max(axis=0).sum()),
    )


def joint_of(posterior: np.ndarray, probability: np.ndarray) -> np.ndarray:
    """p(x, x̃) [record, degraded] from p(x | x̃) [degraded, record] and p(x̃) [degraded]."""
    posterior, probability = np.asarray(posterior, float), np.asarray(probability, float)
    fits = posterior.ndim == 2 and probability.shape == posterior.shape[:1]
    must = "have one number per row of 'posterior'"
    require(fits, "joint_of", "probability", must, (posterior.shape, probability.shape))
    return (probability[:, None] * posterior).T


def mutual_information(joint: np.ndarray) -> float:
    """I(X; Y) of a joint distribution [x, y], in bits; never negative."""
    marginal = entropy(joint.sum(axis=1)) + entropy(joint.sum(axis=0))
    return max(float(marginal - entropy(joint.reshape(-1))), 0.0)


def entropy(probabilities: np.ndarray) -> np.ndarray:
    """Shannon entropy in bits along the last axis, with 0 · log 0 = 0.

    >>> entropy(np.array([[0.5, 0.5], [1.0, 0.0]])).tolist()
    [1.0, 0.0]
    """
    logs = np.log2(np.where(probabilities > 0, probabilities, 1.0))
    return 0.0 - np.sum(probabilities * logs, axis=-1)  # 0.0 − …: certainty has entropy 0, not −0


def _checked(joint: np.ndarray, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    joint, theta = np.asarray(joint, float), np.asarray(theta, float)
    require(joint.ndim == 2, "information", "joint", "have two axes, [record, degraded]", joint.shape)
    proper = bool(np.all(joint >= 0)) and abs(float(joint.sum()) - 1.0) < 1e-6
    require(proper, "information", "joint", "be at least 0 and sum to 1", float(joint.sum()))
    fits = theta.ndim == 2 and len(theta) == len(joint) and theta.shape[1] > 0
    require(fits, "information", "theta", f"have {len(joint)} rows, one per record of 'joint'", theta.shape)
    require(bool(np.isfinite(theta).all()), "information", "theta", "be finite", theta)
    return joint / joint.sum(), theta
