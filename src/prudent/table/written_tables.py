"""Tables written as csv, tsv, parquet or a workbook, by the ending of a name."""

from typing import BinaryIO

import polars as pl

from prudent.table.sources.workbook import workbook_bytes

WRITTEN_TEXT = {".csv": ",", ".tsv": "\t"}
PARQUET_ENDINGS = (".parquet", ".pq")
WRITTEN_WORKBOOK = ".xlsx"


def write_frame(frame: pl.DataFrame, file: BinaryIO, ending: str) -> None:
    """Write to an open file, in the format that the ending stands for."""
    if ending in PARQUET_ENDINGS:
        frame.write_parquet(file)
    elif ending == WRITTEN_WORKBOOK:
        file.write(workbook_bytes(frame))
    else:
        frame.write_csv(file, separator=WRITTEN_TEXT[ending])
