"""Compressed files: recognised by their first bytes, and unpacked to a size that fits the file."""

import bz2
import gzip
import io
import lzma
import re
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO

from prudent.errors import InputProblem
from prudent.table.sources.libraries import library

PACKED = ("", ".gz", ".bz2", ".xz", ".zst", ".zip")
"""What may follow the ending of a text file."""
_MARKS = {
    "gz": re.compile(rb"\x1f\x8b"),
    "bz2": re.compile(rb"BZh[1-9](1AY&SY|\x17rE8P\x90)"),
    "xz": re.compile(rb"\xfd7zXZ\0"),
    "zst": re.compile(rb"\x28\xb5\x2f\xfd"),
    "zip": re.compile(rb"PK\x03\x04"),
}
_OPENERS = {"gz": gzip.open, "bz2": bz2.open, "xz": lzma.open}

MOST_TIMES, ALWAYS_FINE = 100, 256 * 2**20
"""A table is seldom a hundredth of its size when packed; a file that is made to fill the memory is a thousandth."""
_PIECE, _SMALL_PIECE = 2**20, 2**12
DAMAGE = (EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, NotImplementedError)


def unpacked(file: Path) -> bytes:
    """The content of a file, of the one file in it if it is packed."""
    with file.open("rb") as opened:
        start = opened.read(16)
    kind = next((name for name, mark in _MARKS.items() if mark.match(start)), None)
    if kind is None:
        return file.read_bytes()
    if kind == "zip":
        with zipfile.ZipFile(file) as archive, archive.open(_only_member(file, archive)) as member:
            return _within_limit(file, _pieces(member))
    if kind == "zst":
        return _within_limit(file, _zstandard_pieces(file))
    with _OPENERS[kind](file, "rb") as stream:
        return _within_limit(file, _pieces(stream))


def _pieces(stream: IO[bytes]) -> Iterator[bytes]:
    while piece := stream.read(_PIECE):
        yield piece


def _zstandard_pieces(file: Path) -> Iterator[bytes]:
    """Frame by frame, since the library's own stream ends quietly where a file was cut off."""
    zstandard = library("zstandard", "files", f"Unpacking '{file}'")
    frame = None
    with file.open("rb") as packed:
        rest = b""
        while rest := rest or packed.read(_SMALL_PIECE):
            frame = frame or zstandard.ZstdDecompressor().decompressobj()
            try:
                yield frame.decompress(rest)
            except zstandard.ZstdError as problem:
                raise EOFError(str(problem)) from problem
            rest = frame.unused_data
            frame = None if frame.eof else frame
    if frame is not None:
        raise EOFError("the compressed file ended before its end mark")


def _within_limit(file: Path, pieces: Iterable[bytes]) -> bytes:
    content = io.BytesIO()
    for piece in pieces:
        content.write(piece)
        _check_size(file, content.tell(), "unpack it first")
    return content.getvalue()


def _check_size(file: Path, size: int, way_out: str) -> None:
    if size > max(ALWAYS_FINE, MOST_TIMES * file.stat().st_size):
        raise InputProblem(
            f"'{file}' becomes more than {MOST_TIMES} times as large when it is unpacked, as files do that are made to "
            f"fill the memory; if it is a table, {way_out}."
        )


def check_archive(file: Path) -> None:
    """Refuse a workbook that says itself that it would fill the memory; old ones are not compressed."""
    if zipfile.is_zipfile(file):
        with zipfile.ZipFile(file) as archive:
            _check_size(file, sum(member.file_size for member in archive.infolist()), "save it as a .csv file")


def _only_member(file: Path, archive: zipfile.ZipFile) -> zipfile.ZipInfo:
    members = [
        member
        for member in archive.infolist()
        if not member.is_dir() and not member.filename.startswith("__MACOSX/") and member.file_size
    ]
    if len(members) != 1:
        names = ", ".join(f"'{member.filename}'" for member in members[:6]) or "none"
        raise InputProblem(f"'{file}' must hold one file, and it holds {len(members)} ({names}); unpack it first.")
    if members[0].flag_bits & 1:
        raise InputProblem(f"'{file}' is locked with a password; unpack it first.")
    return members[0]
