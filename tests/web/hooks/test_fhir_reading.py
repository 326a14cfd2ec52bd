"""What a hospital's system may send, in FHIR's own models, and which cells become of it."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from fhir.resources.R4B.bundle import Bundle
from fhir.resources.R4B.condition import Condition
from fhir.resources.R4B.medicationrequest import MedicationRequest
from fhir.resources.R4B.observation import Observation
from fhir.resources.R4B.operationoutcome import OperationOutcome
from fhir.resources.R4B.patient import Patient

from prudent.table import Column, Schema
from prudent.web.hooks import HookMapping
from prudent.web.hooks.reading import Request, read_case

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
ME = "p1"
UCUM = "http://unitsofmeasure.org"
SCHEMA = Schema(
    (
        Column("age", "real", low=18, high=90),
        Column("sex", "categorical", ("F", "M")),
        Column("born", "date"),
        Column("lactate", "positive", low=0.3, high=20),
        Column("peak", "positive", low=0.3, high=20),
        Column("mean", "positive", low=0.3, high=20),
        Column("first", "positive", low=0.3, high=20),
        Column("temperature", "real", low=33, high=42),
        Column("score", "count", low=0, high=24),
        Column("grade", "ordinal", ("mild", "severe")),
        Column("diabetes", "boolean", ("no", "yes")),
        Column("statin", "boolean", ("no", "yes")),
    )
)
LACTATE = 'resource = "Observation"\nsystem = "http://loinc.org"\ncodes = ["2524-7", "32693-4"]\nunit = "mmol/L"\n'
MAPPING = f"""
[service]
id = "s"
title = "t"
description = "d"
[columns.age]
patient = "age"
[columns.sex]
patient = "gender"
values = {{ female = "F", male = "M" }}
[columns.born]
patient = "birthDate"
[columns.lactate]
{LACTATE}units = {{ "mg/dL" = 0.111 }}
window = "24h"
[columns.peak]
{LACTATE}value = "max"
window = "24h"
[columns.mean]
{LACTATE}value = "mean"
window = "24h"
[columns.first]
{LACTATE}value = "first"
[columns.temperature]
resource = "Observation"
system = "http://loinc.org"
codes = ["8310-5"]
unit = "Cel"
units = {{ "[degF]" = {{ factor = 0.5555555555555556, offset = -17.77777777777778 }} }}
[columns.score]
resource = "Observation"
system = "http://loinc.org"
codes = ["9269-2"]
unit = "1"
[columns.grade]
resource = "Observation"
system = "http://loinc.org"
codes = ["g"]
values = {{ "255604002" = "mild", "24484000" = "severe", "true" = "severe" }}
[columns.diabetes]
resource = "Condition"
system = "http://snomed.info/sct"
codes = ["73211009"]
present = "yes"
absent = "no"
[columns.statin]
resource = "MedicationRequest"
system = "http://www.nlm.nih.gov/research/umls/rxnorm"
codes = ["83367"]
window = "90d"
present = "yes"
"""


@pytest.fixture(scope="module")
def mapping(tmp_path_factory: pytest.TempPathFactory) -> HookMapping:
    path = tmp_path_factory.mktemp("mapped") / "mapping.toml"
    path.write_text(MAPPING)
    return HookMapping.read(path, SCHEMA, ("high", "low"))


def fhir(model: Any, **content: Any) -> Any:
    """A resource that FHIR's own model accepts, as JSON."""
    return json.loads(model.model_validate(content).model_dump_json())


def hours(ago: float) -> str:
    return (NOW - timedelta(hours=ago)).isoformat()


def quantity(value: float, unit: str | None = "mmol/L", **more: Any) -> dict[str, Any]:
    named = {} if unit is None else {"unit": unit, "code": unit, "system": UCUM}
    return {"valueQuantity": {"value": value} | named | more}


def observation(ago: Any = 1, code: Any = "2524-7", status: Any = "final", who: Any = ME, **value: Any) -> Any:
    coding = {"coding": [{"system": "http://loinc.org", "code": code}]}
    known = {"status": status, "code": coding, "subject": {"reference": f"Patient/{who}"}}
    return fhir(Observation, **known, effectiveDateTime=hours(ago), **(value or quantity(2.5)))


def bundle(*resources: Any, **more: Any) -> Any:
    return fhir(Bundle, type="searchset", entry=[{"resource": one} for one in resources] or None, **more)


def cell(mapping: HookMapping, column: str, prefetched: Any) -> tuple[Any, bool]:
    """The value, and whether a sentence says why there is none."""
    source = next(one for one in mapping.sources if one.column.name == column)
    case = read_case(mapping, Request(ME, {mapping.key(source): prefetched}, NOW))
    assert all(value is None for name, value in case.cells.items() if name not in (column, "age", "sex", "born"))
    return case.cells[column], any(remark.startswith(f"{column}:") for remark in case.remarks)


OUTCOME = fhir(OperationOutcome, issue=[{"severity": "error", "code": "timeout"}])
NEXT = {"link": [{"relation": "next", "url": "https://fhir.example/page2"}]}
MISNAMED = {"valueQuantity": {"value": 2.5, "unit": "mmol/L", "code": "mg/L", "system": UCUM}}
LATER, EARLIER = observation(5, **quantity(5.0)), observation(9, **quantity(9.0))
SEVEN, NINE_BEFORE = observation(3, **quantity(7.0)), observation(30, **quantity(9.0))
SEVERE = {"valueCodeableConcept": {"coding": [{"code": "24484000"}]}}
COMPARED = quantity(0.1, comparator="<")
ABSENT = {"dataAbsentReason": {"text": "unknown"}}


@pytest.mark.parametrize(
    ("column", "prefetched", "expected"),
    [
        ("lactate", bundle(observation()), (2.5, False)),
        ("lactate", observation(), (2.5, False)),
        ("lactate", bundle(EARLIER, observation(1), LATER), (2.5, False)),
        ("lactate", bundle(observation(1, **quantity(3.0)), observation(1)), (3.0, False)),  # the newest comes first
        ("lactate", bundle(observation(code="32693-4")), (2.5, False)),
        ("lactate", bundle(observation(**quantity(18.0, "mg/dL"))), (1.998, False)),
        ("lactate", bundle(observation(**quantity(18.0, "mg/L"))), (None, True)),
        ("lactate", bundle(observation(**quantity(2.5, None))), (None, True)),
        ("lactate", bundle(observation(**{"valueQuantity": {"value": 2.5, "unit": "mmol/L"}})), (2.5, False)),
        ("lactate", bundle(observation(**MISNAMED)), (None, True)),
        ("lactate", bundle(observation(**COMPARED)), (None, True)),
        ("lactate", bundle(observation(**ABSENT)), (None, False)),
        ("lactate", bundle(observation(**ABSENT), observation(3)), (2.5, False)),
        ("lactate", bundle(observation(code="718-7")), (None, False)),
        ("lactate", bundle(observation(25)), (None, False)),
        ("lactate", bundle(observation(-48)), (None, False)),
        ("lactate", bundle(observation(status="entered-in-error"), observation(3, **quantity(4.0))), (4.0, False)),
        ("lactate", bundle(observation(status="cancelled")), (None, False)),
        ("lactate", bundle(observation(who="p2")), (None, True)),
        ("lactate", bundle(), (None, False)),
        ("lactate", None, (None, False)),
        ("lactate", OUTCOME, (None, False)),
        ("lactate", bundle(OUTCOME), (None, False)),
        ("peak", bundle(observation(1), SEVEN, NINE_BEFORE), (7.0, False)),
        ("peak", bundle(observation(1), observation(3, **quantity(70.0, "mg/L"))), (None, True)),
        ("peak", bundle(observation(1), **NEXT), (None, True)),
        ("peak", bundle(observation(1), observation(30), **NEXT), (2.5, False)),
        ("peak", bundle(observation(1), total=3), (None, True)),
        ("mean", bundle(observation(1), observation(3, **quantity(7.5))), (5.0, False)),
        ("first", bundle(observation(1), observation(999, **quantity(7.5))), (7.5, False)),
        ("temperature", bundle(observation(code="8310-5", **quantity(98.6, "[degF]"))), (pytest.approx(37.0), False)),
        ("score", bundle(observation(code="9269-2", valueInteger=12)), (12.0, False)),
        ("score", bundle(observation(code="9269-2", **quantity(12, None))), (12.0, False)),
        ("score", bundle(observation(code="9269-2", **quantity(12, "{score}"))), (None, True)),
        ("grade", bundle(observation(code="g", **SEVERE)), ("severe", False)),
        ("grade", bundle(observation(code="g", valueCodeableConcept={"coding": [{"code": "1"}]})), (None, True)),
        ("grade", bundle(observation(code="g", valueBoolean=True)), ("severe", False)),
        ("grade", bundle(observation(code="g", valueString="severe")), (None, True)),
    ],
)
def test_results(column: str, prefetched: Any, expected: Any, mapping: HookMapping):
    value, explained = cell(mapping, column, prefetched)
    assert (pytest.approx(value) if isinstance(value, float) else value, explained) == expected


def condition(clinical: str = "active", verification: str = "confirmed", who: str = ME, **more: Any) -> Any:
    kinds = {"clinicalStatus": clinical, "verificationStatus": verification}
    statuses = {name: {"coding": [{"system": f"http://x/{name}", "code": code}]} for name, code in kinds.items()}
    code = {"coding": [{"system": "http://snomed.info/sct", "code": "73211009"}]}
    return fhir(Condition, code=code, subject={"reference": f"Patient/{who}"}, **statuses, **more)


def prescription(status: str = "active", ago: float = 24, dated: bool = True) -> Any:
    code = {"coding": [{"system": "http://www.nlm.nih.gov/research/umls/rxnorm", "code": "83367"}]}
    when = {"authoredOn": hours(ago)} if dated else {}
    subject = {"reference": f"https://fhir.example/r4/Patient/{ME}"}
    known = {"status": status, "intent": "order", "medicationCodeableConcept": code, "subject": subject}
    return fhir(MedicationRequest, **known, **when)


@pytest.mark.parametrize(
    ("column", "prefetched", "expected"),
    [
        ("diabetes", bundle(condition()), ("yes", False)),
        ("diabetes", bundle(condition(clinical="resolved")), ("no", False)),
        ("diabetes", bundle(condition(verification="entered-in-error")), ("no", False)),
        ("diabetes", bundle(condition(who="p2")), (None, True)),
        ("diabetes", bundle(), ("no", False)),
        ("diabetes", bundle(**NEXT), (None, True)),
        ("diabetes", None, (None, False)),
        ("diabetes", OUTCOME, (None, False)),
        ("statin", bundle(prescription()), ("yes", False)),
        ("statin", bundle(prescription(ago=24 * 100)), (None, False)),
        ("statin", bundle(prescription(dated=False)), (None, True)),
        ("statin", bundle(prescription("cancelled")), (None, False)),
        ("statin", bundle(), (None, False)),
    ],
)
def test_diagnoses_and_prescriptions(column: str, prefetched: Any, expected: Any, mapping: HookMapping):
    assert cell(mapping, column, prefetched) == expected


@pytest.mark.parametrize(
    ("patient", "cells"),
    [
        ({"birthDate": "1980-03-02", "gender": "female"}, (45, "F", "1980-03-02")),
        ({"birthDate": "1980-03-01", "gender": "male"}, (46, "M", "1980-03-01")),
        ({"birthDate": "1980", "gender": "other"}, (None, None, None)),
        ({"birthDate": "2030-01-01"}, (None, None, "2030-01-01")),
        ({}, (None, None, None)),
    ],
)
def test_the_patients_own_record(patient: Any, cells: Any, mapping: HookMapping):
    for id, expected in ((ME, cells), ("p2", (None, None, None))):
        record = fhir(Patient, id=id, **patient)
        found = read_case(mapping, Request(ME, {"patient": record}, NOW)).cells
        assert (found["age"], found["sex"], found["born"]) == expected


BAD = (None, 5, [], {}, [5], "x", {"coding": [5, {}]})
HOSTILE = [
    *(1, "x", [], {}, {"resourceType": 5}, {"resourceType": "Bundle", "entry": 5}, {"resourceType": "Bundle"}),
    {"resourceType": "Bundle", "entry": [1, None, {}, {"resource": 5}, {"resource": {"resourceType": "Observation"}}]},
    *(
        {**observation(), name: bad}
        for name in observation()
        for bad in (None, 5, [], {}, [5], "x", {"coding": [5, {}]})
    ),
    *({**observation(), "valueQuantity": {"value": bad}} for bad in (True, "2", 1e400, None, 10**400, [])),
    *({**condition(), name: bad} for name in condition() for bad in (None, 5, [5], "x", {"coding": 5})),
    {"resourceType": "Patient", "id": 5, "birthDate": 1980, "gender": ["male"]},
    {"resourceType": "Patient", "birthDate": "1980-13-45"},
]


def test_damaged_records_are_gaps(mapping: HookMapping):
    for record in HOSTILE:
        for wrapped in (record, {"resourceType": "Bundle", "entry": [{"resource": record}]}):
            case = read_case(mapping, Request(ME, dict.fromkeys(mapping.prefetch, wrapped), NOW))
            assert set(case.cells) == set(SCHEMA.names)
            SCHEMA.encode([case.cells])  # which takes whatever is read
