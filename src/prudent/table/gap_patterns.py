"""Which cells of a table are missing, and which are missing together."""

from dataclasses import dataclass

import numpy as np

from prudent.errors import require


@dataclass(frozen=True)
class GapPatterns:
    """Which cells are missing together: `common` holds the most frequent patterns, as (attributes missing, rows)."""

    gap_share: float
    share_per_attribute: tuple[float, ...]
    complete_rows: int
    empty_rows: int
    distinct_patterns: int
    common: tuple[tuple[tuple[int, ...], int], ...]


def gap_patterns(observed: np.ndarray, most: int = 5) -> GapPatterns:
    """Summarise the gaps of a mask [row, attribute], True where a cell is present.

    >>> gap_patterns(np.array([[True, False], [True, False], [True, True]])).common
    (((1,), 2), ((), 1))
    """
    mask = np.asarray(observed, dtype=bool)
    require(mask.ndim == 2 and mask.size > 0, "gap_patterns", "observed", "be a filled [row, attribute]", mask.shape)
    packed, counts = np.unique(np.packbits(~mask, axis=1), axis=0, return_counts=True)
    missing = np.unpackbits(packed, axis=1, count=mask.shape[1]).astype(bool)
    frequent = np.argsort(-counts, kind="stable")[:most]
    return GapPatterns(
        gap_share=float(1 - mask.mean()),
        share_per_attribute=tuple((1 - mask.mean(axis=0)).tolist()),
        complete_rows=int(mask.all(axis=1).sum()),
        empty_rows=int((~mask).all(axis=1).sum()),
        distinct_patterns=len(counts),
        common=tuple((tuple(np.flatnonzero(missing[at]).tolist()), int(counts[at])) for at in frequent),
    )
