"""OhioT1DM: the reader on made-up files, the contexts of boluses against numbers by hand, and the simulator's laws."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ohio_folder import Events, at, bolus, moment, patient_xml, write, write_folder

from experiments.t1d import __main__ as command
from experiments.t1d.data import OhioClinic, Part
from experiments.t1d.ohio import CONTEXTS, OhioWorld, Patient, bolus_rows, draws, read_folder
from experiments.t1d.ohio.boluses import BolusRows, contexts_at
from experiments.t1d.ohio.clinician import Clinician
from experiments.t1d.ohio.draws import UnitGaussian
from experiments.t1d.ohio.pool import Pool, UnitScale
from experiments.t1d.ohio.windows import BasalRate, Windows
from prudent.errors import InputProblem

NAN = float("nan")


def read_one(folder: Path, **elements: Events) -> Patient:
    write(folder, 2018, "train", "559", patient_xml("559", elements))
    return read_folder(folder)[0]


def context(patient: Patient, name: str, *minutes: float) -> list[float]:
    """A context for decisions so many minutes into the record."""
    beginning = read_times(patient)
    return contexts_at(patient, beginning + np.array(minutes))[:, CONTEXTS.index(name)].tolist()


def read_times(patient: Patient) -> float:
    """The clock at minute 0 of the made-up records: 7 December 2021 is 8011 days after 1 January 2000."""
    assert patient.begins >= 8011 * 1440
    return 8011 * 1440.0


def same(actual: Any, *expected: float) -> None:
    np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-9)


# a reading at minute 0, so that half an hour before the bolus is covered by the record
BEGIN = [at(0, 100)]


# --- the reader ---


def test_a_file_is_read(tmp_path: Path):
    patient = read_one(
        tmp_path,
        glucose_level=[at(5, 120), at(0, 101.5)],
        meal=[{"ts": moment(3), "type": "Lunch", "carbs": 45}],
        exercise=[{"ts": moment(4), "intensity": 5, "type": " ", "duration": 30, "competitive": ""}],
        bolus=[bolus(7.5, 2.5, end=37.5, kind="square")],
    )
    assert patient.id == "559"
    start = read_times(patient)
    same(patient.readings["glucose_level"].times - start, 0, 5)
    same(patient.readings["glucose_level"].values, 101.5, 120)
    same(patient.readings["meal"].values, 45)
    same(patient.readings["exercise"].values, 150)
    spans = patient.spans["bolus"]
    same([spans.begins[0] - start, spans.ends[0] - start, spans.values[0]], 7.5, 37.5, 2.5)


def test_empty_attributes_are_gaps(tmp_path: Path):
    readings = [at(0, 100), at(5, ""), at(10, " "), {"ts": moment(15)}, {"ts": " ", "value": 300}, {"value": 300}]
    series = read_one(tmp_path, glucose_level=readings).readings["glucose_level"]
    same(series.values, 100, NAN, NAN, NAN)


def test_an_exercise_without_one_of_its_numbers_is_a_gap(tmp_path: Path):
    exercise = [{"ts": moment(0), "intensity": "", "duration": 30}, {"ts": moment(5), "intensity": 0, "duration": " "}]
    same(read_one(tmp_path, exercise=exercise).readings["exercise"].values, NAN, NAN)


def test_elements_may_be_empty_or_absent(tmp_path: Path):
    patient = read_one(tmp_path, glucose_level=BEGIN, meal=[], bolus=[])
    assert [len(patient.readings[element]) for element in ("glucose_level", "meal", "basis_steps")] == [1, 0, 0]
    assert len(patient.spans["bolus"]) == len(patient.spans["temp_basal"]) == 0
    assert len(bolus_rows(patient)) == 0


def test_training_and_testing_are_one_record_and_repeated_events_count_once(tmp_path: Path):
    write(tmp_path, 2018, "train", "559", patient_xml("559", {"glucose_level": [at(0, 100), at(5, 110), at(5, 110)]}))
    write(tmp_path, 2018, "test", "559", patient_xml("559", {"glucose_level": [at(5, 110), at(10, 120)]}))
    write(tmp_path, 2020, "test", "540", patient_xml("540", {"glucose_level": [at(0, 90)]}))
    first, second = read_folder(tmp_path)
    assert (first.id, second.id) == ("540", "559")
    same(second.readings["glucose_level"].values, 100, 110, 120)


def test_what_no_context_needs_is_passed_over(tmp_path: Path):
    hypo: Events = [{"ts": moment(0), "symptom": "Sweating"}]
    odd: dict[str, Events] = {"sleep": [{"ts_begin": "?", "quality": "?"}], "finger_stick": [at(0, "?")]}
    patient = read_one(tmp_path, glucose_level=[at(9, 100)], hypo_event=hypo, **odd)
    assert patient.begins == read_times(patient) + 9


@pytest.mark.parametrize(
    ("element", "event", "sentence"),
    [
        (
            "glucose_level",
            at(0, "high"),
            r"the attribute 'value' in <glucose_level> is 'high', which is not a number",
        ),
        ("glucose_level", at(0, "nan"), r"is 'nan', which is not a number\. .*, or empty it"),
        (
            "glucose_level",
            {"ts": "2021-12-07 00:00:00", "value": 1},
            r"'ts' .* is '2021-12-07 00:00:00', .* like 07-12",
        ),
        ("glucose_level", {"ts": "07-12-2021", "value": 1}, r"'ts' .* is '07-12-2021', .*, or delete the event\.$"),
        ("glucose_level", {"ts": "31-02-2021 00:00:00", "value": 1}, r"is '31-02-2021 00:00:00'"),
        ("bolus", bolus(0, -1), r"the attribute 'dose' in <bolus> is '-1', which is not a number of 0 or more"),
        ("bolus", bolus(0, 1) | {"ts_end": "later"}, r"the attribute 'ts_end' in <bolus> is 'later'"),
        ("meal", {"ts": moment(0), "carbs": "3,5"}, r"the attribute 'carbs' in <meal> is '3,5'"),
        (
            "exercise",
            {"ts": moment(0), "intensity": 5, "duration": "long"},
            r"the attribute 'duration' in <exercise>",
        ),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path: Path, element: str, event: dict[str, object], sentence: str):
    with pytest.raises(InputProblem, match=sentence) as caught:
        read_one(tmp_path, **{element: [event]})
    assert "559-ws-training.xml, line 4" in str(caught.value)


LAUGHS = """<?xml version="1.0"?><!DOCTYPE patient [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]><patient id="&b;"/>"""


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (LAUGHS, r"559-ws-training\.xml declares a document type, in line 1"),
        ("<!DOCTYPE patient SYSTEM 'file:///etc/hostname'><patient/>", r"declares a document type"),
        ("<patient>", r"559-ws-training\.xml is not XML: no element found"),
        ("", r"is not XML"),
        ("ts,value\n1,2\n", r"is not XML"),
        ("<patient weight='&unknown;'/>", r"is not XML: undefined entity"),
        ("<?xml version='1.0' encoding='nonsense'?><patient/>", r"is not XML: unknown encoding"),
        ("<report/>", r"begins with <report> where an OhioT1DM file has <patient>"),
        ("<patient id='563'/>", r"named for patient '559', but its <patient> has the id '563'\. Rename"),
    ],
)
def test_a_file_of_another_kind_is_refused(tmp_path: Path, text: str, sentence: str):
    write(tmp_path, 2018, "train", "559", text)
    with pytest.raises(InputProblem, match=sentence):
        read_folder(tmp_path)


def test_a_folder_without_files_is_refused(tmp_path: Path):
    (tmp_path / "notes.xml").write_text("<patient/>")
    with pytest.raises(InputProblem, match="2018/ or 2020/"):
        read_folder(tmp_path)
    with pytest.raises(InputProblem, match="nowhere"):
        read_folder(tmp_path / "nowhere")


# --- the contexts of boluses, by hand ---


def test_the_nine_contexts_and_the_target_of_a_bolus(tmp_path: Path):
    """A bolus at minute 60: its half hour is 30 to 60, its target 90 to 180, ends included."""
    patient = read_one(
        tmp_path,
        glucose_level=[at(t, v) for t, v in ((0, 50), (29, 60), (30, 100), (45, 110), (60, 126), (61, 300))]
        + [at(t, v) for t, v in ((89, 400), (90, 150), (120, 160), (180, 200), (181, 400))],
        basis_skin_temperature=[at(31, 86), at(36, 88), at(20, 0)],
        basis_air_temperature=[at(40, 80), at(50, 81)],
        basis_gsr=[at(40, 0.5)],
        basis_steps=[at(25, 1000), at(30, 10), at(35, 0), at(55, 32), at(65, 1000)],
        exercise=[
            {"ts": moment(t), "intensity": i, "duration": d} for t, i, d in ((35, 4, 20), (50, 2, 60), (10, 9, 90))
        ],
        basis_heart_rate=[at(33, 70), at(38, 80), at(43, 90)],
        basal=[at(0, 0.6), at(50, 1.2)],
        meal=[{"ts": moment(t), "type": "Snack", "carbs": c} for t, c in ((29, 99), (58, 15), (60, 45), (62, 99))],
        bolus=[bolus(60, 4.5)],
    )
    rows = bolus_rows(patient)
    assert (
        *("glucose", "skin_temperature", "air_temperature", "skin_conductance"),
        *("steps", "exercise", "heart_rate", "basal", "carbs"),
    ) == CONTEXTS
    # basal: 20 minutes at 0.6 and 10 at 1.2
    same(
        rows.contexts[0], (100 + 110 + 126) / 3, 87, 80.5, 0.5, 42, 4 * 20 + 2 * 60, 80, (20 * 0.6 + 10 * 1.2) / 30, 60
    )
    same(rows.doses, 4.5)
    same(rows.targets, (150 + 160 + 200) / 3)
    same(rows.times - read_times(patient), 60)


def test_windows_hold_their_ends_at_every_second(tmp_path: Path):
    seconds = np.arange(60) / 60
    boluses = [bolus(1000 * k + 100 + s, 1) for k, s in enumerate(seconds)]
    shifts = ((-30, 110), (0, 130), (30, 150), (120, 170))
    readings = [at(1000 * k + 100 + s + shift, v) for k, s in enumerate(seconds) for shift, v in shifts]
    rows = bolus_rows(read_one(tmp_path, glucose_level=[*BEGIN, *readings], bolus=boluses))
    same(rows.contexts[:, 0], *[120] * 60)
    same(rows.targets, *[160] * 60)


def test_boluses_without_dose_or_without_glucose_after_have_no_row(tmp_path: Path):
    boluses = [bolus(0, 1), bolus(100, ""), bolus(100, " ", kind="square"), bolus(300, 2), bolus(600, 3)]
    # 690 has no number, so that nothing follows the bolus at 600
    readings = [at(60, 120), at(150, 130), at(420, 140), at(690, "")]
    rows = bolus_rows(read_one(tmp_path, glucose_level=readings, bolus=boluses))
    same(rows.doses, 1, 2)
    same(rows.targets, 120, 140)


def test_a_dual_bolus_is_one_decision_and_a_square_one_counts_when_it_begins(tmp_path: Path):
    boluses = [
        bolus(60, 2, kind="normal dual"),
        bolus(60, 3, end=180, kind="square dual"),
        bolus(60, 2, kind="normal dual"),
        bolus(75, 1.5, end=135, kind="square"),
    ]
    patient = read_one(tmp_path, glucose_level=[*BEGIN, at(90, 120), at(105, 200), at(185, 300)], bolus=boluses)
    rows = bolus_rows(patient)
    same(rows.times - read_times(patient), 60, 75)
    # the repeated part counts once; the bolus at 75 keeps a separate row, whose target ends at 195
    same(rows.doses, 5, 1.5)
    same(rows.targets, (120 + 200) / 2, (200 + 300) / 2)


def test_a_bolus_that_ends_before_it_begins_counts_when_it_begins(tmp_path: Path):
    patient = read_one(tmp_path, glucose_level=[at(90, 120)], bolus=[bolus(60, 1, end=5)])
    same(patient.spans["bolus"].ends - read_times(patient), 60)
    same(bolus_rows(patient).doses, 1)


def test_at_the_very_start_of_the_record_everything_is_a_gap(tmp_path: Path):
    patient = read_one(
        tmp_path, glucose_level=[at(35, 120)], bolus=[bolus(0, 1)], meal=[{"ts": moment(0), "carbs": 30}]
    )
    same(bolus_rows(patient).contexts[0], *[NAN] * 9)


def test_no_report_is_none_and_no_reading_is_a_gap(tmp_path: Path):
    patient = read_one(tmp_path, glucose_level=[*BEGIN, at(90, 120)], bolus=[bolus(60, 1)])
    same(bolus_rows(patient).contexts[0], NAN, NAN, NAN, NAN, NAN, 0, NAN, NAN, 0)


def test_a_report_without_its_number_makes_the_sum_unknown(tmp_path: Path):
    meals = [{"ts": moment(40), "carbs": 20}, {"ts": moment(50), "carbs": ""}]
    patient = read_one(tmp_path, glucose_level=BEGIN, meal=meals)
    same(context(patient, "carbs", 45, 60, 75, 81), 20, NAN, NAN, 0)


def test_readings_need_no_order_and_absent_numbers_do_not_count(tmp_path: Path):
    patient = read_one(tmp_path, glucose_level=[at(50, 130), at(40, ""), at(45, " "), at(35, 110), at(0, 500)])
    same(context(patient, "glucose", 60), 120)


def test_an_hour_that_the_clock_repeats_is_averaged_and_one_it_skips_is_a_gap(tmp_path: Path):
    twice = [at(60, 100), at(70, 110), at(80, 120), at(60, 200), at(70, 210), at(80, 220), at(200, 90)]
    patient = read_one(tmp_path, glucose_level=twice)
    same(context(patient, "glucose", 85, 150, 210), 160, NAN, 90)


# --- the basal rate ---


def basal_mean(patient: Patient, start: float, stop: float) -> float:
    beginning = read_times(patient)
    window = Windows(np.array([beginning + start]), np.array([beginning + stop]))
    return float(BasalRate.of(patient).mean(window)[0])


def temporary(begin: float, end: float | None, rate: object) -> dict[str, object]:
    return {"ts_begin": moment(begin), "ts_end": " " if end is None else moment(end), "value": rate}


def test_a_temporary_rate_overrides_the_programmed_one_and_zero_is_a_suspended_pump(tmp_path: Path):
    patient = read_one(
        tmp_path, basal=[at(0, 1.0), at(100, 2.0)], temp_basal=[temporary(40, 50, 0), temporary(90, 110, 3)]
    )
    same(basal_mean(patient, 30, 60), (10 * 1 + 10 * 0 + 10 * 1) / 30)
    same(basal_mean(patient, 40, 50), 0)
    # 80-90 programmed 1, 90-110 temporary 3, 110-120 programmed 2
    same(basal_mean(patient, 80, 120), (10 * 1 + 20 * 3 + 10 * 2) / 40)
    same(basal_mean(patient, 5000, 5030), 2)


def test_a_temporary_rate_ends_when_the_next_begins_and_without_an_end_at_the_next_entry(tmp_path: Path):
    overlapping = [temporary(10, 60, 4), temporary(20, 30, 0)]
    patient = read_one(tmp_path, basal=[at(0, 1.0), at(200, 2.0)], temp_basal=[*overlapping, temporary(150, None, 5)])
    # the second cancels the first, which does not come back at 30
    same(basal_mean(patient, 0, 40), (10 * 1 + 10 * 4 + 10 * 0 + 10 * 1) / 40)
    same(basal_mean(patient, 140, 220), (10 * 1 + 50 * 5 + 20 * 2) / 80)


def test_an_unknown_basal_rate_is_a_gap(tmp_path: Path):
    patient = read_one(tmp_path, basal=[at(50, 1.0), at(100, "")], temp_basal=[temporary(0, 10, 3)])
    same(basal_mean(patient, 20, 40), NAN)
    # known are 0-10 and 50-60
    same(basal_mean(patient, 0, 60), (10 * 3 + 10 * 1) / 20)
    same(basal_mean(patient, 110, 140), NAN)
    same(basal_mean(read_one(tmp_path, glucose_level=BEGIN), 20, 40), NAN)


# --- gaps, scales, and equal shares ---


def table(contexts: list[list[float]], doses: list[float]) -> BolusRows:
    padded = np.zeros((len(contexts), 9))
    padded[:, : len(contexts[0])] = contexts
    return BolusRows(np.arange(len(doses)), padded, np.array(doses, float), np.array(doses, float) + 100)


def test_gaps_take_the_patients_mean_and_what_was_never_measured_the_others():
    one = table([[1, 10, NAN], [3, NAN, NAN], [NAN, 30, NAN]], [1, 2, 3])
    two = table([[5, NAN, NAN], [7, NAN, NAN]], [4, 5])
    pool = Pool.of([one, two])
    shown = pool.context_scale.from_unit(pool.contexts)
    same(shown[:, 0], 1, 3, 2, 5, 7)
    # the second patient never had the second context: the first one's mean; nobody had the third: 0
    same(shown[:, 1], 10, 20, 30, 20, 20)
    same(shown[:, 2], 0, 0, 0, 0, 0)
    same(pool.contexts[:, 1], 0, 0.5, 1, 0.5, 0.5)
    same(pool.doses, 0, 0.25, 0.5, 0.75, 1)
    assert pool.measured[:, :3].tolist() == [[True, True, False], [True, False, False]]
    assert np.isnan(one.contexts[1, 1])


def test_scales_reach_from_the_lowest_to_the_highest_value():
    scale = UnitScale.of(np.array([[0.2, 5.0, 40.0], [0.3, 5.0, 400.0], [0.25, 5.0, 130.0]]))
    unit = scale.to_unit(np.array([[0.25, 5.0, 220.0], [0.3, 5.0, 40.0]]))
    same(unit.ravel(), 0.5, 0, 0.5, 1, 0, 0)
    same(scale.from_unit(unit).ravel(), 0.25, 5, 220, 0.3, 5, 40)


def test_oversampling_gives_every_patient_the_same_weight():
    pool = Pool.of([table([[k] for k in range(count)], list(range(count))) for count in (7, 3, 1)])
    chosen = pool.equalised(seed=3)
    assert np.bincount(pool.patient[chosen]).tolist() == [7, 7, 7]
    times = np.bincount(chosen)
    assert times[:7].tolist() == [1] * 7
    assert sorted(times[7:10].tolist()) == [2, 2, 3]
    assert times[10] == 7


def test_one_dose_alone_teaches_nothing():
    with pytest.raises(InputProblem, match=r"All 2 boluses have a dose of 3 U"):
        Pool.of([table([[1], [2]], [3, 3])])


# --- draws and the clinician ---


def test_draws_keep_the_law_inside_the_cube():
    """In a half-line cut at its centre, a Gaussian of sd s has the mean s · √(2/π)."""
    gaussian = UnitGaussian("559", np.array([0.0, 0.5, 0.0, 1.0]), np.diag([0.01, 0.0001, 0.0, 0.0]))
    drawn = gaussian.draw(4000, np.random.default_rng(0))
    assert drawn.shape == (4000, 4)
    assert drawn.min() >= 0
    assert drawn.max() <= 1
    assert drawn[:, 0].mean() == pytest.approx(0.1 * np.sqrt(2 / np.pi), abs=0.004)
    assert drawn[:, 1].mean() == pytest.approx(0.5, abs=0.001)
    assert set(drawn[:, 2]) == {0.0}
    assert set(drawn[:, 3]) == {1.0}


def test_a_gaussian_is_fitted_by_maximum_likelihood():
    gaussian = UnitGaussian.of("559", np.array([[0.0, 1.0], [1.0, 0.0]]))
    same(gaussian.mean, 0.5, 0.5)
    same(gaussian.covariance.ravel(), 0.25, -0.25, -0.25, 0.25)
    # equal numbers stay exactly themselves, whatever their mean rounds to
    equal = UnitGaussian.of("559", np.tile([[0.1, 1.0]], (3, 1)))
    assert not equal.covariance.any()
    assert equal.draw(2, np.random.default_rng(0)).tolist() == [[0.1, 1.0]] * 2


def test_a_patient_whose_draws_are_almost_never_inside_is_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(draws, "PATIENCE", 50)
    hopeless = UnitGaussian("559", np.array([-1.0]), np.array([[0.001]]))
    with pytest.raises(InputProblem, match=r"drawn for patient 559 only 0 lay in the range .* in 'patients'"):
        hopeless.draw(2, np.random.default_rng(0))
    assert hopeless.draw(0, np.random.default_rng(0)).shape == (0, 1)


def test_the_clinician_sees_a_gap_as_the_mean_and_never_chooses_what_nobody_took():
    contexts = np.array([[0.0], [0.1], [0.9], [1.0]])
    clinician = Clinician.taught(contexts, np.array([2, 2, 5, 5]), 10)
    shares = clinician.probabilities(np.array([[0.0], [1.0], [NAN], [0.5]]))
    same(shares.sum(axis=1), 1, 1, 1, 1)
    assert shares[0, 2] > 0.5 > shares[1, 2]
    assert shares[2].tolist() == shares[3].tolist()
    assert not np.delete(shares, [2, 5], axis=1).any()
    same(Clinician.taught(contexts, np.full(4, 3), 10).probabilities(contexts)[:, 3], 1, 1, 1, 1)


# --- the world ---


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_folder(tmp_path_factory.mktemp("ohio"))


@pytest.fixture(scope="module")
def everybody(folder: Path) -> tuple[Patient, ...]:
    return read_folder(folder)


@pytest.fixture(scope="module")
def world(everybody: tuple[Patient, ...]) -> OhioWorld:
    return OhioWorld.from_patients(everybody)


def test_the_made_up_folder_has_what_the_real_one_has(everybody: tuple[Patient, ...]):
    by_id = {patient.id: patient for patient in everybody}
    assert list(by_id) == ["540", "552", "559", "563", "591"]
    assert np.isnan(by_id["563"].readings["glucose_level"].values).sum() == 2
    assert np.isnan(by_id["563"].readings["meal"].values).sum() == 1
    assert np.isnan(by_id["563"].spans["temp_basal"].ends).sum() == 1
    assert 0.0 in by_id["563"].spans["temp_basal"].values
    assert np.diff(by_id["559"].readings["glucose_level"].times).max() >= 120
    assert (
        not bolus_rows(by_id["540"])
        .measured[[CONTEXTS.index(c) for c in ("air_temperature", "steps", "heart_rate")]]
        .any()
    )


def test_patients_with_all_nine_contexts_are_used(world: OhioWorld):
    assert world.patients == ("559", "563", "591")
    assert world.set_aside == ("540", "552")
    assert len(world.units) == 10
    assert world.levels.tolist() == pytest.approx([k / 9 for k in range(10)])
    assert world.units[0] == pytest.approx(0.1, abs=0.5)
    assert world.simulator.get_params()["loss"] == "huber"
    assert (len(world.simulator.estimators_), world.simulator.get_params()["max_depth"]) == (100, 5)


def test_a_sample_obeys_the_papers_recipe(world: OhioWorld):
    sample = world.sample(3000, seed=1)
    assert len(sample) == 3000
    assert sample.full.min() >= 0
    assert sample.full.max() <= 1
    assert sample.observed.mean(axis=0) == pytest.approx(np.full(9, 0.7), abs=0.03)
    assert np.isnan(sample.values).tolist() == (~sample.observed).tolist()
    assert np.array_equal(sample.values[sample.observed], sample.full[sample.observed])
    for glucose, reward in zip(sample.glucose[:20].ravel(), sample.theta[:20].ravel(), strict=True):
        by_hand = (glucose - 80) / 10 if glucose <= 90 else 1 if glucose <= 130 else (180 - glucose) / 50
        assert reward == pytest.approx(by_hand)
    assert np.array_equal(sample.rewards, sample.theta[np.arange(3000), sample.actions])
    assert not np.isfinite(Part.of(sample).lowest).any()
    assert np.bincount(sample.patient) / 3000 == pytest.approx(np.full(3, 1 / 3), abs=0.03)
    # half uniform over the ten: never below a twentieth; and the log follows these probabilities
    assert sample.propensity.min() >= 0.05
    assert sample.propensity.sum(axis=1) == pytest.approx(np.ones(3000))
    assert np.bincount(sample.actions, minlength=10) / 3000 == pytest.approx(sample.propensity.mean(axis=0), abs=0.03)


def test_the_simulator_answers_row_by_row_and_for_the_true_context(world: OhioWorld):
    sample = world.sample(30, seed=2)
    record = np.concatenate([sample.full[4], [3 / 9]])[None]
    assert world.simulator.predict(record)[0] == pytest.approx(sample.glucose[4, 3])
    # the made-up patients' glucose falls with insulin
    assert sample.glucose[:, 9].mean() < sample.glucose[:, 1].mean() - 20


def test_the_clinic_saw_the_record_only(world: OhioWorld):
    sample = world.sample(50, seed=3)
    assert np.array_equal(world.propensity(sample.values), sample.propensity)
    # it learnt what the made-up patients did: more insulin for more carbs
    without, plenty = np.full((2, 9), NAN)
    without[CONTEXTS.index("carbs")], plenty[CONTEXTS.index("carbs")] = 0.0, 1.0
    less, more = world.propensity(np.stack([without, plenty])) @ world.levels
    assert more > less + 0.1
    nearest = np.abs(world.pool.doses[:, None] - world.levels).argmin(axis=1)
    assert world.clinician.classes.tolist() == sorted(set(nearest.tolist()))


def test_the_same_seed_gives_the_same_sample(world: OhioWorld, everybody: tuple[Patient, ...]):
    first, again, other = world.sample(40, seed=5), world.sample(40, seed=5), world.sample(40, seed=6)
    for name in ("full", "observed", "theta", "actions", "rewards"):
        assert np.array_equal(getattr(first, name), getattr(again, name))
        assert not np.array_equal(getattr(first, name), getattr(other, name))
    learnt_again = OhioWorld.from_patients(everybody).sample(40, seed=5)
    assert np.array_equal(first.theta, learnt_again.theta)
    assert np.array_equal(first.actions, learnt_again.actions)


def test_what_was_never_measured_for_a_patient_is_always_a_gap(everybody: tuple[Patient, ...]):
    world = OhioWorld.from_patients(everybody, patients=("540", "559"), gaps=0.0)
    sample = world.sample(100, seed=0)
    heart_rate = sample.observed[:, CONTEXTS.index("heart_rate")]
    assert np.array_equal(heart_rate, sample.patient == world.patients.index("559"))
    assert sample.observed[:, CONTEXTS.index("glucose")].all()
    assert np.unique(sample.full[~heart_rate][:, CONTEXTS.index("heart_rate")]).size == 1


def test_a_folder_of_the_later_cohort_alone_works(folder: Path):
    world = OhioWorld.from_folder(folder / "2020")
    assert world.patients == ("540", "552")
    sample = world.sample(50, seed=0)
    assert not sample.observed[:, CONTEXTS.index("steps")].any()
    assert sample.theta.shape == (50, 10)


def test_bad_arguments_get_a_sentence(world: OhioWorld, everybody: tuple[Patient, ...], tmp_path: Path):
    with pytest.raises(InputProblem, match=r"'patients' parameter .* \(540, 552, 559, 563, 591\)\. Got \('1',\)"):
        OhioWorld.from_patients(everybody, patients=("1",))
    with pytest.raises(InputProblem, match=r"'gaps' parameter of OhioWorld must be in \[0, 1\)"):
        OhioWorld.from_patients(everybody, gaps=1.0)
    with pytest.raises(InputProblem, match=r"'rows' parameter"):
        world.sample(0)
    with pytest.raises(InputProblem, match=r"'seed' parameter"):
        world.sample(1, seed=-1)
    with pytest.raises(InputProblem, match=r"559.*bolus"):
        OhioWorld.from_patients([read_one(tmp_path, glucose_level=BEGIN)])


# --- the experiment ---


def requested(folder: Path, *more: str) -> list[str]:
    entries = ("oracle", "uniform", "gradient boosting, action as feature", "bolus calculator")
    return ["--ohio", str(folder), "--size", "toy", "--entries", *entries, *more]


def test_the_experiment_runs_on_the_files_and_writes_only_below_out(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    here, out = tmp_path / "here", tmp_path / "out"
    here.mkdir()
    monkeypatch.chdir(here)
    before = set(folder.rglob("*"))
    assert command.main(requested(folder, "--out", str(out))) == 0
    assert not list(here.iterdir())
    assert set(folder.rglob("*")) == before
    assert {path.name for path in out.iterdir()} == {"t1d.json", "pictures", "pieces"}
    assert {path.name for path in (out / "pictures").iterdir()} == {"frontier-ohio.svg", "doses-ohio.svg"}
    clinic = json.loads((out / "t1d.json").read_text())["clinics"]["ohio"]
    rows = {row["name"]: row for row in clinic["rows"]}
    assert list(rows) == ["gradient boosting, action as feature", "uniform", "oracle"]
    assert all(row["mean"] <= rows["oracle"]["mean"] and row["low"] is None for row in rows.values())
    assert "bolus calculator" not in clinic["rivals"]
    printed = capsys.readouterr().out
    assert "paper: mean R" in printed
    assert "other data" not in printed
    assert command.main(requested(folder, "--out", str(out))) == 0
    assert capsys.readouterr().out.startswith("0 of 6 pieces")


def test_unreadable_files_are_reported_before_anything_is_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "files", 2018, "train", "559", "<report/>")
    for wrong, word in (("nowhere", "nowhere"), ("files", "<report>")):
        assert command.main(requested(tmp_path / wrong, "--out", "out")) == 2
        printed = capsys.readouterr()
        assert word in printed.err
        assert not printed.out
    assert command.main(requested(tmp_path / "files")) == 2
    assert "with --out" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["files"]


def test_other_files_are_another_clinic_and_another_place_is_not(tmp_path: Path):
    one, other = (tmp_path / name for name in ("one", "other"))
    for place in (one, other):
        write(place, 2018, "train", "559", patient_xml("559", {"glucose_level": BEGIN}))
    first = repr(OhioClinic.of(one))
    assert repr(OhioClinic.of(other)) == first
    write(other, 2018, "train", "559", patient_xml("559", {"glucose_level": [at(0, 101)]}))
    assert repr(OhioClinic.of(other)) != first
    write(one, 2018, "test", "559", patient_xml("559", {}))
    assert repr(OhioClinic.of(one)) != first
