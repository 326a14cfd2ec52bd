"""Kinds that the user sets in place of inferred ones: by column name or pattern, in Python, a file or a command."""

import json
import math
import tomllib
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from numbers import Real
from os import PathLike
from pathlib import Path
from typing import cast

from prudent.errors import InputProblem, is_number
from prudent.table.cells import did_you_mean
from prudent.table.columns import KINDS, LABELLED, Kind
from prudent.table.date_texts import DAY_FIRST, MONTH_FIRST
from prudent.table.frames import Table

DATE_ORDERS = {"date:day-first": DAY_FIRST, "date:month-first": MONTH_FIRST}
"""Kinds by name that also say how 3/4/2020 is to be read."""

KindOverride = Kind | str | Sequence[str] | Sequence[float]
"""A kind by name (a date may say its order, as "date:month-first"); a list of labels from lowest to highest, which
means ordinal; or two numbers, which means bounded between them."""


def bounds_of(override: KindOverride) -> tuple[float, float] | None:
    """The bounds, where the override is two numbers.

    >>> bounds_of((0, 100)), bounds_of("bounded"), bounds_of(["0", "100"])
    ((0.0, 100.0), None, None)
    """
    return (float(override[0]), float(override[1])) if _are_numbers(override) else None


def _are_numbers(override: object) -> bool:
    return isinstance(override, (list, tuple)) and len(override) > 0 and all(map(_is_numeric, override))


def _is_numeric(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def check_bounds(name: str, bounds: Sequence[float]) -> None:
    """Refuse bounds that are not two finite numbers with room between them."""
    try:
        numbers = len(bounds) == 2 and all(map(is_number, bounds))
        # a quarter of the range may become the scale, which must be a number above 0
        fits = numbers and 0 < (float(bounds[1]) - float(bounds[0])) / 4 < math.inf
    except OverflowError:
        fits = False
    if not fits:
        raise InputProblem(
            f"The bounds of column '{name}' must be two finite numbers, the lower first, as in (0, 100). "
            f"Got {bounds!r} instead; ordered levels are written as texts, as in ['1', '2', '3']."
        )


def check_kinds(kinds: Mapping[str, KindOverride]) -> None:
    """Refuse unknown kinds before any cell is read."""
    for name, override in kinds.items():
        if isinstance(override, str) and override not in (*KINDS, *DATE_ORDERS):
            kinds_known = ", ".join((*KINDS, *DATE_ORDERS))
            raise InputProblem(f"Column '{name}' cannot have the kind {override!r}; the kinds are {kinds_known}.")
        if not isinstance(override, (str, list, tuple)):
            raise InputProblem(
                f"Column '{name}' must be given a kind, a list of labels, lowest first, or two numbers as bounds. "
                f"Got {override!r} instead."
            )
        if _are_numbers(override):
            check_bounds(name, cast(Sequence[float], override))


def overrides_by_column(kinds: Mapping[str, KindOverride], table: Table, left_out: set[str]) -> dict[str, KindOverride]:
    """The kind set for each feature: by its name, or else by the last pattern (as "pixel*") that matches it."""
    check_kinds(kinds)
    named: dict[str, KindOverride] = {}
    matched: dict[str, KindOverride] = {}
    for name, override in kinds.items():
        if name not in table.sources and any(sign in name for sign in "*?["):
            matched |= dict.fromkeys(_matches(name, table, left_out), override)
            continue
        table.find(name, "named in kinds")
        if name in left_out:
            raise InputProblem(
                f"Column '{name}' is given a kind but is not a feature here (it is the action, the reward, the "
                f"propensity or ignored); drop it from kinds."
            )
        named[name] = override
    return matched | named


def _matches(pattern: str, table: Table, left_out: set[str]) -> list[str]:
    features = [name for name in table.names if name not in left_out]
    matching = [name for name in features if fnmatchcase(name, pattern)]
    if not matching:
        raise InputProblem(
            f"The table has no feature '{pattern}' (named in kinds), nor any that it matches as a pattern. "
            f"{did_you_mean(pattern, features)}"
        )
    return matching


def labelled_columns(kinds: Mapping[str, KindOverride]) -> tuple[str, ...]:
    """The columns, or patterns of them, that are to be read as labels: their texts count as they are written."""
    return tuple(
        name
        for name, override in kinds.items()
        if (override in LABELLED if isinstance(override, str) else bounds_of(override) is None)
    )


def parse_kind(text: str) -> tuple[str, KindOverride]:
    """Read the value of --kind on the command line.

    >>> parse_kind("site=categorical")
    ('site', 'categorical')
    >>> parse_kind("grade=ordinal:low<mid<high")
    ('grade', ['low', 'mid', 'high'])
    >>> parse_kind("pixel*=bounded:0..255")
    ('pixel*', (0.0, 255.0))
    """
    name, equals, kind = (piece.strip() for piece in text.rpartition("="))
    if not (name and equals and kind):
        raise InputProblem(
            "A kind must be written COLUMN=KIND, COLUMN=ordinal:LOW<...<HIGH or COLUMN=bounded:LOW..HIGH. "
            f"Got {text!r} instead."
        )
    kind, colon, details = (piece.strip() for piece in kind.partition(":"))
    if colon and kind == "date":
        kind, colon = f"date:{details}", ""
    if colon and kind not in ("ordinal", "bounded"):
        raise InputProblem(
            f"Only ordinal takes levels, as in {name}=ordinal:low<mid<high, and only bounded takes bounds, as in "
            f"{name}=bounded:0..100. Got {text!r} instead."
        )
    override = cast(KindOverride, kind)
    if kind == "ordinal" and colon:
        override = [level.strip() for level in details.split("<")]
    elif colon:
        override = _parse_bounds(details, text)
    check_kinds({name: override})
    return name, override


def _parse_bounds(details: str, text: str) -> tuple[float, float]:
    low, _, high = details.partition("..")
    try:
        return float(low), float(high)
    except ValueError:
        raise InputProblem(f"Bounds must be written LOW..HIGH, as in bounded:0..100. Got {text!r} instead.") from None


def read_kinds(path: str | PathLike[str]) -> dict[str, KindOverride]:
    """Read a .json or .toml file that maps column names, or patterns of them, to kinds, levels or bounds."""
    file = Path(path)
    readers = {".json": json.loads, ".toml": tomllib.loads}
    if file.suffix.lower() not in readers:
        raise InputProblem(f"The file of kinds '{file}' must end in .json or .toml; save it as one of these.")
    try:
        kinds = readers[file.suffix.lower()](file.read_text(encoding="utf-8"))
    except FileNotFoundError as problem:
        raise InputProblem(f"There is no file '{file}'; check the path.") from problem
    except (OSError, ValueError, RecursionError) as problem:
        raise InputProblem(f"The file of kinds '{file}' cannot be read ({problem}); correct it.") from problem
    if not isinstance(kinds, dict):
        raise InputProblem(f"The file of kinds '{file}' must map column names to kinds. Got {kinds!r} instead.")
    check_kinds(kinds)
    return kinds
