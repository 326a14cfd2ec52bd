"""From pieces to results: plain numbers for each row, as JSON."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from experiments.chosen import Kept
from experiments.pages import Results, plain, standard_error
from experiments.t1d.choices import Rivals
from experiments.t1d.data import TESTED, Clinic, Draw, Part
from experiments.t1d.pieces import Piece
from experiments.t1d.settings import GROUPS, THRESHOLD, Effort, Entry
from prudent.worlds.insulin.world import LOW, SERIOUSLY_LOW

MEASURES = ("mean", "below", "low", "serious")
"""What has a standard error: mean reward, and the shares of R < −2 and of meals with glucose under 70 and 54."""
Truths = dict[int, Part]


@dataclass(frozen=True, eq=False)
class Outcome:
    """How the choices of one strategy on one replication turned out."""

    mean: float
    below: float
    low: float
    serious: float
    dose: float
    correct: float
    doses: np.ndarray

    @classmethod
    def of(cls, actions: np.ndarray, truth: Part, units: Sequence[float]) -> "Outcome":
        meals = np.arange(len(actions))
        rewards, lowest = truth.theta[meals, actions], truth.lowest[meals, actions]
        known = bool(np.isfinite(lowest).all())
        return cls(
            mean=float(rewards.mean()),
            below=float((rewards < THRESHOLD).mean()),
            low=float((lowest < LOW).mean()) if known else np.nan,
            serious=float((lowest < SERIOUSLY_LOW).mean()) if known else np.nan,
            dose=float(np.array(units)[actions].mean()),
            # several doses may be equally good
            correct=float((rewards >= truth.theta.max(axis=1) - 1e-9).mean()),
            doses=np.bincount(actions, minlength=len(units)) / len(actions),
        )


def summarise(effort: Effort, clinics: Sequence[Clinic], replications: int, seed: int, folder: Path) -> Results:
    """Every row of every clinic, over the replications there are of it: at least two, and it says how many."""
    found = {clinic.name: _clinic(effort, clinic, replications, seed, folder) for clinic in clinics}
    return {
        "learnt_from": effort.size.learnt_from,
        "tested": effort.size.tested,
        "replications": replications,
        "seed": seed,
        "clinics": {name: own for name, own in found.items() if own["rows"]},
    }


def _clinic(effort: Effort, clinic: Clinic, replications: int, seed: int, folder: Path) -> Results:
    draws = {index: Draw(clinic, effort.size, seed, index) for index in range(replications)}
    entries = sorted(effort.entries, key=lambda entry: GROUPS.index(entry.group))
    entries = [entry for entry in entries if entry.name not in clinic.without]
    kept = [(entry, _kept(entry, draws, folder)) for entry in entries]
    kept = [(entry, own) for entry, own in kept if len(own) > 1]
    wanted = sorted({index for _, own in kept for index in own})
    truths = {index: draws[index].part(TESTED, folder) for index in wanted}
    units = draws[0].world.units
    rows = [row for entry, own in kept for row in _rows(entry, own, truths, units)]
    rivals = [name for entry in entries if entry.group == "rival" for name in _names(entry)]
    return {"title": clinic.title, "units": [plain(unit) for unit in units], "rivals": rivals, "rows": rows}


def showcase_of(effort: Effort, clinics: Sequence[Clinic], seed: int, folder: Path) -> dict[str, np.ndarray]:
    """The arrays of the showcase, or none where its piece was not run."""
    pieces = (Piece(entry, Draw(clinic, effort.size, seed, 0)) for clinic in clinics for entry in effort.entries)
    found = (piece.load(folder) for piece in pieces if piece.shows)
    return next((kept.showcase for kept in found if kept is not None), {})


def _names(entry: Entry) -> list[str]:
    """The rows of a rival, whether it was run or not."""
    variants = [name for name, _ in entry.method.variants] if isinstance(entry.method, Rivals) else [""]
    return [entry.row(variant) for variant in variants]


def _kept(entry: Entry, draws: dict[int, Draw], folder: Path) -> dict[int, Kept]:
    loaded = {index: Piece(entry, draw).load(folder) for index, draw in draws.items()}
    return {index: own for index, own in loaded.items() if own is not None}


def _rows(entry: Entry, kept: dict[int, Kept], truths: Truths, units: Sequence[float]) -> list[Results]:
    first = next(iter(kept.values()))
    seconds = float(np.mean([own.fit_seconds + own.choose_seconds for own in kept.values()]))
    rows = []
    for at, strategy in enumerate(first.strategies):
        outcomes = {index: Outcome.of(own.actions[at], truths[index], units) for index, own in kept.items()}
        name = {"name": entry.row(strategy), "group": entry.group, "model": entry.name, "strategy": strategy}
        rows.append(name | _numbers(outcomes) | {"seconds": plain(seconds), "machine": first.machine})
    return rows


def _numbers(outcomes: dict[int, Outcome]) -> Results:
    every = list(outcomes.values())
    found: Results = {"replications": len(every)}
    for measure in MEASURES:
        values = np.array([getattr(own, measure) for own in every])
        known = bool(np.isfinite(values).all())
        found[measure] = plain(values.mean()) if known else None
        found[f"{measure}_error"] = plain(standard_error(values)) if known else None
    return found | {
        "dose": plain(np.mean([own.dose for own in every])),
        "correct": plain(np.mean([own.correct for own in every])),
        "doses": [plain(share) for share in np.mean([own.doses for own in every], axis=0)],
        # what paired comparisons need
        "indices": list(outcomes),
        "means": [plain(own.mean) for own in every],
        "belows": [plain(own.below) for own in every],
    }
