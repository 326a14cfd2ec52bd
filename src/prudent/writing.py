"""Files written whole or not at all: the one place where prudent replaces a file, and the lock of a folder.

The new content goes to a file of its own beside the old one, is flushed to disk and then renamed: a reader, a crash or
a full disk sees the old file or the new one, never a part of either.
"""

import contextlib
import hashlib
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None

_ENDING = ".part"
_unfinished: set[Path] = set()
"""The files that this process is writing now."""
_NO_LINKS = getattr(os, "O_NOFOLLOW", 0)


def write_whole(path: Path, content: bytes, through_links: bool = True) -> None:
    with whole_file(path, through_links) as file:
        file.write(content)


@contextmanager
def whole_file(path: Path, through_links: bool = True) -> Iterator[BinaryIO]:
    """A file to write to that becomes `path` when the block ends well, and vanishes when it does not.

    An existing file keeps its mode; what an interrupted write of the same file left behind goes. A device or a pipe is
    written to directly. through_links: where `path` is a link, replace the file it points to, or else the link itself.
    """
    path = Path(os.path.realpath(path)) if through_links else path
    mode = _mode(path)
    if mode is not None and not stat.S_ISREG(mode) and through_links:
        with path.open("wb") as file:
            yield file
        return
    file, temporary = _beside(path)
    _unfinished.add(temporary)
    try:
        with file:
            if mode is not None and stat.S_ISREG(mode):
                os.fchmod(file.fileno(), stat.S_IMODE(mode))
            yield file
            file.flush()
            os.fsync(file.fileno())
            os.replace(temporary, path)  # while it is locked, so that nobody takes it for a leftover
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    finally:
        _unfinished.discard(temporary)
    _flush_folder(path.parent)
    remove_leftovers(path)


def remove_unfinished() -> None:
    """Remove what this process has begun to write, before it ends in the middle."""
    for temporary in list(_unfinished):
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def _mode(path: Path) -> int | None:
    try:
        return path.lstat().st_mode
    except FileNotFoundError:
        return None


def _beside(path: Path) -> tuple[BinaryIO, Path]:
    """A new file that nobody else has, locked; never one that was there, nor a link to one."""
    while True:
        temporary = path.with_name(f"{_mark(path)}{secrets.token_hex(4)}{_ENDING}")
        try:
            number = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_LINKS, 0o666)
        except FileExistsError:
            continue
        file = os.fdopen(number, "wb")
        _try_lock(number)
        if temporary.exists():  # another writer may have taken it for a leftover before it was locked
            return file, temporary
        file.close()


def _mark(path: Path) -> str:
    """How the unfinished files of a path begin: short, whatever the length of its name."""
    return f".{hashlib.sha256(os.fsencode(path.name)).hexdigest()[:12]}-"


def is_unfinished(path: Path) -> bool:
    """Whether it is a file that prudent began to write and did not finish."""
    name = path.name
    words = name.removeprefix(".").removesuffix(_ENDING).split("-")
    hexadecimal = all(word and set(word) <= set("0123456789abcdef") for word in words)
    return name.startswith(".") and name.endswith(_ENDING) and [len(word) for word in words] == [12, 8] and hexadecimal


def remove_leftovers(path: Path) -> None:
    """Remove what interrupted writes of this file left behind; one that is being written is locked, and stays."""
    mark = _mark(path)
    with contextlib.suppress(OSError):
        for entry in os.scandir(path.parent):
            if entry.name.startswith(mark) and entry.name.endswith(_ENDING) and entry.is_file(follow_symlinks=False):
                remove_abandoned(Path(entry.path))


def remove_abandoned(unfinished: Path) -> None:
    """Remove an unfinished file, unless somebody is writing it."""
    with contextlib.suppress(OSError):
        number = os.open(unfinished, os.O_RDONLY | _NO_LINKS)
        try:
            if _try_lock(number):
                unfinished.unlink()
        finally:
            os.close(number)


def _try_lock(number: int) -> bool:
    """Lock an open file for as long as it is open; False where somebody else has it."""
    if fcntl is None:
        return False
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _flush_folder(folder: Path) -> None:
    """The renaming itself, too, survives a power cut; some file systems cannot be told so."""
    with contextlib.suppress(OSError):
        number = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)


@contextmanager
def only_writer(folder: Path) -> Iterator[None]:
    """Wait until nobody else writes to the folder, and keep others waiting meanwhile; readers need not wait.

    The folder itself is locked, so no file of the lock stays behind. File systems without locks have none.
    """
    if fcntl is None:
        yield
        return
    number = os.open(folder, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):
            fcntl.flock(number, fcntl.LOCK_EX)
        yield
    finally:
        os.close(number)
