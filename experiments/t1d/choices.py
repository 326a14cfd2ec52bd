"""Whatever chooses a dose for every test meal: rules, rivals, and models of the package with their strategies."""

import time
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from experiments.chosen_actions import Chosen, chosen_actions, name_of
from experiments.pieces import Progress
from experiments.rivals.actions import LoggedDecisions, Rival
from experiments.t1d.data import Replication
from prudent import CPVAE, SPVAE, CausalPVAE, Search
from prudent.decide import Strategy


class Method(Protocol):
    def choose(self, replication: Replication, progress: Progress) -> Chosen: ...


@dataclass(frozen=True)
class Constant:
    """The same dose for every meal: each dose is a row."""

    def choose(self, replication: Replication, progress: Progress) -> Chosen:
        units = replication.units
        doses = np.arange(len(units))[:, None]
        names = tuple(f"{unit:g} units" for unit in units)
        return Chosen(names, np.repeat(doses, len(replication.tested.theta), axis=1))


@dataclass(frozen=True)
class Uniform:
    """Any dose, at random."""

    def choose(self, replication: Replication, progress: Progress) -> Chosen:
        meals, doses = replication.tested.theta.shape
        random = np.random.default_rng([replication.draw.fit_seed, doses])
        return Chosen(("",), random.integers(doses, size=(1, meals)))


@dataclass(frozen=True)
class AsLogged:
    """What the clinic gave."""

    def choose(self, replication: Replication, progress: Progress) -> Chosen:
        return Chosen(("",), replication.tested.actions[None])


@dataclass(frozen=True)
class Oracle:
    """The best dose by the truth."""

    def choose(self, replication: Replication, progress: Progress) -> Chosen:
        return Chosen(("",), replication.tested.theta.argmax(axis=1)[None])


@dataclass(frozen=True)
class BolusCalculator:
    """The rule that clinics and pumps use, with gaps filled by the means of the log, and the nearest dose there is."""

    def choose(self, replication: Replication, progress: Progress) -> Chosen:
        from prudent.worlds.insulin.clinic import calculated_bolus, nearest

        cells = replication.tested.values
        means = np.nanmean(replication.learnt_from.values, axis=0)
        units = calculated_bolus(np.where(np.isnan(cells), means[None], cells))
        return Chosen(("",), nearest(units, replication.units)[None])


@dataclass(frozen=True)
class Rivals:
    """One rival in some variants, each a row."""

    variants: tuple[tuple[str, Rival], ...]

    def choose(self, replication: Replication, progress: Progress) -> Chosen:
        part, seed = replication.learnt_from, replication.draw.fit_seed
        numeric, doses = np.zeros(part.values.shape[1], bool), len(replication.units)
        log = LoggedDecisions.of(part.values, numeric, part.actions, part.rewards, doses)
        actions, fitting, choosing = [], 0.0, 0.0
        for at, (_, rival) in enumerate(self.variants):
            progress(at, len(self.variants))
            begun = time.perf_counter()
            fitted = rival.fit(log, seed=seed)
            learnt = time.perf_counter()
            actions.append(fitted.predict(replication.tested.values))
            fitting, choosing = fitting + learnt - begun, choosing + time.perf_counter() - learnt
        return Chosen(tuple(name for name, _ in self.variants), np.stack(actions), fitting, choosing)


@dataclass(frozen=True)
class Learnt:
    """A model of the package, fitted to the log, and the strategies that choose by it.

    completions: of every test meal; worse ones are not searched for, so that every strategy sees the same. complete:
    learn from and choose for records without gaps. doubt, noise: see `Policy`. together: replications learnt
    in one program.
    """

    model: CausalPVAE | SPVAE | CPVAE
    strategies: tuple[Strategy, ...]
    completions: int
    complete: bool = False
    doubt: float = 0.0
    noise: float = 0.0
    together: int = 1

    def choose(self, replication: Replication, progress: Progress) -> Chosen:
        stored = replication.model(self.model, self.complete, progress)
        fitted, begun = stored.fitted, time.perf_counter()
        search = Search(steps=0)
        bold = fitted.policy(completions=self.completions, search=search, doubt=self.doubt, noise=self.noise)
        policies = [replace(bold, strategy=strategy) for strategy in self.strategies]
        actions = chosen_actions(policies, replication.cases(self.complete))
        names = tuple(name_of(strategy) for strategy in self.strategies)
        return Chosen(names, actions, stored.seconds, time.perf_counter() - begun, fitted, stored.machine)
