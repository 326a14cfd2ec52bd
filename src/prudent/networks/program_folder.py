"""The folder of compiled programs: native code, so nobody else can write to it, and damaged entries are removed.

JAX writes its entries neither whole nor bounded: a process that is killed leaves half a program, which every later one
would try to read, and warn about, and a folder grows with every log of a new shape.
"""

import contextlib
import os
import stat
import time
import zlib
from pathlib import Path

LARGEST = 2_000_000_000
"""Bytes of all programs; the ones that were not used for longest go first, until a quarter is free."""
CHECKED = "checked"
"""The file whose time says up to when entries were looked at."""
BEING_WRITTEN = 60.0
"""Seconds for which an entry may still be unfinished."""
_ZSTANDARD = b"\x28\xb5\x2f\xfd"


def private_folder(folder: Path) -> bool:
    """Make a folder that nobody else can write to or look into. False where that cannot be had."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not all(_is_safe(place) for place in folder.resolve().parents):
            return False
        if hasattr(os, "getuid") and folder.stat().st_uid != os.getuid():
            return False
        folder.chmod(0o700)
    except OSError:
        return False
    return True


def _is_safe(place: Path) -> bool:
    """Whether others cannot exchange the folders in it: what they may write to is sticky, as /tmp is."""
    mode = place.stat().st_mode
    return not mode & stat.S_IWOTH or bool(mode & stat.S_ISVTX)


def tidy(folder: Path, largest: int = LARGEST) -> None:
    """Remove entries that cannot be read and, beyond the largest size, those that were not used for longest."""
    with contextlib.suppress(OSError):
        marker, now = folder / CHECKED, time.time()
        since = marker.stat().st_mtime if marker.exists() else 0.0
        until = now - BEING_WRITTEN
        entries = [entry for entry in os.scandir(folder) if entry.is_file(follow_symlinks=False)]
        entries = [entry for entry in entries if entry.name != CHECKED]
        for entry in entries:
            if since < entry.stat().st_mtime <= until and not _is_readable(Path(entry.path)):
                _remove(entry.path)
        _shrink(entries, largest)
        marker.touch(mode=0o600)
        os.utime(marker, (until, until))


def _is_readable(path: Path) -> bool:
    content = path.read_bytes()
    if content.startswith(_ZSTANDARD):
        return True
    try:
        return len(zlib.decompress(content)) > 0
    except zlib.error:
        return path.name.endswith("-atime")


def _shrink(entries: list[os.DirEntry[str]], largest: int) -> None:
    found = [(entry.stat(), entry.path) for entry in entries if os.path.exists(entry.path)]
    size = sum(one.st_size for one, _ in found)
    if size <= largest:
        return
    for one, path in sorted(found, key=lambda pair: max(pair[0].st_atime, pair[0].st_mtime)):
        if size <= largest * 3 / 4:
            return
        _remove(path)
        size -= one.st_size


def _remove(path: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(path)
