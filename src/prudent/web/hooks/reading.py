"""From what a hospital's system sends to the cells of a case; what cannot be read is a gap, and a sentence says why."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from statistics import fmean
from typing import Any, NamedTuple

from prudent.errors import is_number
from prudent.web.hooks.fhir import (
    UCUM,
    age,
    codes_of,
    delivered,
    has_more,
    inner,
    is_coded,
    is_of,
    items,
    moment,
    resources,
    when,
)
from prudent.web.hooks.mapping import HookMapping
from prudent.web.hooks.sources import NO_UNIT, Codes, ObservationSource, PatientSource, PresenceSource, Source

RESULT_STATUSES = ("final", "amended", "corrected", "preliminary")
EVENT_STATUSES = {
    "MedicationRequest": ("active", "completed", "on-hold"),
    "MedicationStatement": ("active", "completed", "recorded", "on-hold"),
    "Procedure": ("completed", "in-progress"),
}
CLINICAL = ("active", "recurrence", "relapse")
REFUTED = ("entered-in-error", "refuted")
_TIMES = {
    "Observation": ("effectiveDateTime", "effectiveInstant", "effectivePeriod", "issued"),
    "Condition": ("onsetDateTime", "onsetPeriod", "recordedDate"),
    "MedicationRequest": ("authoredOn",),
    "MedicationStatement": ("effectiveDateTime", "effectivePeriod", "dateAsserted"),
    "Procedure": ("performedDateTime", "performedPeriod", "occurrenceDateTime", "occurrencePeriod"),
    "AllergyIntolerance": ("onsetDateTime", "onsetPeriod", "recordedDate"),
}
_CLOCKS = timedelta(minutes=10)
"""By which clocks may differ; what is dated later than that has not happened yet."""


class Cell(NamedTuple):
    """value: None in a gap. remark: why there is no value although something was sent; empty otherwise."""

    value: Any
    remark: str = ""


@dataclass(frozen=True)
class Request:
    """What was sent for one patient, and when."""

    patient: str
    prefetch: Mapping[str, Any]
    at: datetime


@dataclass(frozen=True)
class Case:
    """cells: by column, None in gaps. remarks: sentences on what could not be read. delivered: whether any prefetch was
    answered at all."""

    cells: Mapping[str, Any]
    remarks: tuple[str, ...]
    delivered: bool


def read_case(mapping: HookMapping, request: Request) -> Case:
    found = {one.column.name: _cell(one, request, request.prefetch.get(mapping.key(one))) for one in mapping.sources}
    remarks = tuple(f"{name}: {cell.remark}" for name, cell in found.items() if cell.remark)
    answered = any(delivered(request.prefetch.get(key)) for key in mapping.prefetch)
    cells = {name: cell.value for name, cell in found.items()} | dict.fromkeys(mapping.unmapped)
    return Case(cells, remarks, answered)


def _cell(source: Source, request: Request, prefetched: Any) -> Cell:
    if isinstance(source, PatientSource):
        return _of_patient(source, request, prefetched)
    if isinstance(source, PresenceSource):
        return _presence(source, request, prefetched)
    return _result(source, request, prefetched)


def _of_patient(source: PatientSource, request: Request, prefetched: Any) -> Cell:
    found = resources(prefetched, "Patient")
    if not found:
        return Cell(None)
    patient = found[0]
    if patient.get("id", request.patient) != request.patient:
        return Cell(None, "the record that was sent is of another patient.")
    if source.what == "gender":
        code = patient.get("gender")
        label = source.labels.of(code) if isinstance(code, str) else None
        return Cell(label, f"gender '{code}' is not mapped to a label." if code is not None and label is None else "")
    born = patient.get("birthDate")
    if not isinstance(born, str):
        return Cell(None)
    if source.what == "age":
        years = age(born, request.at.date(), source.unit)
        return Cell(years, "" if years is not None else "the birth date is not exact enough, or not a past date.")
    day = moment(born)
    exact = day is not None and len(born) == len("2024-03-01")
    return Cell(born if exact else None, "" if exact else "the birth date is not exact.")


# --- diagnoses, prescriptions, procedures, allergies ---


def _presence(source: PresenceSource, request: Request, prefetched: Any) -> Cell:
    if not delivered(prefetched):
        return Cell(None)
    kind, coded = source.coded.resource, source.coded
    known = [one for one in resources(prefetched, kind) if _counts(one, kind) and _is_wanted(one, coded)]
    own = [one for one in known if is_of(one, request.patient)]
    if any(_in_time(_time(one, kind), coded, request.at) for one in own):
        return Cell(source.present)
    if len(own) < len(known):
        return Cell(None, "an entry that was sent is of another patient.")
    if any(_time(one, kind) is None for one in own):
        return Cell(None, "an entry has no date, so it cannot be told whether it is recent enough.")
    if has_more(prefetched, source.count):
        return Cell(None, "not all entries were sent, so it cannot be told that there is none.")
    return Cell(source.absent)


def _counts(resource: Mapping[str, Any], kind: str) -> bool:
    """Whether it is meant: not entered in error, not refuted, not cancelled, not resolved."""
    if kind in EVENT_STATUSES:
        return resource.get("status") in EVENT_STATUSES[kind]
    if set(codes_of(resource.get("verificationStatus"))) & set(REFUTED):
        return False
    clinical = codes_of(resource.get("clinicalStatus"))
    return not clinical or bool(set(clinical) & set(CLINICAL))


def _is_wanted(resource: Mapping[str, Any], coded: Codes) -> bool:
    named = [inner(resource, name) for name in ("code", "medicationCodeableConcept", "medication")]
    concepts = [*named, *(inner(one, "concept") for one in named)]
    return any(is_coded(concept, coded.system, coded.codes) for concept in concepts)


def _time(resource: Mapping[str, Any], kind: str) -> datetime | None:
    return when(resource, _TIMES[kind])


def _in_time(at: datetime | None, coded: Codes, now: datetime) -> bool:
    if at is None:
        return coded.window is None
    return at <= now + _CLOCKS and (coded.window is None or at >= now - coded.window)


# --- results ---


def _result(source: ObservationSource, request: Request, prefetched: Any) -> Cell:
    found = [one for one in resources(prefetched, "Observation") if one.get("status") in RESULT_STATUSES]
    found = [one for one in found if is_coded(one.get("code"), source.coded.system, source.coded.codes)]
    own = [one for one in found if is_of(one, request.patient)]
    recent = [one for one in own if _in_time(_time(one, "Observation"), source.coded, request.at)]
    if not recent:
        return Cell(None, "a result that was sent is of another patient." if len(own) < len(found) else "")
    # in the order of time; without one, in that of the query, which is newest first
    earliest = datetime.min.replace(tzinfo=UTC)
    oldest_first = recent[::-1]
    ordered = sorted(oldest_first, key=lambda one: _time(one, "Observation") or earliest)
    read = [_value(part, source) for part in (_part(one, source) for one in ordered) if _has_value(part)]
    if not read:
        return Cell(None)
    if source.value == "last":
        return read[-1]
    if _may_lack_some(source, own, request, prefetched):
        return Cell(None, f"not all results were sent, so the {source.value} is not known.")
    if source.value == "first":
        return read[0]
    refused = [one for one in read if one.remark]
    if refused:
        return refused[0]
    numbers = [one.value for one in read if one.value is not None]
    return Cell({"max": max, "min": min, "mean": fmean}[source.value](numbers) if numbers else None)


def _may_lack_some(
    source: ObservationSource, own: Sequence[Mapping[str, Any]], request: Request, prefetched: Any
) -> bool:
    """Results come newest first: all within the window are there if one from before it is."""
    times = [at for one in own if (at := _time(one, "Observation")) is not None]
    window = source.coded.window
    older = window is not None and any(at < request.at - window for at in times)
    return not older and has_more(prefetched, source.count)


def _part(result: Mapping[str, Any], source: ObservationSource) -> Mapping[str, Any]:
    if source.component is None:
        return result
    codes = (source.component,)
    parts = [one for one in items(result.get("component")) if is_coded(one.get("code"), source.coded.system, codes)]
    return parts[0] if parts else {}


_VALUES = ("valueQuantity", "valueInteger", "valueBoolean", "valueString", "valueCodeableConcept", "valueDateTime")


def _has_value(result: Mapping[str, Any]) -> bool:
    """A result may say instead why there is none (dataAbsentReason)."""
    return any(result.get(name) is not None for name in _VALUES)


def _value(result: Mapping[str, Any], source: ObservationSource) -> Cell:
    quantity = result.get("valueQuantity")
    if isinstance(quantity, Mapping):
        return _quantity(quantity, source)
    if is_number(result.get("valueInteger")):
        return _quantity({"value": result["valueInteger"]}, source)
    return _label(next(result[name] for name in _VALUES if result.get(name) is not None), source)


def _quantity(quantity: Mapping[str, Any], source: ObservationSource) -> Cell:
    value: Any = quantity.get("value")
    if not is_number(value) or not source.unit:
        return Cell(None, "the result is a number, and a label was expected." if is_number(value) else "")
    if quantity.get("comparator") is not None:
        return Cell(None, f"the result is '{quantity['comparator']}' a limit, not a number.")
    ucum = quantity.get("code") if quantity.get("system") in (None, UCUM) else None
    names = [name for name in (ucum, quantity.get("unit")) if isinstance(name, str) and name]
    number = float(value)
    if source.unit in names[:1] or (source.unit == NO_UNIT and not names):
        return Cell(number)
    for name in names[:1]:
        if name in source.conversions:
            converted = source.conversions[name](number)
            return Cell(converted) if math.isfinite(converted) else Cell(None)
    given = f"the unit '{names[0]}'" if names else "no unit"
    return Cell(None, f"a result has {given} instead of '{source.unit}', so it is not used.")


def _label(value: Any, source: ObservationSource) -> Cell:
    if source.column.kind == "date" and isinstance(value, str):
        return Cell(None if moment(value) is None or len(value) < len("2024-03-01") else value[:10])
    plain = str(value).lower() if isinstance(value, bool) else value
    for code in codes_of(value) if isinstance(value, Mapping) else [plain]:
        label = source.labels.of(code) if isinstance(code, str) else None
        if label is not None:
            return Cell(label)
    return Cell(None, "a result is none of the answers that are mapped to labels.")
