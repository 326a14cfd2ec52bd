"""Many readers of the same price tables: what they complete, price or search for alike is done once for all of them."""

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

import jax
import numpy as np
from jaxtyping import Array

from prudent.decide.completions import PriceTable
from prudent.decide.pricing import Pricing, completed_together
from prudent.networks import compiled
from prudent.table import Encoded

Reading = Callable[[PriceTable], tuple[Array, ...]]
"""From the price table of one record to arrays; an Equinox module, so that equal ones are compiled once."""


class Reader(Protocol):
    """Wants something of the price tables of many records."""

    @property
    def pricing(self) -> Pricing: ...

    @property
    def reading(self) -> Reading: ...


def read_together(readers: Sequence[Reader], encoded: Encoded) -> list[list[np.ndarray]]:
    """What each makes of all rows, chunk by chunk: tables are not kept, so memory hardly grows with the rows."""
    pricings = [reader.pricing for reader in readers]
    parts: list[list[list[np.ndarray]]] = [[] for _ in readers]
    for drawn_alike in _grouped(range(len(readers)), pricings, Pricing.draws_like):
        if not all(pricings[number].examined for number in drawn_alike):
            # what one of them needs is there for all
            for number in drawn_alike:
                pricings[number] = pricings[number].variant(every_density=True)
        tables_alike = _grouped(drawn_alike, pricings, Pricing.shared_with)
        different = [pricings[numbers[0]] for numbers in tables_alike]
        for chunk in completed_together(different, encoded):
            for numbers, (_, tables) in zip(tables_alike, chunk, strict=True):
                read = read_tables([readers[number] for number in numbers], tables)
                for number, arrays in zip(numbers, read, strict=True):
                    parts[number].append(arrays)
    rows = len(encoded.flags)  # the last chunk is padded
    return [[np.concatenate(arrays)[:rows] for arrays in zip(*chunks, strict=True)] for chunks in parts]


def read_tables(readers: Sequence[Reader], tables: PriceTable) -> list[list[np.ndarray]]:
    """What each makes of the tables of a chunk, as arrays with a leading row axis."""
    read = _read(tuple(reader.reading for reader in readers), tables)
    return [[np.asarray(array, np.float64) for array in arrays] for arrays in read]


@compiled
def _read(readings: tuple[Reading, ...], tables: PriceTable) -> tuple[tuple[Array, ...], ...]:
    """One program for all: the compiler does what they have in common, such as sorting, once."""
    return tuple(jax.vmap(reading)(tables) for reading in readings)


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
