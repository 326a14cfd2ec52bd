"""Hazards that need no other process: odd tables, and damaged model folders."""

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import prudent
from prudent.command_line.inspecting import inspection_facts
from prudent.command_line.log_options import LogOptions
from prudent.models.folder import sealed
from prudent.models.storage import _arrays
from prudent.table import Place, log_findings
from tests.hostile.counting import Counts
from tests.hostile.tables import odd_file, odd_frame


def tables_are_read(seeds: range, folder: Path) -> Counts:
    """Odd files and frames through `Log`, its summary and what is found in it."""
    counts = Counts("odd tables, read")
    for seed in seeds:
        source = odd_frame(seed) if seed % 3 == 0 else odd_file(seed, folder)
        counts.attempt(f"table {seed}", lambda source=source: _read(source))
    return counts


def _read(source: Any) -> str:
    roles: dict[str, Any] = {"action": "act", "reward": "y"}
    log = prudent.read_log(source, **roles) if isinstance(source, Path) else prudent.Log.from_frame(source, **roles)
    assert np.isfinite(log.values).all()
    return f"{log} {log_findings(log)}"


def tables_are_inspected(seeds: range, folder: Path) -> Counts:
    """The same files through everything that `prudent inspect` does."""
    counts = Counts("odd tables, inspected")
    for seed in seeds:
        path = odd_file(seed, folder)
        options = LogOptions(Place.of(path), "act", "y", None, False, (), ())
        counts.attempt(f"table {seed}", lambda options=options: json.dumps(inspection_facts(options)))
    return counts


def tables_are_fitted(seeds: range, folder: Path, settings: Any) -> Counts:
    """Odd files through fit and recommend; whatever is recommended is an action of the log, at a finite price."""
    counts = Counts("odd tables, fitted and advised on")
    for seed in seeds:
        path = odd_file(seed, folder)
        counts.attempt(f"table {seed}", lambda path=path: _fit_and_advise(path, settings))
    return counts


def _fit_and_advise(path: Path, settings: Any) -> None:
    log = prudent.read_log(path, action="act", reward="y")
    fitted = settings.fit(log, seed=0)
    table = prudent.read_table(path, text=fitted.text_columns)[:5]
    advice = fitted.policy(completions=16).recommend(table)
    assert set(advice.actions) <= {None, *fitted.action_labels}
    assert np.isfinite(advice.scored.expected).all()
    alone = fitted.policy(completions=16).recommend(table[:1])
    assert alone.actions[0] == advice.actions[0]


# --- damaged folders ---


def _bit(folder: Path, r: random.Random) -> None:
    path = r.choice(sorted(folder.iterdir()))
    content = bytearray(path.read_bytes())
    content[r.randrange(len(content))] ^= 1 << r.randrange(8)
    path.write_bytes(content)


def _cut(folder: Path, r: random.Random) -> None:
    path = r.choice(sorted(folder.iterdir()))
    path.write_bytes(path.read_bytes()[: r.randrange(path.stat().st_size)])


def _gone(folder: Path, r: random.Random) -> None:
    r.choice(sorted(folder.iterdir())).unlink()


def _zeros(folder: Path, r: random.Random) -> None:
    path = r.choice(sorted(folder.iterdir()))
    content = bytearray(path.read_bytes())
    start = r.randrange(len(content))
    content[start : start + 64] = bytes(len(content[start : start + 64]))
    path.write_bytes(content)


def _forged(folder: Path, r: random.Random) -> None:
    """Another value of another type, under a right hash: an author who knows the format."""
    description = json.loads((folder / "model.json").read_bytes())
    description.pop("sha256")
    place, key = description, r.choice(list(description))
    while isinstance(place[key], dict | list) and len(place[key]) and r.random() < 0.8:
        place = place[key]
        key = r.choice(list(place)) if isinstance(place, dict) else r.randrange(len(place))
    place[key] = r.choice([None, "false", 0, -1, 10**400, float("nan"), [], {}, [[[]]], "\x1b[2J", True, 1e300, "../x"])
    (folder / "model.json").write_bytes(sealed(description))


DAMAGES: tuple[Callable[[Path, random.Random], None], ...] = (_bit, _bit, _bit, _cut, _gone, _zeros)


def damaged_folders(saved: Path, scratch: Path, seeds: range, forged: bool = False) -> Counts:
    """A copy of a model folder, damaged: it is refused, or it is the model that was saved.

    forged: under a right hash. What then still loads must be able to advise, or refuse in a sentence.
    """
    counts = Counts("forged model descriptions" if forged else "damaged model folders")
    whole = _arrays(prudent.load(saved).model)
    for seed in seeds:
        r = random.Random(seed)
        shutil.rmtree(scratch, ignore_errors=True)
        shutil.copytree(saved, scratch)
        (_forged if forged else r.choice(DAMAGES))(scratch, r)
        found = counts.attempt(f"damage {seed}", lambda: prudent.load(scratch))
        if found is not None and not forged:
            again = _arrays(found.model)  # pyright: ignore[reportAttributeAccessIssue]
            same = whole.keys() == again.keys() and all(np.array_equal(whole[k], again[k]) for k in whole)
            if not same or (scratch / "model.json").read_bytes() != (saved / "model.json").read_bytes():
                counts.add("loaded, and is another model", str(seed), wrong=True)
    return counts
