"""From pieces to results: plain numbers for each row, as JSON."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from experiments.chosen_actions import StoredChoices
from experiments.entries import rows_of
from experiments.results import Results, six_digits, standard_error, with_kept
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
    """Every row of every clinic, over the replications that are stored of it (at least two; the row says how many)."""
    every = {clinic.name: _clinic(effort, clinic, replications, seed, folder) for clinic in clinics}
    return {
        "learnt_from": effort.size.learnt_from,
        "tested": effort.size.tested,
        "replications": replications,
        "seed": seed,
        "clinics": {name: clinic for name, clinic in every.items() if clinic["rows"]},
    }


def _clinic(effort: Effort, clinic: Clinic, replications: int, seed: int, folder: Path) -> Results:
    draws = {index: Draw(clinic, effort.size, seed, index) for index in range(replications)}
    entries = sorted(effort.entries, key=lambda entry: GROUPS.index(entry.group))
    entries = [entry for entry in entries if entry.name not in clinic.without]
    stored = [(entry, _stored(entry, draws, folder)) for entry in entries]
    stored = [(entry, choices) for entry, choices in stored if len(choices) > 1]
    wanted = sorted({index for _, choices in stored for index in choices})
    truths = {index: draws[index].part(TESTED, folder) for index in wanted}
    units = draws[0].world.units
    rows = [row for entry, choices in stored for row in rows_of(entry, choices, partial(_numbers, truths, units))]
    rivals = [name for entry in entries if entry.group == "rival" for name in _names(entry)]
    return {"title": clinic.title, "units": [six_digits(unit) for unit in units], "rivals": rivals, "rows": rows}


def kept(effort: Effort, now: Results, before: Results) -> Results:
    """The results with the rows that were stored before and not made anew."""
    names = [entry.name for entry in sorted(effort.entries, key=lambda entry: GROUPS.index(entry.group))]
    clinics = before["clinics"] | now["clinics"]
    for name, clinic in before["clinics"].items():
        rows = with_kept(clinics[name]["rows"], clinic["rows"], names)
        clinics[name] = clinics[name] | {"rows": rows}
    return now | {"clinics": clinics}


def showcase_of(effort: Effort, clinics: Sequence[Clinic], seed: int, folder: Path) -> dict[str, np.ndarray]:
    """The arrays of the showcase, or none where its piece was not run."""
    pieces = (Piece(entry, Draw(clinic, effort.size, seed, 0)) for clinic in clinics for entry in effort.entries)
    stored = (piece.load(folder) for piece in pieces if piece.shows)
    return next((choices.showcase for choices in stored if choices is not None), {})


def _names(entry: Entry) -> list[str]:
    """The rows of a rival, whether it was run or not."""
    variants = [name for name, _ in entry.method.variants] if isinstance(entry.method, Rivals) else [""]
    return [entry.row(variant) for variant in variants]


def _stored(entry: Entry, draws: dict[int, Draw], folder: Path) -> dict[int, StoredChoices]:
    loaded = {index: Piece(entry, draw).load(folder) for index, draw in draws.items()}
    return {index: choices for index, choices in loaded.items() if choices is not None}


def _numbers(truths: Truths, units: Sequence[float], actions: dict[int, np.ndarray]) -> Results:
    outcomes = {index: Outcome.of(chosen, truths[index], units) for index, chosen in actions.items()}
    every = list(outcomes.values())
    numbers: Results = {"replications": len(every)}
    for measure in MEASURES:
        values = np.array([getattr(outcome, measure) for outcome in every])
        known = bool(np.isfinite(values).all())
        numbers[measure] = six_digits(values.mean()) if known else None
        numbers[f"{measure}_error"] = six_digits(standard_error(values)) if known else None
    return numbers | {
        "dose": six_digits(np.mean([outcome.dose for outcome in every])),
        "correct": six_digits(np.mean([outcome.correct for outcome in every])),
        "doses": [six_digits(share) for share in np.mean([outcome.doses for outcome in every], axis=0)],
        # what paired comparisons need
        "indices": list(outcomes),
        "means": [six_digits(outcome.mean) for outcome in every],
        "belows": [six_digits(outcome.below) for outcome in every],
    }
