"""A folder that holds the parts of one table, as other tools write them."""

from pathlib import Path

from prudent.errors import InputProblem
from prudent.table.sources.text import TEXT_ENDINGS
from prudent.table.sources.typed_files import PARQUET


def parts_of(folder: Path) -> list[Path]:
    """All its parquet or all its csv files, in the order of their names; no hidden files, nor those of Spark."""
    files = sorted(
        path
        for path in folder.rglob("*")
        if path.is_file() and not any(name.startswith((".", "_")) for name in path.relative_to(folder).parts)
    )
    typed = [path for path in files if path.name.lower().endswith(PARQUET)]
    texts = [path for path in files if path.name.lower().endswith(TEXT_ENDINGS)]
    if bool(typed) == bool(texts):
        raise InputProblem(
            f"The folder '{folder}' must hold the parts of one table, parquet files or csv files, and it holds "
            f"{len(typed)} parquet and {len(texts)} csv files; name a file or another folder."
        )
    return typed or texts
