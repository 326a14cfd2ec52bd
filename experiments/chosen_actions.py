"""What entries choose: the action of every strategy for every test case, and how it is stored."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from experiments.pieces import read_arrays, write_arrays
from prudent.decide import Policy, Strategy, score_together
from prudent.models import Fitted

SHOWCASE = "showcase_"


def name_of(strategy: Strategy) -> str:
    """
    >>> from prudent import Conservative, MaximumExpectedReward
    >>> name_of(MaximumExpectedReward()), name_of(Conservative(c=0.7, paper_literal=True))
    ('MaximumExpectedReward', 'Conservative(c=0.7)')
    >>> name_of(Conservative(c=0.7, paper_literal=True, per_attribute=True))
    'PerAttribute(c=0.7)'
    """
    name = repr(strategy).removesuffix("()").replace(", paper_literal=True", "")
    by_attribute = name.replace(", per_attribute=True", "")
    return name if name == by_attribute else by_attribute.replace("Conservative", "PerAttribute")


@dataclass(frozen=True, eq=False)
class Chosen:
    """Actions [strategy, test case], and how long it took; `fitted` is the model, where one was fitted, and `machine`
    where that model was learnt if it had been stored before."""

    strategies: tuple[str, ...]
    actions: np.ndarray
    fit_seconds: float = 0.0
    choose_seconds: float = 0.0
    fitted: Fitted | None = field(default=None, repr=False)
    machine: str = ""


def chosen_actions(policies: Sequence[Policy], cases: object) -> np.ndarray:
    """The label of the action of every policy for every case, [policy, case]; policies of one model share its draws."""
    fitted = policies[0].fitted
    encoded = fitted.schema.encode(cases)
    every_score = score_together([policy.chooser for policy in policies], encoded)
    pairs = zip(policies, every_score, strict=True)
    codes = [policy.chooser.probabilities(scored, encoded).argmax(axis=1) for policy, scored in pairs]
    return np.array(fitted.action_labels)[np.stack(codes)]


@dataclass(frozen=True, eq=False)
class StoredChoices:
    """What is stored of an entry's choices: actions [strategy, test case], and how long they took on which machine.

    showcase: arrays by name; empty except in the one piece that makes the showcase.
    """

    strategies: tuple[str, ...]
    actions: np.ndarray
    fit_seconds: float
    choose_seconds: float
    machine: str
    showcase: dict[str, np.ndarray] = field(default_factory=dict)

    @classmethod
    def of(cls, chosen: Chosen, machine: str, cases: int, actions: int) -> "StoredChoices":
        """Refused unless there is a valid action of every strategy for every test case."""
        shape = (len(chosen.strategies), cases)
        if chosen.actions.shape != shape or not np.isin(chosen.actions, np.arange(actions)).all():
            raise ValueError(f"the choices are not one of {actions} actions for each of {cases} cases")
        where = machine if chosen.machine in ("", machine) else f"{chosen.machine}; chosen on {machine}"
        return cls(chosen.strategies, chosen.actions, chosen.fit_seconds, chosen.choose_seconds, where)

    @classmethod
    def load(cls, path: Path, fingerprint: str) -> "StoredChoices | None":
        """None where nothing complete is stored under this fingerprint."""
        arrays = read_arrays(path, fingerprint)
        if arrays is None:
            return None
        shown = {name.removeprefix(SHOWCASE): array for name, array in arrays.items() if name.startswith(SHOWCASE)}
        strategies = tuple(str(name) for name in arrays["strategies"])
        seconds = float(arrays["fit_seconds"]), float(arrays["choose_seconds"])
        return cls(strategies, arrays["actions"].astype(np.int64), *seconds, str(arrays["machine"]), shown)

    def save(self, path: Path, fingerprint: str) -> None:
        arrays = {
            "strategies": np.array(self.strategies),
            "actions": self.actions.astype(np.uint8),
            "fit_seconds": np.array(self.fit_seconds),
            "choose_seconds": np.array(self.choose_seconds),
            "machine": np.array(self.machine),
        }
        shown = {f"{SHOWCASE}{name}": array for name, array in self.showcase.items()}
        write_arrays(path, fingerprint, arrays | shown)
