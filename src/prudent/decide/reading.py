"""Many readers of the same price tables: what they complete, price or search for alike is done once for all of them."""

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

import numpy as np
from jaxtyping import Array

from prudent.decide.completions import PriceTable
from prudent.decide.pricing import Pricing, completed_together
from prudent.table import Encoded


class Reader(Protocol):
    """Makes arrays with a leading row axis of the price tables of many records."""

    @property
    def pricing(self) -> Pricing: ...

    def read(self, tables: PriceTable) -> tuple[Array, ...]: ...


def read_together(readers: Sequence[Reader], encoded: Encoded) -> list[list[np.ndarray]]:
    """What each makes of all rows, chunk by chunk: tables are not kept, so memory hardly grows with the rows."""
    pricings = [reader.pricing for reader in readers]
    parts: list[list[list[np.ndarray]]] = [[] for _ in readers]
    for drawn_alike in _grouped(range(len(readers)), pricings, Pricing.draws_like):
        tables_alike = _grouped(drawn_alike, pricings, Pricing.shared_with)
        different = [pricings[numbers[0]] for numbers in tables_alike]
        for chunk in completed_together(different, encoded):
            for numbers, (_, tables) in zip(tables_alike, chunk, strict=True):
                for number in numbers:
                    parts[number].append([np.asarray(array, np.float64) for array in readers[number].read(tables)])
    rows = len(encoded.flags)  # the last chunk is padded
    return [[np.concatenate(arrays)[:rows] for arrays in zip(*chunks, strict=True)] for chunks in parts]


def _grouped(
    numbers: Iterable[int], pricings: Sequence[Pricing], alike: Callable[[Pricing, Pricing], bool]
) -> list[list[int]]:
    """The readers, by number, in groups whose pricings are alike."""
    groups: list[list[int]] = []
    for number in numbers:
        group = next((one for one in groups if alike(pricings[one[0]], pricings[number])), None)
        if group is None:
            groups.append([number])
        else:
            group.append(number)
    return groups
