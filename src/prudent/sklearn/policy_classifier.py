"""PolicyClassifier: a model and its policy with scikit-learn's `fit`, `predict` and `score`."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from prudent.decide import Advice, MaximumExpectedReward, Strategy, Support
from prudent.errors import InputProblem
from prudent.evaluation import SelfNormalisedDoublyRobust, evaluate
from prudent.models import CausalPVAE
from prudent.sklearn.arrays import actions_taken, features, outcomes, repeated
from prudent.table import ActionLabel, KindOverride, Log, Missing, Table, label_text


class PolicyClassifier(ClassifierMixin, BaseEstimator):
    """Learns which action to take, as a scikit-learn classifier whose classes are the actions.

    `fit(X, y, rewards=...)` learns from logged decisions: what was known, what was done, how it turned out. X is a
    frame or an array, gaps included; a reward may be missing. Without rewards, `y` is taken to be right: an action
    earns 1 where it is the one in `y` and 0 elsewhere, so the classifier imitates whoever decided.

    `predict` gives the recommended action of every row, and None (or `referred`) where a person has to decide. `score`
    is what the policy would have earned on other logged decisions, see `prudent.evaluate`; higher is better, so with
    `minimize` it is negative. Without rewards it is the share of rows on which the classifier agrees with `y`. To pass
    rewards through pipelines and cross-validation, switch on scikit-learn's metadata routing and ask for them with
    `set_fit_request(rewards=True).set_score_request(rewards=True)`.

    model: a `CausalPVAE`, `SPVAE` or `CPVAE`, by default `CausalPVAE()`.
    strategy: how to choose, by default `MaximumExpectedReward()`.
    floor, fallback, doubt, noise, costs, completions: as in `prudent.Policy`.
    support: True for the default rule on which actions are open to a case, False for none, or a `Support`.
    kinds, missing, minimize: how to read the columns and the rewards, as in `Log.from_frame`.
    referred: what `predict` gives for rows that are left to a person.
    random_state: the seed, a whole number.
    verbose: whether to show progress.

    After `fit`: `classes_`, the actions; `fitted_`, the model; `policy_`; `n_features_in_` and, for a frame,
    `feature_names_in_`.
    """

    def __init__(
        self,
        model: Any = None,
        strategy: Strategy | None = None,
        *,
        floor: float | None = None,
        fallback: ActionLabel | None = None,
        doubt: float = 0.0,
        noise: float = 0.0,
        costs: Mapping[ActionLabel, float] | None = None,
        support: bool | Support = True,
        completions: int = 256,
        kinds: Mapping[str, KindOverride] | None = None,
        missing: Missing = (),
        minimize: bool = False,
        referred: ActionLabel | None = None,
        random_state: int = 0,
        verbose: bool = False,
    ):
        self.model = model
        self.strategy = strategy
        self.floor = floor
        self.fallback = fallback
        self.doubt = doubt
        self.noise = noise
        self.costs = costs
        self.support = support
        self.completions = completions
        self.kinds = kinds
        self.missing = missing
        self.minimize = minimize
        self.referred = referred
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any, rewards: Any = None) -> "PolicyClassifier":
        """Learn from the actions `y` that were taken and their rewards; without rewards, that `y` is right."""
        known = features(self, X, reset=True)
        taken = actions_taken(y, known.rows)
        classes = np.unique(taken)
        if len(classes) < 2:
            raise InputProblem(
                f"y holds only one class, {classes[0]!r}, so there is nothing to choose between; a policy needs at "
                "least two actions."
            )
        self.with_rewards_ = rewards is not None
        if self.with_rewards_:
            table, roles = _with_roles(known, taken, outcomes(rewards, known.rows))
        else:  # every action of every row has a known reward
            every = np.tile(classes, known.rows)
            right = (every == np.repeat(taken, len(classes))).astype(float)
            table, roles = _with_roles(repeated(known, len(classes)), every, right)
        action, reward = roles
        options = {"kinds": self.kinds, "missing": self.missing, "minimize": self._minimize}
        log = Log.from_frame(table, action=action, reward=reward, **options)
        model = CausalPVAE() if self.model is None else self.model
        self.fitted_ = model.fit(log, seed=self.random_state, progress=None if self.verbose else False)
        # the log leaves out labels that never have a reward, and spells each in one way
        in_log = {label_text(label) for label in self.fitted_.action_labels}
        self.classes_ = np.array([one for one in classes if label_text(one) in in_log], dtype=classes.dtype)
        self.policy_ = self.fitted_.policy(
            MaximumExpectedReward() if self.strategy is None else self.strategy,
            floor=self.floor,
            fallback=self.fallback,
            doubt=self.doubt,
            noise=self.noise,
            costs=self.costs,
            completions=self.completions,
            support=self._support,
            seed=self.random_state,
        )
        return self

    def predict(self, X: Any) -> np.ndarray:
        """The recommended action of every row, with the type of `classes_` unless a row is left to a person."""
        classes = {label_text(label): label for label in self._fitted.classes_}
        given = [self.referred if action is None else action for action in self.recommend(X).actions]
        labels = [None if action is None else classes.get(label_text(action), action) for action in given]
        if all(isinstance(label, self.classes_.dtype.type) for label in labels):
            return np.array(labels, dtype=self.classes_.dtype)
        return np.array(labels, dtype=object)

    def recommend(self, X: Any) -> Advice:
        """The advice behind `predict`: rewards, status and flags of every row."""
        return self._fitted.policy_.recommend(features(self, X, reset=False))

    def score(self, X: Any, y: Any, sample_weight: Any = None, rewards: Any = None) -> float:
        """What the policy would have earned per decision on logged ones it was not fitted on; higher is better.

        Without rewards, the share of rows on which it agrees with `y`. Only that can be weighted by `sample_weight`.
        """
        self._require_as_in_fit(rewards, sample_weight)
        known = features(self, X, reset=False)
        taken = actions_taken(y, known.rows)
        if rewards is None:
            return float(accuracy_score(_texts(taken), _texts(self.predict(X)), sample_weight=sample_weight))
        table, _ = _with_roles(known, taken, outcomes(rewards, known.rows))
        log = self.fitted_.read(table)
        evaluation = evaluate(self.policy_, log, estimators=[SelfNormalisedDoublyRobust()], seed=self.random_state)
        return log.sign * evaluation.estimate("policy").value

    def _require_as_in_fit(self, rewards: Any, sample_weight: Any) -> None:
        """Refuse to judge by agreement what was learnt from rewards, and the other way round."""
        if self._fitted.with_rewards_ and rewards is None:
            raise InputProblem(
                "This classifier has learnt from rewards, so its score needs them, too: score(X, y, rewards=...), or "
                "set_score_request(rewards=True) in cross-validation."
            )
        if rewards is not None and not self.with_rewards_:
            raise InputProblem(
                "This classifier has learnt without rewards, to decide as y does; leave rewards out of score, or give "
                "them to fit, too."
            )
        if rewards is not None and sample_weight is not None:
            raise InputProblem("A score by rewards cannot be weighted; leave sample_weight out.")

    @property
    def _fitted(self) -> "PolicyClassifier":
        check_is_fitted(self)
        return self

    @property
    def _minimize(self) -> bool:
        return self.minimize and self.with_rewards_

    @property
    def _support(self) -> Support | None:
        if isinstance(self.support, bool):
            return Support() if self.support else None
        return self.support

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.string = tags.input_tags.categorical = True
        return tags


def _texts(labels: np.ndarray) -> list[str]:
    """Labels of any type, and None, as texts that can be compared."""
    return ["" if label is None else label_text(label) for label in labels.tolist()]


def _with_roles(known: Table, taken: np.ndarray, rewards: np.ndarray) -> tuple[Table, tuple[str, str]]:
    """The table with a column for the actions and one for the rewards, and their names."""
    action, reward = _free("action", known), _free("reward", known)
    sources = {**known.sources, action: taken, reward: rewards}
    return replace(known, names=(*known.names, action, reward), sources=sources), (action, reward)


def _free(name: str, table: Table) -> str:
    """The name, or one like it that no column has."""
    while name in table.names:
        name += "_"
    return name
