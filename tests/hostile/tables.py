"""Odd tables, drawn from a seed: what a careless export, a damaged file or an ill-disposed author may hand over."""

import csv
import datetime
import decimal
import io
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl

Cells = Callable[[random.Random], object]

CELLS: dict[str, Cells] = {
    "number": lambda r: round(r.gauss(50, 20), r.randrange(4)),
    "whole": lambda r: r.randrange(-3, 40),
    "code": lambda r: f"{r.randrange(1000):03d}",
    "version": lambda r: r.choice(["1.1", "1.10", "2.0", "2"]),
    "long number": lambda r: str(10**19 + r.randrange(1000)),
    "digits": lambda r: "9" * r.choice([5, 20, 400]),
    "label": lambda r: r.choice(["north", "South", "north ", "east"]),
    "mark": lambda r: r.choice(["NA", "None", "-", "?", "", "x", "y"]),
    "truth": lambda r: r.choice(["true", "False", "yes", "0", ""]),
    "day": lambda r: f"2024-{r.randrange(1, 13):02d}-{r.randrange(1, 32):02d}",
    "day as number": lambda r: 20240100 + r.randrange(1, 29),
    "odd number": lambda r: r.choice(
        ["1,250", "3,14", "12 %", "<5", "1 234", "1e5", "-0", "1e400", "nan", "inf", "①", "٣"]
    ),
    "extreme": lambda r: r.choice([1e30, -1e30, 1e308, 5e-324, 1e-300, float("inf"), 0.0, 1.0]),
    "control": lambda r: r.choice(["a\x1b[2J", "b\nc", "d\re", "\x00f", "\u202eg", "\t=1+1"]),
    "formula": lambda r: r.choice(["=cmd|' /C calc'!A0", "+1+1", "-2+3", "@SUM(A1)"]),
    "wide": lambda r: r.choice(["🏥" * 50, "x" * 5000, "é", "汉字", "[bold]", "a;b;c", '"']),
    "empty": lambda r: "",
    "constant": lambda r: "same",
    "slip": lambda r: r.choice([1.5, 2.5, 3.5] * 9 + ["old"]),
}
ACTIONS: dict[str, Cells] = {
    "few": lambda r: r.choice("abc"),
    "doses": lambda r: r.choice([0, 5, 10]),
    "codes": lambda r: r.choice(["01", "02"]),
    "marks": lambda r: r.choice(["None", "NA", "drug"]),
    "control": lambda r: r.choice(["a\x1b[2J", "b\nc", "=1+1"]),
    "rare": lambda r: "b" if r.random() < 0.02 else "a",
    "one": lambda r: "only",
    "many": lambda r: r.randrange(10_000),
}
REWARDS: dict[str, Cells] = {
    "number": lambda r: r.gauss(0, 1),
    "truth": lambda r: r.randrange(2),
    "large": lambda r: 1e7 + r.gauss(0, 1),
    "absurd": lambda r: r.choice([1e39, 0.5, 1.5]),
    "slip": lambda r: r.choice([0.5, 1.5, -2.5] * 9 + ["bad", ""]),
    "constant": lambda r: 1.0,
    "infinite": lambda r: r.choice([0.5, float("inf"), float("nan")]),
    "percent": lambda r: f"{r.randrange(100)} %",
}
OBJECTS: dict[str, Cells] = {
    "duration": lambda r: datetime.timedelta(hours=r.randrange(99)),
    "decimal": lambda r: decimal.Decimal(r.randrange(99)) / 7,
    "list": lambda r: [r.randrange(3)],
    "mixed": lambda r: r.choice([1, "a", None, 2.5, datetime.date(2024, 1, 1)]),
    "bytes": lambda r: b"\xff\x00",
    "surrogate": lambda r: r.choice(["\ud800", "a"]),
    "large": lambda r: r.choice([10**400, 1]),
    "complex": lambda r: 1j,
}
NAMES = (
    "age",
    "x\x1b[31m",
    "a\nb",
    "n" * 300,
    "[bold]",
    "=1+1",
    "",
    " ",
    "ward",
    "é",
    "1",
    "*",
    "x[0]",
    "outcome2",
    "\u202ename",
)
ROWS = (0, 1, 7, 30, 60, 60, 120, 120)
DAMAGE: tuple[Callable[[bytes, random.Random], bytes], ...] = (
    lambda content, r: content[: r.randrange(len(content) + 1)],
    lambda content, r: content.replace(b",", b";"),
    lambda content, r: b"\xef\xbb\xbf" + content,
    lambda content, r: content.decode().encode("utf-16"),
    lambda content, r: content.replace(b"\n", b"\r\n"),
    lambda content, r: content + b"1,2\n",
    lambda content, r: content + b'"open quote',
    lambda content, r: content + b"," * 50 + b"\n",
    lambda content, r: _flipped(content, r),
)


def _flipped(content: bytes, r: random.Random) -> bytes:
    if not content:
        return content
    place = r.randrange(len(content))
    return content[:place] + bytes([content[place] ^ 1 << r.randrange(8)]) + content[place + 1 :]


def odd_columns(r: random.Random, kinds: dict[str, Cells]) -> dict[str, list[Any]]:
    """A table by column; the action is 'act' and the reward 'y', mostly."""
    rows = r.choice(ROWS)
    names = r.sample(NAMES, r.randrange(1, 6))
    columns = {name: _column(r, r.choice(list(kinds.values())), rows) for name in names}
    columns["act"] = _column(r, r.choice([ACTIONS["few"], *ACTIONS.values()]), rows, gaps=0.05)
    columns["y"] = _column(r, r.choice([REWARDS["number"], *REWARDS.values()]), rows, gaps=0.05)
    return columns


def _column(r: random.Random, cells: Cells, rows: int, gaps: float = 0.2) -> list[object]:
    share = r.choice([0.0, gaps])
    return ["" if r.random() < share else cells(r) for _ in range(rows)]


def odd_file(seed: int, folder: Path) -> Path:
    """A csv file, damaged in one of four cases."""
    r = random.Random(seed)
    columns = odd_columns(r, CELLS)
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    content = text.getvalue().encode()
    path = folder / f"odd{seed % 16}.csv"
    path.write_bytes(r.choice(DAMAGE)(content, r) if r.random() < 0.25 else content)
    return path


def odd_frame(seed: int) -> Any:
    """A table in memory, with cells that no file holds."""
    r = random.Random(seed)
    columns = odd_columns(r, CELLS | OBJECTS)
    columns = {name: [None if cell == "" else cell for cell in cells] for name, cells in columns.items()}
    if r.random() < 0.5:
        return columns
    try:
        return pl.DataFrame(columns, strict=False)
    except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):
        return columns
