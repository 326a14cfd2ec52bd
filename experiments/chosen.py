"""What entries choose: the action of every strategy for every test case, and how it is kept."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from experiments.kept import read_arrays, write_arrays
from prudent.decide import Policy, Strategy, score_together
from prudent.models import Fitted

SHOWCASE = "showcase_"


def name_of(strategy: Strategy) -> str:
    """
    >>> from prudent import Conservative, MaximumExpectedReward
    >>> name_of(MaximumExpectedReward()), name_of(Conservative(c=0.7, paper_literal=True))
    ('MaximumExpectedReward', 'Conservative(c=0.7)')
    """
    return repr(strategy).removesuffix("()").replace(", paper_literal=True", "")


@dataclass(frozen=True, eq=False)
class Chosen:
    """Actions [strategy, test case], and how long it took; `fitted` where a model was, and `machine` where a kept one
    was learnt."""

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
    judged = score_together([policy.chooser for policy in policies], encoded)
    pairs = zip(policies, judged, strict=True)
    chosen = [policy.chooser.probabilities(scored, encoded).argmax(axis=1) for policy, scored in pairs]
    return np.array(fitted.action_labels)[np.stack(chosen)]


@dataclass(frozen=True, eq=False)
class Kept:
    """What is kept of an entry's choices: actions [strategy, test case], and how long they took where.

    showcase: arrays by name, empty but in the one piece that makes it.
    """

    strategies: tuple[str, ...]
    actions: np.ndarray
    fit_seconds: float
    choose_seconds: float
    machine: str
    showcase: dict[str, np.ndarray] = field(default_factory=dict)

    @classmethod
    def of(cls, chosen: Chosen, machine: str, rows: int, actions: int) -> "Kept":
        """Once the choices are seen to be an action of every strategy for every test case."""
        own = chosen.actions
        if own.shape != (len(chosen.strategies), rows) or not np.isin(own, np.arange(actions)).all():
            raise ValueError(f"the choices are not one of {actions} actions for each of {rows} cases")
        where = machine if chosen.machine in ("", machine) else f"{chosen.machine}; chosen on {machine}"
        return cls(chosen.strategies, own, chosen.fit_seconds, chosen.choose_seconds, where)

    @classmethod
    def load(cls, path: Path, fingerprint: str) -> "Kept | None":
        """What is kept, or None where there is nothing, or nothing whole, or the settings were others."""
        kept = read_arrays(path, fingerprint)
        if kept is None:
            return None
        shown = {name.removeprefix(SHOWCASE): own for name, own in kept.items() if name.startswith(SHOWCASE)}
        strategies = tuple(str(name) for name in kept["strategies"])
        seconds = float(kept["fit_seconds"]), float(kept["choose_seconds"])
        return cls(strategies, kept["actions"].astype(np.int64), *seconds, str(kept["machine"]), shown)

    def save(self, path: Path, fingerprint: str) -> None:
        arrays = {
            "strategies": np.array(self.strategies),
            "actions": self.actions.astype(np.uint8),
            "fit_seconds": np.array(self.fit_seconds),
            "choose_seconds": np.array(self.choose_seconds),
            "machine": np.array(self.machine),
        }
        write_arrays(path, fingerprint, arrays | {f"{SHOWCASE}{name}": own for name, own in self.showcase.items()})
