"""Where a table is: a file, a folder or the URL of a database, shown without its password."""

import os
import re
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from urllib.parse import unquote

from prudent.errors import InputProblem

_URL = re.compile(r"^postgres(?:ql)?://", re.IGNORECASE)
_PASSWORD_OPTION = re.compile(r"(?i)\b((?:ssl)?password\s*=\s*)('[^']*'|[^\s&#]*)")


@dataclass(frozen=True, repr=False)
class Place:
    """As text it has no password, so that messages, notes and reports have none; only `address` has it.

    name: of a table or sheet in it, which may follow behind a #.

    >>> str(Place.of("postgresql://ward:s3cret@host/clinic")), Place.of("clinic.duckdb#visits").name
    ('postgresql://ward@host/clinic', 'visits')
    """

    address: str
    name: str | None = None

    @staticmethod
    def of(path: "str | PathLike[str] | Place") -> "Place":
        if isinstance(path, Place):
            return path
        if not isinstance(path, str | PathLike):
            raise InputProblem(
                f"A file is read from its path, and this is a {type(path).__name__}; a table that is already in "
                f"memory, of pandas or polars, goes straight into Log.from_frame(frame, action=..., reward=...)."
            )
        address = os.fsdecode(path)
        before, mark, name = address.rpartition("#")
        if not mark or not before or not name or "@" in name:  # within a password it was not meant as a name
            return Place(address)
        is_file = _URL.match(address) is None and os.path.exists(address)
        return Place(address) if is_file else Place(before, name)

    @property
    def is_url(self) -> bool:
        return _URL.match(self.address) is not None

    @property
    def path(self) -> Path | None:
        """None for a database behind a URL."""
        return None if self.is_url else Path(self.address)

    @property
    def password(self) -> str:
        """As it is written in the URL; empty where there is none."""
        return _split(self.address)[1] if self.is_url else ""

    def __str__(self) -> str:
        shown = self.address
        if self.is_url:
            before, password, after = _split(self.address)
            shown = before + after if password else self.address
        return _PASSWORD_OPTION.sub(r"\1***", shown) + (f"#{self.name}" if self.name else "")

    __repr__ = __str__

    def without_secrets(self, text: str) -> str:
        """A message of somebody else about this place, without the password in any spelling."""
        options = [match.group(2) for match in _PASSWORD_OPTION.finditer(self.address)]
        text = text.replace(self.address, str(self))
        for secret in filter(None, (self.password, *options)):
            for spelling in {secret, unquote(secret), secret.strip("'")}:
                text = text.replace(spelling, "***")
        return text


def _split(url: str) -> tuple[str, str, str]:
    """A URL around its password, which may hold any sign: even an @ that should have been written as %40."""
    scheme, _, rest = url.partition("://")
    user, at, after = rest.rpartition("@")
    name, colon, password = user.partition(":")
    return (f"{scheme}://{name}", password, at + after) if colon else (url, "", "")
