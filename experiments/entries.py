"""Entries of an experiment: methods under a name, and the rows of results that their choices make."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from experiments.chosen_actions import StoredChoices
from experiments.results import Results, six_digits

Method = TypeVar("Method")


@dataclass(frozen=True)
class Entry(Generic[Method]):
    """A method under a name; each of its strategies, or variants, is a row of the tables."""

    name: str
    method: Method
    group: str

    def row(self, strategy: str) -> str:
        return f"{self.name}, {strategy}" if strategy else self.name


def rows_of(
    entry: Entry, stored: Mapping[int, StoredChoices], numbers: Callable[[dict[int, np.ndarray]], Results]
) -> list[Results]:
    """A row for each strategy; `stored` are an entry's choices by replication, and `numbers` judges those of one
    strategy."""
    first = next(iter(stored.values()))
    seconds = float(np.mean([choices.fit_seconds + choices.choose_seconds for choices in stored.values()]))
    rows = []
    for at, strategy in enumerate(first.strategies):
        actions = {index: choices.actions[at] for index, choices in stored.items()}
        name = {"name": entry.row(strategy), "group": entry.group, "model": entry.name, "strategy": strategy}
        rows.append(name | numbers(actions) | {"seconds": six_digits(seconds), "machine": first.machine})
    return rows
