"""What each policy would do on the rows of a log: probabilities of every action, however the policy is given."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from prudent.decide import Advice, FittedModel, Policy, Scored, read_together
from prudent.errors import InputProblem, require
from prudent.evaluation.cross_fitting import CrossFitted, CrossFittedPolicy
from prudent.evaluation.prices import ModelPrices, Prices
from prudent.models import align_log, require_same_actions
from prudent.table import ActionLabel, Encoded, Log, did_you_mean, label_text, read_numbers, row_name, to_table


@dataclass(frozen=True, eq=False)
class MaskedPolicy:
    """A policy that sees only some cells of the rows it is evaluated on, as if the others had been missing for it.

    What was done is as likely as it was, given all that was known: propensities and prices use the whole records.

    shown: [row, attribute], for every row of the log given to `evaluate` and in the order of the model's schema.
    """

    policy: Policy
    shown: np.ndarray


Decider: TypeAlias = Policy | CrossFittedPolicy | MaskedPolicy | Callable[[Any], Any]
"""A policy of prudent, or any function from a frame of cases to decisions: one label per row (empty: refer), the
`Advice` of a policy, or probabilities, as an array [row, action] in the order of the log's labels or a frame with one
column per action."""

LOGGED = "as logged"
SUM_OFF = 1e-4  # probabilities in single precision sum to one only approximately
SAME = 1e-6  # probabilities in single precision that differ by less are the same


def decisions(
    policies: Mapping[str, Decider],
    log: Log,
    used: np.ndarray,
    model: FittedModel | CrossFitted | None = None,
    below: float | None = None,
) -> tuple[dict[str, np.ndarray], Prices | None]:
    """Probabilities of every action, [row, action], for each policy; a row that is referred to a person is NaN. And the
    prices of `model`, read off the same price tables where policies are of that model: these are what takes time.

    used: which rows of the log that the user gave are in `log`. below: the threshold of the tail, in the internal sign.
    """
    crossed = {name: policy for name, policy in policies.items() if isinstance(policy, CrossFittedPolicy)}
    if isinstance(model, CrossFitted):
        several, prices = _of_cross_fitted(list(crossed.values()), log, used, model, below)
        model = None
    else:
        several, prices = _of_cross_fitted(list(crossed.values()), log, used)
    decided = dict(zip(crossed, several, strict=True))
    modelled = {name: policy for name, policy in policies.items() if isinstance(policy, Policy | MaskedPolicy)}
    several, own = _of_policies(list(modelled.values()), log, used, model, below)
    decided |= dict(zip(modelled, several, strict=True))
    for name, policy in policies.items():
        if not isinstance(policy, Policy | MaskedPolicy | CrossFittedPolicy):
            require(callable(policy), "evaluate", "policies", "hold policies or functions of a frame", policy)
            decided[name] = _answered(name, policy(log.cases()), log)
    return {name: decided[name] for name in policies}, prices or own


def constant(log: Log, index: int) -> np.ndarray:
    """Always the same action."""
    return np.broadcast_to(np.eye(len(log.action_labels))[index], (len(log), len(log.action_labels)))


def referred_rows(probabilities: np.ndarray) -> np.ndarray:
    """Which rows a policy leaves to a person."""
    return np.asarray(np.isnan(probabilities).any(axis=1))


def as_logged(log: Log) -> np.ndarray:
    """Every row decided as it was logged."""
    return np.broadcast_to(np.nan, (len(log), len(log.action_labels)))


def differing_rows(decided: np.ndarray, other: np.ndarray, actions: np.ndarray) -> np.ndarray:
    """Which rows two policies decide differently; where they refer a row, it is decided as logged."""
    return np.asarray((np.abs(_as_done(decided, actions) - _as_done(other, actions)) > SAME).any(axis=1))


def decided_alike(decided: np.ndarray, other: np.ndarray, actions: np.ndarray) -> bool:
    """Whether two policies decide every row alike, known from the decisions themselves.

    One that refers a row and one that happens to choose what was done there are different policies, unless both
    do what was done in every row: then there is nothing to tell apart, and nothing to infer from weights either.
    """
    if differing_rows(decided, other, actions).any():
        return False
    same_referrals = bool((referred_rows(decided) == referred_rows(other)).all())
    return same_referrals or not differing_rows(decided, np.full_like(decided, np.nan), actions).any()


def _as_done(probabilities: np.ndarray, actions: np.ndarray) -> np.ndarray:
    done = np.eye(probabilities.shape[1])[actions]
    return np.where(referred_rows(probabilities)[:, None], done, probabilities)


def _of_policies(
    policies: Sequence[Policy | MaskedPolicy],
    log: Log,
    used: np.ndarray,
    model: FittedModel | None = None,
    below: float | None = None,
) -> tuple[list[np.ndarray], Prices | None]:
    """Policies may be of several models; those of one model that see the same share its completions and prices, also
    with the prices of the `model` that are asked for."""
    groups: dict[tuple[int, int | None], list[int]] = {} if model is None else {(id(model), None): []}
    for index, given in enumerate(policies):
        shown = id(given.shown) if isinstance(given, MaskedPolicy) else None
        groups.setdefault((id(_unmasked(given).fitted), shown), []).append(index)
    decided: dict[int, np.ndarray] = {}
    prices: Prices | None = None
    for key, indices in groups.items():
        several = [_unmasked(policies[index]) for index in indices]
        fitted = several[0].fitted if several else model
        assert fitted is not None  # a group without policies is that of the prices
        require_same_actions(fitted, log)
        encoded = align_log(log, fitted).encoded
        first = policies[indices[0]] if indices else None
        if isinstance(first, MaskedPolicy):
            encoded = encoded.masked(first.shown[used])
        asked = None
        if model is not None and key == (id(model), None):
            asked = ModelPrices.of(model, below, seed=several[0].seed if several else 0)
        probabilities, read = _read(several, encoded, asked)
        decided |= dict(zip(indices, probabilities, strict=True))
        prices = read or prices
    return [decided[index] for index in range(len(policies))], prices


def _unmasked(policy: Policy | MaskedPolicy) -> Policy:
    return policy.policy if isinstance(policy, MaskedPolicy) else policy


def policy_probabilities(policies: Sequence[Policy], encoded: Encoded) -> list[np.ndarray]:
    """Probabilities of every action, [row, action], for policies of one model, which complete and price only once."""
    return _read(policies, encoded, None)[0]


def _read(
    policies: Sequence[Policy], encoded: Encoded, asked: ModelPrices | None
) -> tuple[list[np.ndarray], Prices | None]:
    """What policies of one model decide, and the prices that are asked for, from the same price tables."""
    choosers = [policy.chooser for policy in policies]
    read = read_together([*choosers, *([] if asked is None else [asked])], encoded)
    # policies with the same rule of support ask the same of the logging policy
    supported = {chooser.support: chooser for chooser in choosers}
    supported = {support: chooser.supported(encoded) for support, chooser in supported.items()}
    probabilities = [
        chooser.probabilities(Scored(*scores), encoded, supported[chooser.support])
        for chooser, scores in zip(choosers, read, strict=False)
    ]
    return probabilities, None if asked is None else asked.prices(*read[-1])


def _of_cross_fitted(
    policies: Sequence[CrossFittedPolicy],
    log: Log,
    used: np.ndarray,
    priced: CrossFitted | None = None,
    below: float | None = None,
) -> tuple[list[np.ndarray], Prices | None]:
    """Each row by the model that has not seen it; policies of the same models are decided together, and the prices of
    the models `priced` with them."""
    shape = len(log), len(log.action_labels)
    decided = [np.zeros(shape) for _ in policies]
    rewards, tail = np.zeros(shape), np.zeros(shape)
    every = [policy.cross_fitted for policy in policies] + ([] if priced is None else [priced])
    for models in {id(one): one for one in every}.values():
        indices = [index for index, policy in enumerate(policies) if policy.cross_fitted is models]
        which = models.unseen(log)
        for part in np.unique(which):
            rows = np.flatnonzero(which == part)
            several = [policies[index].policies[part] for index in indices]
            asked = models.models[part] if models is priced else None
            chosen, prices = _of_policies(several, log.take(rows), np.flatnonzero(used)[rows], asked, below)
            for index, probabilities in zip(indices, chosen, strict=True):
                decided[index][rows] = probabilities
            if prices is not None:
                rewards[rows] = prices.rewards
                tail[rows] = 0.0 if prices.tail is None else prices.tail
    if priced is None:
        return decided, None
    return decided, Prices(rewards, None if below is None else tail, "from the cross-fitted models")


def _answered(name: str, answer: Any, log: Log) -> np.ndarray:
    """The answer of a user's function as probabilities."""
    if isinstance(answer, Advice):
        return _of_labels(name, answer.actions, log)
    if not isinstance(answer, np.ndarray) and hasattr(answer, "columns"):
        return _of_columns(name, answer, log)
    listed = _listed(answer)
    try:
        values = np.asarray(listed)
        probabilities = values.astype(np.float64) if values.ndim == 2 else None
    except (TypeError, ValueError):
        raise InputProblem(f"{_must(name)} Got rows that are not all numbers of one length.") from None
    if probabilities is not None:
        return _checked(name, probabilities, log)
    if values.ndim != 1:
        got = (
            f"an array of shape {values.shape}"
            if values.ndim
            else "nothing (None)"
            if answer is None
            else f"one {type(answer).__name__}"
        )
        raise InputProblem(f"{_must(name)} Got {got} instead.")
    return _of_labels(name, list(listed), log)


def _listed(answer: Any) -> Any:
    """Series of every library as lists."""
    for method in ("to_list", "to_pylist"):
        if not isinstance(answer, np.ndarray) and hasattr(answer, method):
            return getattr(answer, method)()
    return answer


def _must(name: str) -> str:
    return f"Policy '{name}' must answer one label per row, or probabilities [row, action]."


def _of_columns(name: str, frame: Any, log: Log) -> np.ndarray:
    table = to_table(frame)
    texts = {label_text(column): column for column in table.names}
    labels = [label_text(label) for label in log.action_labels]
    absent = [label for label in labels if label not in texts]
    if absent:
        raise InputProblem(
            f"Policy '{name}' answered a frame with no column for action '{absent[0]}'; it needs one per action of the "
            f"log ({', '.join(labels)}), with its probability."
        )
    columns = [read_numbers(table, texts[label], "probability") for label in labels]
    return _checked(name, np.stack(columns, axis=1), log)


def _checked(name: str, probabilities: np.ndarray, log: Log) -> np.ndarray:
    shape = (len(log), len(log.action_labels))
    if probabilities.shape != shape:
        raise InputProblem(
            f"Policy '{name}' answered probabilities of shape {probabilities.shape} and the log has {shape[0]} rows "
            f"and {shape[1]} actions ({', '.join(map(label_text, log.action_labels))}); give one column for each."
        )
    gaps = np.isnan(probabilities)
    off = np.abs(probabilities.sum(axis=1) - 1) > SUM_OFF
    wrong = off | (gaps.any(axis=1) & ~gaps.all(axis=1)) | (probabilities < 0).any(axis=1)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise InputProblem(
            f"Policy '{name}' answered {probabilities[row].round(6).tolist()} in {row_name(row)} of those evaluated; "
            "probabilities must be at least 0 and sum to one, or all be empty where the row is referred."
        )
    return probabilities


def _of_labels(name: str, labels: Sequence[ActionLabel | None], log: Log) -> np.ndarray:
    if len(labels) != len(log):
        raise InputProblem(
            f"Policy '{name}' answered {len(labels)} labels for {len(log)} rows; it must answer one per row."
        )
    positions = {label_text(label): index for index, label in enumerate(log.action_labels)}
    spelled = {label: label_text(label) for label in set(labels) if not _empty(label)}
    texts = [spelled.get(label) for label in labels]  # pyright: ignore[reportArgumentType]
    for row, text in enumerate(texts):
        if text is not None and text not in positions:
            raise InputProblem(
                f"Policy '{name}' answered '{text}' in {row_name(row)} of the rows evaluated, and the log has no such "
                f"action, so it cannot say how that turns out. {did_you_mean(text, list(positions))}"
            )
    codes = np.array([-1 if text is None else positions[text] for text in texts])
    return np.where((codes < 0)[:, None], np.nan, np.eye(len(positions))[codes])


def _empty(label: object) -> bool:
    """None, NaN, and the NA of pandas, whose comparisons are not bools."""
    return label is None or type(label).__name__ == "NAType" or label != label
