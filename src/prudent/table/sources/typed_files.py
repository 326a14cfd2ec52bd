"""Files that know the types of their columns: parquet, arrow, and folders of parquet parts."""

from collections.abc import Sequence
from pathlib import Path

import polars as pl

PARQUET = (".parquet", ".pq")
ARROW = (".arrow", ".feather", ".ipc")


def read_parquet(files: Sequence[Path], folder: Path | None = None) -> pl.DataFrame:
    """A file, or parts with the same columns. folder: where these lie; folders as site=north in it become a column."""
    if folder is None:
        return plain_numbers(pl.read_parquet(files[0], glob=False))
    scan = pl.scan_parquet(list(files), glob=False, hive_partitioning=any("=" in part.parent.name for part in files))
    return plain_numbers(scan.collect())


def read_arrow(file: Path) -> pl.DataFrame:
    return plain_numbers(pl.read_ipc(file))


def plain_numbers(frame: pl.DataFrame) -> pl.DataFrame:
    """Decimals as numbers, as everything that follows reads them."""
    return frame.with_columns(cells.cast(pl.Float64) for cells in frame if cells.dtype.is_decimal())
