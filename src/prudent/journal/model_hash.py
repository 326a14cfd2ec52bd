"""Which model gave a piece of advice."""

import hashlib
from os import PathLike
from pathlib import Path

from prudent.models import read_description


def hash_of(folder: str | PathLike[str]) -> str:
    """The SHA-256 of the folder's model.json, which holds that of its arrays, as sha256sum prints it."""
    return hashlib.sha256(read_description(Path(folder))).hexdigest()
