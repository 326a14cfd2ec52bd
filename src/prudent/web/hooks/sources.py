"""Where the cell of a column comes from: which FHIR resource, which code, which unit, how long ago."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal

from prudent.errors import is_number
from prudent.table import LABELLED, Column, did_you_mean, label_text
from prudent.web.hooks.sections import Section

VALUES = ("last", "first", "max", "min", "mean")
PRESENCES = ("Condition", "MedicationRequest", "MedicationStatement", "Procedure", "AllergyIntolerance")
AGES = {"a": "years", "mo": "months", "wk": "weeks", "d": "days"}
NO_UNIT = "1"
_WINDOW = re.compile(r"(\d{1,5})\s*(h|d|wk|a)")
_HOURS = {"h": 1, "d": 24, "wk": 7 * 24, "a": 365.25 * 24}
MOST_RESULTS = 100
"""Results of one prefetch that are asked for where more than the last is needed."""
LAST_RESULTS = 10
"""Where only the last counts: some may have been entered in error."""


@dataclass(frozen=True)
class Conversion:
    """From another unit to that of the model: value · factor + offset."""

    factor: float
    offset: float = 0.0

    def __call__(self, value: float) -> float:
        return value * self.factor + self.offset


@dataclass(frozen=True)
class Labels:
    """Codes as the labels of a column; without any, a code is the label. column: whose labels they are."""

    by_code: Mapping[str, str]
    column: Column

    def of(self, code: str) -> str | None:
        if self.by_code:
            return self.by_code.get(code)
        return code if code in self.column.categories else None

    @staticmethod
    def read(section: Section, column: Column) -> "Labels":
        given = section.mapping("values", {})
        labels = {str(code): label_text(label) for code, label in given.items() if not isinstance(label, dict | list)}
        known = [label_text(label) for label in column.categories]
        for code, label in labels.items():
            if label not in known:
                section.fail(f"'{code}' is read as '{label}', which the column never had. {did_you_mean(label, known)}")
        return Labels(labels, column)


@dataclass(frozen=True)
class PatientSource:
    """From the patient's own record: age, birthDate or gender."""

    column: Column
    what: Literal["age", "birthDate", "gender"]
    unit: str
    labels: Labels

    @staticmethod
    def read(section: Section, column: Column) -> "PatientSource":
        section.only("patient", "unit", "values")
        what = section.choice("patient", ("age", "birthDate", "gender"))
        unit = section.choice("unit", tuple(AGES), "a")
        kinds = {"age": "numbers", "birthDate": "dates", "gender": "labels"}
        if kinds[what] != _holds(column):
            section.fail(
                f"patient = '{what}' gives {kinds[what]}, and the column holds {_holds(column)} ({column.description})."
            )
        labels = Labels.read(section, column)
        if what == "gender" and not labels.by_code and not {"male", "female"} <= set(column.categories):
            section.fail(
                f"FHIR says 'male', 'female', 'other' or 'unknown', and the column holds {column.description}; say "
                f"which is which, as in values = {{ female = '…', male = '…' }}."
            )
        return PatientSource(column, what, unit, labels)


@dataclass(frozen=True)
class Codes:
    """What a resource must be coded as, and how recent it must be; no window: of any time."""

    resource: str
    system: str
    codes: tuple[str, ...]
    window: timedelta | None

    @staticmethod
    def read(section: Section, resource: str) -> "Codes":
        system, codes = section.text("system"), section.texts("codes")
        if any(set(" ,|&?#{}") & set(text) for text in (system, *codes)):
            section.fail("a system or code holds a space or one of , | & ? # { }, which a query cannot have.")
        text = section.text("window", None)
        if text is None:
            return Codes(resource, system, codes, None)
        found = _WINDOW.fullmatch(text)
        if found is None or int(found[1]) == 0:
            section.fail(f"'window' must be a time such as '24h', '7d', '4wk' or '1a'. Got {text!r} instead.")
        return Codes(resource, system, codes, timedelta(hours=int(found[1]) * _HOURS[found[2]]))


@dataclass(frozen=True)
class ObservationSource:
    """From the results with a code. component: the code of a part of a panel, such as the systolic pressure."""

    column: Column
    coded: Codes
    value: str
    component: str | None
    unit: str
    conversions: Mapping[str, Conversion]
    labels: Labels

    @property
    def count(self) -> int:
        return LAST_RESULTS if self.value == "last" else MOST_RESULTS

    @staticmethod
    def read(section: Section, column: Column) -> "ObservationSource":
        known = ("resource", "system", "codes", "window", "value", "component", "unit", "units", "values")
        section.only(*known)
        value = section.choice("value", VALUES, "last")
        unit, holds = section.text("unit", None), _holds(column)
        if holds == "numbers" and unit is None:
            section.fail(
                f"the column holds numbers ({column.description}), so it needs the unit that the model learnt them in, "
                f"as in unit = 'mmol/L'; unit = '{NO_UNIT}' is for numbers without one."
            )
        if holds != "numbers" and (unit is not None or value not in ("last", "first")):
            section.fail(f"the column holds {holds}, which have no unit, maximum, minimum or mean.")
        labels = Labels.read(section, column)
        coded, component = Codes.read(section, "Observation"), section.text("component", None)
        return ObservationSource(column, coded, value, component, unit or "", _conversions(section, unit), labels)


def _conversions(section: Section, unit: str | None) -> dict[str, Conversion]:
    found = {}
    for other, how in section.mapping("units", {}).items():
        if unit is None or other == unit:
            section.fail(f"units.'{other}' converts nothing; name units other than 'unit'.")
        parts = {"factor": how} if is_number(how) else how
        good = isinstance(parts, Mapping) and set(parts) <= {"factor", "offset"} and all(map(is_number, parts.values()))
        if not good or not parts.get("factor"):
            section.fail(
                f"units.'{other}' must be a factor, as 0.111, or as {{ factor = 0.5556, offset = -17.78 }}. Got "
                f"{how!r:.80} instead."
            )
        found[other] = Conversion(float(parts["factor"]), float(parts.get("offset", 0.0)))
    return found


@dataclass(frozen=True)
class PresenceSource:
    """Whether there is a diagnosis, prescription, procedure or allergy with a code. absent: what it means that there is
    none; None: a gap, since what is not recorded may still be there."""

    column: Column
    coded: Codes
    present: Any
    absent: Any
    count: int = MOST_RESULTS

    @staticmethod
    def read(section: Section, column: Column) -> "PresenceSource":
        section.only("resource", "system", "codes", "window", "present", "absent")
        if "present" not in section.entries:
            section.fail(f"'present' is missing: the cell where there is one, of {column.description}.")
        cells = [_cell(section, column, name) for name in ("present", "absent")]
        return PresenceSource(column, Codes.read(section, section.text("resource")), *cells)


def _cell(section: Section, column: Column, name: str) -> Any:
    cell = section.entries.get(name)
    if cell is None:
        return None
    if isinstance(cell, list | dict):
        section.fail(f"'{name}' must be one cell. Got {cell!r:.80} instead.")
    if _holds(column) == "numbers" and not is_number(cell):
        section.fail(f"'{name}' must be a number, as the column holds. Got {cell!r:.80} instead.")
    known = [label_text(label) for label in column.categories]
    if _holds(column) == "labels" and label_text(cell) not in known:
        section.fail(f"'{name}' is '{cell}', which the column never had. {did_you_mean(str(cell), known)}")
    return cell


Source = PatientSource | ObservationSource | PresenceSource


def read_source(section: Section, column: Column) -> Source:
    if "patient" in section.entries:
        return PatientSource.read(section, column)
    resource = section.choice("resource", ("Observation", *PRESENCES))
    return (
        ObservationSource.read(section, column) if resource == "Observation" else PresenceSource.read(section, column)
    )


def _holds(column: Column) -> str:
    return "labels" if column.kind in LABELLED else "dates" if column.kind == "date" else "numbers"
