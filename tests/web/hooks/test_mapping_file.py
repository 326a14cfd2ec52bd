"""The mapping file is checked against the model before anybody is served."""

import re
from pathlib import Path
from typing import Any

import pytest

from prudent import InputProblem
from prudent.web.hooks import HookMapping

EXAMPLE = Path(__file__).parents[3] / "examples" / "cds_hooks" / "mapping.toml"
FIRST = '[service]\nid = "dose"\ntitle = "Dose"\ndescription = "Which dose."\n'
PRESSURE = '[columns.pressure]\nresource = "Observation"\nsystem = "http://loinc.org"\ncodes = ["8480-6"]\n'


@pytest.fixture
def read(fitted_models: Any, tmp_path: Path) -> Any:
    fitted = fitted_models["causal"]

    def read(text: str) -> HookMapping:
        path = tmp_path / "mapping.toml"
        path.write_text(text, encoding="utf-8")
        return HookMapping.read(path, fitted.schema, fitted.action_labels)

    return read


def test_the_example_asks_for_what_it_maps(read: Any):
    mapping = read(EXAMPLE.read_text(encoding="utf-8"))
    assert mapping.prefetch["pressure"] == (
        "Observation?patient={{context.patientId}}&code=http://loinc.org|85354-9&_sort=-date&_count=10"
    )
    assert "1988-5,http://loinc.org|30522-7" in mapping.prefetch["marker"]
    assert mapping.unmapped == ("ward", "admitted")
    assert {one.action: one.label for one in mapping.actions}["high"] == "High dose"


def test_columns_of_any_name_have_keys_of_their_own(read: Any):
    mapping = read(f'{FIRST}{PRESSURE}unit = "mm[Hg]"\n')
    assert list(mapping.prefetch) == ["pressure"]
    assert mapping.strategy["strategy"] == "expected"


AGE = '[columns.pressure]\npatient = "age"\n'
SMOKER = '[columns.smoker]\nresource = "Condition"\nsystem = "s"\ncodes = ["1"]\n'


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("not toml", "TOML"),
        (f"{FIRST}", "columns"),
        (f"{FIRST}[column]\n", "columns"),
        (f"{PRESSURE}unit = 'mm[Hg]'\n", "service"),
        (f"{FIRST.replace('dose', 'a/b', 1)}{AGE}", "a/b"),
        (f"{FIRST}hok = 'patient-view'\n{AGE}", "hook"),
        (f"{FIRST}hook = 'Patient View'\n{AGE}", "Patient View"),
        (f"{FIRST}url = 'javascript:1'\n{AGE}", "javascript"),
        (f"{FIRST}[columns.presure]\npatient = 'age'\n", "pressure"),
        (f"{FIRST}{PRESSURE}", "unit"),
        (f"{FIRST}{PRESSURE}unit = 'mm[Hg]'\nunits = {{ kPa = 'x' }}\n", "kPa"),
        (f"{FIRST}{PRESSURE}unit = 'mm[Hg]'\nunits = {{ kPa = 0 }}\n", "kPa"),
        (f"{FIRST}{PRESSURE}unit = 'mm[Hg]'\nwindow = 'a day'\n", "a day"),
        (f"{FIRST}{PRESSURE}unit = 'mm[Hg]'\nvalue = 'median'\n", "median"),
        (f"{FIRST}{PRESSURE.replace('8480-6', '8480-6&_count=9')}unit = 'mm[Hg]'\n", "query"),
        (f"{FIRST}[columns.pressure]\nresource = 'Observations'\n", "Observation"),
        (f"{FIRST}[columns.ward]\npatient = 'age'\n", "ward"),
        (f"{FIRST}[columns.ward]\npatient = 'gender'\n", "values"),
        (f"{FIRST}[columns.ward]\npatient = 'gender'\nvalues = {{ male = 'nort' }}\n", "north"),
        (f"{FIRST}{SMOKER}", "present"),
        (f"{FIRST}{SMOKER}present = 'maybe'\n", "maybe"),
        (f"{FIRST}{AGE}[actions.hihg]\nlabel = 'x'\n", "high"),
        (f"{FIRST}{AGE}[actions.high]\nresource = {{ status = 'draft' }}\n", "resourceType"),
        (f"{FIRST}{AGE}[actions.high]\nresource = {{ resourceType = 'X', on = 2026-03-01 }}\n", "texts"),
        (f"{FIRST}{AGE}[keep]\nward = 'encounterId'\n", "ward"),
        (f"{FIRST}{AGE}[keep]\nstay = 'encounter.id'\n", "encounter.id"),
        (f"{FIRST}{AGE}[strategy]\nrisks = 1\n", "risk"),
    ],
)
def test_mistakes_are_one_sentence(text: str, named: str, read: Any):
    with pytest.raises(InputProblem, match=re.escape(named)) as problem:
        read(text)
    assert "mapping.toml" in str(problem.value)


def test_a_file_that_is_not_there(fitted_models: Any, tmp_path: Path):
    fitted = fitted_models["causal"]
    with pytest.raises(InputProblem, match="path"):
        HookMapping.read(tmp_path / "none.toml", fitted.schema, fitted.action_labels)
