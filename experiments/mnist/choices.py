"""From a fitted model to the actions that strategies choose, and to a closer look at ten images."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import jax.numpy as jnp
import numpy as np

from experiments.chosen_actions import Chosen, chosen_actions, name_of
from experiments.mnist.data import BOUNDED, BRIGHTEST, DIGITS, Part, Replication
from prudent import CPVAE, CausalPVAE, Conservative, Log, MaximumExpectedReward, TailAverse
from prudent.decide import Policy, PriceTable, Search, Strategy
from prudent.models import Fitted, fit_many
from prudent.table import KindOverride, Schema

SHOWN = 8
"""Completed images for each test image of the showcase."""
CAREFUL = 0.05
"""The risk at which the showcase gives the worst plausible reward and the mean of the worst."""


class Method(Protocol):
    """Whatever chooses an action for every test image of some replications.

    together: how many replications are learnt at once. Results depend on it slightly, since these share a seed.
    """

    @property
    def together(self) -> int: ...

    def choose(self, replications: Sequence[Replication], progress: object = False) -> list[Chosen]: ...


@dataclass(frozen=True)
class Constant:
    """The same action for every image."""

    action: int
    together: int = 1

    def choose(self, replications: Sequence[Replication], progress: object = False) -> list[Chosen]:
        return [Chosen(("",), np.full((1, len(one.tested.labels)), self.action)) for one in replications]


@dataclass(frozen=True)
class Uniform:
    """Any action, at random."""

    together: int = 1

    def choose(self, replications: Sequence[Replication], progress: object = False) -> list[Chosen]:
        return [Chosen(("",), self._actions(one)) for one in replications]

    @staticmethod
    def _actions(replication: Replication) -> np.ndarray:
        random = np.random.default_rng([replication.fit_seed, DIGITS, 1])
        return random.integers(DIGITS, size=(1, len(replication.tested.labels)))


@dataclass(frozen=True)
class Learnt:
    """A model of the package, fitted to the log, and the strategies that choose by it.

    completions: of every test image. pixel: the kind of the attributes. full_information: learn from what every action
    would have earned. together: replications that are learnt in one program. support: whether an action must be likely
    enough for such a case, see `prudent.decide.Support`.
    """

    model: CausalPVAE | CPVAE
    strategies: tuple[Strategy, ...]
    completions: int
    pixel: KindOverride = BOUNDED
    full_information: bool = False
    together: int = 1
    support: bool = True

    def choose(self, replications: Sequence[Replication], progress: object = False) -> list[Chosen]:
        first = self._log(replications[0], None)
        logs = [first, *(self._log(one, first) for one in replications[1:])]
        begun = time.perf_counter()
        seed = replications[0].fit_seed
        models = fit_many(self.model, logs, seed, progress, self.support)  # type: ignore[arg-type]
        seconds = (time.perf_counter() - begun) / len(logs)
        return [self._chosen(model, one, seconds) for model, one in zip(models, replications, strict=True)]

    def _log(self, replication: Replication, like: Log | None) -> Log:
        return replication.full_log(self.pixel, like) if self.full_information else replication.log(self.pixel, like)

    def _chosen(self, fitted: Fitted, replication: Replication, fit_seconds: float) -> Chosen:
        begun = time.perf_counter()
        actions = actions_of(fitted, self.strategies, replication.cases(), self.completions)
        names = tuple(name_of(strategy) for strategy in self.strategies)
        return Chosen(names, actions, fit_seconds, time.perf_counter() - begun, fitted)


def policy_of(fitted: Fitted, strategy: Strategy, completions: int) -> Policy:
    """Without a search for worse images than were drawn: the paper has none, and among hundreds of pixels that move
    freely it would find noise that no digit shows."""
    return fitted.policy(strategy, completions=completions, search=Search(steps=0))


def actions_of(fitted: Fitted, strategies: Sequence[Strategy], cases: object, completions: int) -> np.ndarray:
    """The action of every strategy for every case, [strategy, case]; all strategies see the same completions."""
    return chosen_actions([policy_of(fitted, strategy, completions) for strategy in strategies], cases)


def showcase(chosen: Chosen, replication: Replication, completions: int) -> dict[str, np.ndarray]:
    """Ten test images with what the model makes of them: completions, prices and the choice of each strategy."""
    fitted = chosen.fitted
    if fitted is None:
        raise ValueError("only a model that was fitted has completions to show")
    policy = policy_of(fitted, MaximumExpectedReward(), completions)
    encoded = fitted.schema.encode(replication.cases())
    rows = shown_rows(replication.tested, policy.chooser.score(encoded).entropy)
    columns: dict[str, list[np.ndarray]] = {}
    for row in rows:
        drawn, table = policy.pricing.detail(encoded.values[row], encoded.observed[row])
        details = of_completions(fitted.schema, fitted.action_labels, np.asarray(drawn.values), table)
        details |= _of_actions(fitted, table)
        for name, value in details.items():
            columns.setdefault(name, []).append(value)
    part = replication.tested
    return {
        "label": part.labels[rows],
        "pixels": part.pixels[rows],
        "observed": part.observed[rows],
        **{name: np.stack(values) for name, values in columns.items()},
        "strategies": np.array(chosen.strategies),
        "choice": chosen.actions[:, rows].T,
    }


def shown_rows(part: Part, entropy: np.ndarray) -> np.ndarray:
    """One image of each digit: of an even digit the one whose best action is least certain, of an odd digit the first
    there is. Where a digit is missing, whatever image is least certain of those left. In the order of the digits."""
    doubtful = np.argsort(-entropy, kind="stable")
    rows: list[int] = []
    for digit in np.unique(part.labels):
        order = doubtful if digit % 2 == 0 else np.arange(len(part.labels))
        rows.append(int(order[part.labels[order] == digit][0]))
    rows += [int(row) for row in doubtful if row not in rows][: DIGITS - len(rows)]
    return np.array(sorted(rows, key=lambda row: (part.labels[row], row)))


def _of_actions(fitted: Fitted, table: PriceTable) -> dict[str, np.ndarray]:
    prices = {
        "chance": table.best_frequency,
        "expected": table.expected,
        "worst": Conservative(risk=CAREFUL).scores(table),
        "tail": TailAverse(risk=CAREFUL).scores(table),
    }
    codes = [list(fitted.action_labels).index(action) for action in range(DIGITS)]
    return {name: np.asarray(price, np.float64)[codes] for name, price in prices.items()}


def of_completions(
    schema: Schema, labels: Sequence[object], values: np.ndarray, table: PriceTable
) -> dict[str, np.ndarray]:
    """Some completions for all of them: first the heaviest for each action that may be best, then the heaviest of the
    rest. Every other one is counted with the nearest of those for which the same action is best, if there is one."""
    weights, best = np.asarray(table.weights, np.float64), np.asarray(jnp.argmax(table.prices, axis=1))
    kept = _representatives(values, weights, best)
    shares = np.zeros(len(kept))
    for one in np.flatnonzero(weights):
        apart = np.where(best[kept] == best[one], ((values[kept] - values[one]) ** 2).sum(axis=1), np.inf)
        if np.isfinite(apart).any():
            shares[apart.argmin()] += weights[one]
    order = np.argsort(-shares, kind="stable")
    kept, shares = kept[order], shares[order]
    decoded = np.array(list(schema.decode(values[kept]).values()), np.float64).T
    return {
        "completions": np.clip(np.round(decoded), 0, BRIGHTEST).astype(np.uint8),
        "completion_share": shares,
        "completion_action": np.array(labels)[best[kept]],
    }


def _representatives(values: np.ndarray, weights: np.ndarray, best: np.ndarray) -> np.ndarray:
    heaviest = np.argsort(-weights, kind="stable")
    _, first = np.unique(best[heaviest], return_index=True)
    wanted = [*heaviest[np.sort(first)], *heaviest]
    kept: list[int] = []
    for one in wanted:
        if not any(best[one] == best[other] and np.array_equal(values[one], values[other]) for other in kept):
            kept.append(int(one))
    return np.array((kept + kept * SHOWN)[:SHOWN])
