"""Made-up patient files in the schema of the OhioT1DM data, with its irregularities. Nothing in them is anybody's."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from xml.sax.saxutils import quoteattr

import numpy as np

START = datetime(2021, 12, 7)
BAND_2018 = {"basis_heart_rate": 75.0, "basis_gsr": 0.4, "basis_skin_temperature": 87.0, "basis_air_temperature": 80.0}
BAND_2020 = {"basis_gsr": 0.4, "basis_skin_temperature": 87.0, "acceleration": 1.0}
LIFE_EVENTS = ("sleep", "work", "stressors", "hypo_event", "illness")

Events = list[dict[str, object]]


def moment(minutes: float) -> str:
    """The time so many minutes after the records begin, as the files have it."""
    return (START + timedelta(minutes=float(minutes))).strftime("%d-%m-%Y %H:%M:%S")


def at(minutes: float, value: object) -> dict[str, object]:
    return {"ts": moment(minutes), "value": value}


def bolus(begin: float, dose: object, end: float | None = None, kind: str = "normal") -> dict[str, object]:
    last = moment(begin if end is None else end)
    return {"ts_begin": moment(begin), "ts_end": last, "type": kind, "dose": dose, "bwz_carb_input": ""}


def patient_xml(patient: str, elements: dict[str, Events], weight: object = 99, insulin: str = "Novalog") -> str:
    """A patient file; an element with an empty list stands there empty."""
    lines = [f'<patient id="{patient}" weight="{weight}" insulin_type="{insulin}">']
    for element, events in elements.items():
        lines += [f"<{element}>", *map(_event, events), f"</{element}>"]
    return "\n".join(["<?xml version='1.0' encoding='UTF-8'?>", *lines, "</patient>", ""])


def _event(attributes: dict[str, object]) -> str:
    text = " ".join(f"{name}={quoteattr(str(value))}" for name, value in attributes.items() if name != "symptom")
    symptom = f"<symptom name={quoteattr(str(attributes['symptom']))}/>" if "symptom" in attributes else ""
    return f"<event {text}>{symptom}</event>" if symptom else f"<event {text}/>"


def write(folder: Path, year: int, part: str, patient: str, text: str) -> Path:
    """Put a file where the data set has it; part is "train" or "test"."""
    file = folder / str(year) / part / f"{patient}-ws-{part}ing.xml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return file


@dataclass(frozen=True)
class Cohort:
    """Which sensors a year's band had, and how often it measured (minutes); the real ones every 5 and 1."""

    year: int
    patients: tuple[str, ...]
    band: dict[str, float]
    every: int
    steps: bool


COHORTS = (
    Cohort(2018, ("559", "563", "591"), BAND_2018, 15, steps=True),
    Cohort(2020, ("540", "552"), BAND_2020, 10, steps=False),
)


def write_folder(folder: Path, *, days: int = 4, seed: int = 0, cohorts: tuple[Cohort, ...] = COHORTS) -> Path:
    """A folder of both cohorts: `days` in the training and a third as many in the testing files."""
    for cohort in cohorts:
        for number, patient in enumerate(cohort.patients):
            random = np.random.default_rng([seed, int(patient)])
            # the first patient of a cohort was followed longest, so that the others have to be oversampled
            followed = days + 2 * (number == 0)
            weight = 99 if number else 82
            train = _record(cohort, followed, 0.0, random)
            test = _record(cohort, max(followed // 3, 1), followed * 1440.0, random)
            if number:
                _disturb(train, random)
            write(folder, cohort.year, "train", patient, patient_xml(patient, train, weight))
            write(folder, cohort.year, "test", patient, patient_xml(patient, test, weight))
    return folder


def _record(cohort: Cohort, days: int, start: float, random: np.random.Generator) -> dict[str, Events]:
    """Some days of one patient: three meals a day, a bolus with each and a correction, glucose that follows both."""
    meals = (
        start
        + np.ravel(np.arange(days)[:, None] * 1440 + np.array([450, 750, 1140]))
        + random.integers(-60, 60, 3 * days)
    )
    carbs = random.integers(20, 90, len(meals))
    doses = np.round(np.clip(carbs / 10 + random.normal(0, 2, len(meals)), 0.1, None), 1)
    corrections = start + np.arange(days) * 1440 + random.integers(900, 1020, days)
    small = np.round(random.uniform(0.5, 4, days), 1)
    grid = start + np.arange(0, days * 1440, 5)
    given = np.concatenate([meals, corrections])
    glucose = _course(grid, meals, carbs, given, np.concatenate([doses, small]), random)
    elements: dict[str, Events] = {
        # the sensor is changed every third day and is silent for two hours
        "glucose_level": [
            at(t, int(g)) for t, g in zip(grid, glucose, strict=True) if not 300 <= (t - start) % 4320 < 420
        ],
        "finger_stick": [at(start + 400 + 1440 * day, 120 + day) for day in range(days)],
        "basal": [at(start + 720 * half, 0.8 + 0.2 * (half % 2)) for half in range(2 * days)],
        "temp_basal": [
            {"ts_begin": moment(t), "ts_end": moment(t + 60), "value": rate}
            for t, rate in zip(meals[::4] - 40, np.resize([0, 1.4], len(meals[::4])), strict=True)
        ],
        "bolus": [bolus(t, d) for t, d in zip(given, np.concatenate([doses, small]), strict=True)],
        "meal": [
            {"ts": moment(t), "type": kind, "carbs": c}
            for t, c, kind in zip(meals, carbs, np.resize(["Breakfast", "Lunch", "Dinner"], len(meals)), strict=True)
        ],
        "exercise": [
            {"ts": moment(t - 20), "intensity": 5, "type": " ", "duration": 30, "competitive": ""} for t in meals[1::5]
        ],
        **{element: [] for element in LIFE_EVENTS},
    }
    elements["hypo_event"] = [{"ts": moment(start + 1000), "symptom": "Sweating"}]
    worn = [t for t in start + np.arange(0, days * 1440, cohort.every) if (t - start) % 1440 >= 120]
    for sensor, level in cohort.band.items():
        elements[sensor] = [
            at(t, v) for t, v in zip(worn, np.round(level * random.uniform(0.9, 1.1, len(worn)), 3), strict=True)
        ]
    if cohort.steps:
        elements["basis_steps"] = [at(t, v) for t, v in zip(worn, random.poisson(20, len(worn)), strict=True)]
        elements["basis_sleep"] = [{"tbegin": moment(start), "tend": moment(start + 400), "quality": 88, "type": ""}]
    return elements


def _course(
    grid: np.ndarray,
    meals: np.ndarray,
    carbs: np.ndarray,
    given: np.ndarray,
    doses: np.ndarray,
    random: np.random.Generator,
) -> np.ndarray:
    """Glucose: carbs raise it and insulin lowers it, both within an hour and for some hours."""

    def wave(times: np.ndarray, sizes: np.ndarray, peak: float) -> np.ndarray:
        since = np.maximum(grid[:, None] - times, 0.0) / peak
        return np.sum(sizes * since * np.exp(1 - since), axis=1)

    noise = np.cumsum(random.normal(0, 2, len(grid)))
    return np.clip(140 + 2.2 * wave(meals, carbs, 50) - 18 * wave(given, doses, 75) + 0.3 * noise, 45, 390)


def _disturb(elements: dict[str, Events], random: np.random.Generator) -> None:
    """Every irregularity of the real files: empty cells, no order, repeated events, spans, a clock set back."""
    readings = elements["glucose_level"]
    readings[10]["value"], readings[11]["value"] = "", " "
    readings.append(dict(readings[40]))
    readings[:] = [readings[place] for place in random.permutation(len(readings))]
    elements["meal"][1]["carbs"] = ""
    elements["exercise"][0]["intensity"] = " "
    boluses = elements["bolus"]
    boluses.append(dict(boluses[2]))
    boluses.append(bolus(2000, 2.0, kind="normal dual"))
    boluses.append(bolus(2000, 3.0, end=2120, kind="square dual"))
    boluses.append(bolus(2015, 1.5, end=2075, kind="square"))
    boluses.append(bolus(2500, "", kind="normal"))
    boluses.append(bolus(2600, 1.0, end=2545))  # the clock was set back before it ended
    boluses.append(bolus(1, 1.0))
    elements["temp_basal"].append({"ts_begin": moment(3000), "ts_end": " ", "value": 0.3})
    elements["stressors"].append({"ts": " ", "type": "", "description": ""})
    # the hour from 4000 on comes twice, with other readings
    readings += [at(4002 + 5 * k, 150 + k) for k in range(12)]
    for absent in ("illness", "work"):
        del elements[absent]
