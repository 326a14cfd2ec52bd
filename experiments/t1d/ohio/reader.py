"""The OhioT1DM files of a folder, as arrays of times and values per patient."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import nan
from os import PathLike
from pathlib import Path

import numpy as np

from experiments.t1d.ohio.events import Event, PatientFile, content_of, read_file, unique
from prudent.errors import InputProblem

SAMPLED = (
    *("glucose_level", "basis_heart_rate", "basis_gsr"),
    *("basis_skin_temperature", "basis_air_temperature", "basis_steps"),
)
SPANS = {"temp_basal": "value", "bolus": "dose"}


@dataclass(frozen=True, eq=False)
class Readings:
    """Numbers with a time, in order of time: minutes on the wall clock, and NaN where a number is absent."""

    times: np.ndarray
    values: np.ndarray

    @staticmethod
    def of(pairs: Iterable[tuple[float, float]]) -> "Readings":
        """Sorted by time; readings without a time are left out."""
        table = _in_order(pairs, 2)
        return Readings(table[:, 0], table[:, 1])

    def __len__(self) -> int:
        return len(self.times)


@dataclass(frozen=True, eq=False)
class Spans:
    """Numbers that hold from a begin to an end, in order of begin; an end that is absent is NaN."""

    begins: np.ndarray
    ends: np.ndarray
    values: np.ndarray

    @staticmethod
    def of(triples: Iterable[tuple[float, float, float]]) -> "Spans":
        """Sort what has a begin; an end before its begin (the clock was set back meanwhile) is moved to the begin."""
        table = _in_order(triples, 3)
        return Spans(table[:, 0], np.maximum(table[:, 1], table[:, 0]), table[:, 2])

    def __len__(self) -> int:
        return len(self.begins)


@dataclass(frozen=True, eq=False)
class Patient:
    """What the files say of one patient; the training and the testing file are one record.

    readings: the elements with one time, by their name in the file; the number of a meal is its carbs (g), of an
    exercise its intensity × duration (minutes). spans: temp_basal (U/h) and bolus (U). An element that is empty or
    absent has no events. Elements that no context needs (finger_stick, acceleration, sleep, work, illness, stressors,
    hypo_event, basis_sleep) are ignored, so that nothing odd in them stops the reading.

    Times are minutes on the patient's clock. Of an hour that the clock repeats when it is set back, the two passes
    cannot be distinguished: their events are mixed. An hour it skips is a gap like any other.
    """

    id: str
    readings: Mapping[str, Readings]
    spans: Mapping[str, Spans]

    @property
    def begins(self) -> float:
        """The time of the first event that is read; NaN when there is none."""
        firsts = [series.times[:1] for series in self.readings.values()] + [s.begins[:1] for s in self.spans.values()]
        return float(np.min(np.concatenate(firsts), initial=np.inf)) if any(map(len, firsts)) else nan


def read_folder(folder: str | PathLike[str]) -> tuple[Patient, ...]:
    """All patients of a folder in order of their numbers, from every {id}-ws-{training,testing}.xml at any depth."""
    files_of = patient_files(folder)
    # one patient's raw events at a time: those of all at once would fill the memory
    return tuple(patient_of([read_file(file) for file in files_of[each]]) for each in sorted(files_of))


def digest_of(folder: str | PathLike[str]) -> str:
    """Changes when a file of the folder does, and when one comes or goes."""
    digest = hashlib.sha256()
    for files in patient_files(folder).values():
        for file in files:
            content = hashlib.sha256(content_of(file)).hexdigest()
            digest.update(f"{file.relative_to(folder)}: {content}\n".encode())
    return digest.hexdigest()[:20]


def patient_files(folder: str | PathLike[str]) -> dict[str, list[Path]]:
    """The files of each patient, in order."""
    path = Path(folder)
    if not path.is_dir():
        raise InputProblem(
            f"There is no folder {path}. Name the one that holds the OhioT1DM files, with 2018/ or 2020/."
        )
    files_of: dict[str, list[Path]] = {}
    for file in sorted(file for part in ("training", "testing") for file in path.rglob(f"*-ws-{part}.xml")):
        files_of.setdefault(file.name.partition("-")[0], []).append(file)
    if not files_of:
        raise InputProblem(
            f"The folder {path} has no OhioT1DM file. Name the folder that holds 2018/ or 2020/, in whose train/ and "
            f"test/ lie files like 559-ws-training.xml."
        )
    return files_of


def patient_of(files: list[PatientFile]) -> Patient:
    """One patient from his or her files; an event that occurs in both counts once."""
    events: dict[str, list[Event]] = {}
    for event in unique(event for file in files for event in file.events):
        events.setdefault(event.element, []).append(event)

    def readings(element: str, number: str, least: float | None = None) -> Readings:
        return Readings.of(
            (event.minutes("ts"), event.number(number, least=least)) for event in events.get(element, ())
        )

    return Patient(
        id=files[0].id,
        readings={element: readings(element, "value") for element in SAMPLED}
        | {"basal": readings("basal", "value", 0), "meal": readings("meal", "carbs", 0)}
        | {"exercise": Readings.of((event.minutes("ts"), _exertion(event)) for event in events.get("exercise", ()))},
        spans={
            element: Spans.of(
                (event.minutes("ts_begin"), event.minutes("ts_end"), event.number(number, least=0))
                for event in events.get(element, ())
            )
            for element, number in SPANS.items()
        },
    )


def _exertion(event: Event) -> float:
    """Unknown when one of the two is, even beside a zero: an absent number may have been anything."""
    return event.number("intensity", least=0) * event.number("duration", least=0)


def _in_order(rows: Iterable[tuple[float, ...]], width: int) -> np.ndarray:
    table = np.array(list(rows), dtype=float).reshape(-1, width)
    table = table[~np.isnan(table[:, 0])]
    return table[np.argsort(table[:, 0], kind="stable")]
