"""The insulin experiment at toy size through its real command: resuming, results, tables, verdict and pictures."""

import itertools
import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from clear_words import assert_words_are_clear

from experiments.chosen_actions import Chosen, StoredChoices
from experiments.pieces import this_machine
from experiments.t1d import __main__ as command
from experiments.t1d import settings
from experiments.t1d.choices import Learnt
from experiments.t1d.curves import courses_of, curves_picture
from experiments.t1d.data import LEARNT, MECHANISMS, TESTED, Draw, OhioClinic, Part, Replication, VirtualClinic
from experiments.t1d.full_information import OTHERS, FullInformation
from experiments.t1d.pictures import doses_picture, frontier_picture
from experiments.t1d.pieces import Piece
from experiments.t1d.settings import BEST, EFFORTS
from experiments.t1d.showcase import shown_meals
from experiments.t1d.summary import Outcome
from experiments.t1d.tables import TABLES, best_variants, verdict_table
from experiments.t1d.verdict import best, careful_verdict, expected_verdict, paired
from prudent import MaximumExpectedReward, TailAverse
from prudent.models import Fitted
from prudent.worlds.insulin import world

TOY = EFFORTS["toy"]
CHEAP = ("bolus calculator", "constant dose", "uniform", "clinic's log", "oracle")
BOOSTING = "gradient boosting per action"
# few strategies: each is a program to compile
STRATEGIES = (MaximumExpectedReward(), TailAverse(risk=0.2))


def requested(folder: Path, *more: str) -> list[str]:
    return ["--size", "toy", "--out", str(folder / "results"), "--pieces", str(folder / "pieces"), *more]


def results_of(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "results" / "t1d.json").read_text())


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The command once, with our model and what is cheap on two replications of both clinics."""
    folder = tmp_path_factory.mktemp("t1d")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(settings, "OURS_STRATEGIES", STRATEGIES)
        patch.setattr(world, "TAUGHT", 400)  # simulating is slow where nothing is optimised
        assert command.main(requested(folder, "--mechanism", "mcar", "--entries", BEST, BOOSTING)) == 0
        assert command.main(requested(folder, "--entries", *CHEAP)) == 0
    return folder


# --- the command ---


def test_the_command_chooses_and_scores(toy: Path):
    results = results_of(toy)
    assert (results["learnt_from"], results["tested"], results["seed"], list(results["clinics"])) == (
        *(60, 40, 0),
        ["mcar", "mar"],
    )
    rows = {row["name"]: row for row in results["clinics"]["mcar"]["rows"]}
    assert list(rows)[:2] == [f"{BEST}, MaximumExpectedReward", f"{BEST}, TailAverse(risk=0.2)"]
    assert len(rows) == 2 + 1 + 10 + len(CHEAP) - 1
    assert len(results["clinics"]["mar"]["rows"]) == len(rows) - 3
    for row in rows.values():
        assert row["replications"] == 2
        assert row["mean"] <= rows["oracle"]["mean"]
        assert row["serious"] <= row["low"] <= 1
        assert sum(row["doses"]) == pytest.approx(1, abs=1e-5)
    assert rows["oracle"]["correct"] == 1
    assert rows["constant dose, 4.5 units"]["dose"] == 4.5
    assert rows[f"{BEST}, MaximumExpectedReward"]["seconds"] > 0


def test_numbers_are_those_of_the_kept_actions(toy: Path):
    entry = next(entry for entry in TOY.entries if entry.name == "uniform")
    means, lows = [], []
    for index in range(2):
        draw = Draw(VirtualClinic("mar"), TOY.size, 0, index)
        kept = Piece(entry, draw).load(toy / "pieces")
        assert kept is not None
        truth = draw.sample(TESTED)
        chosen = np.arange(40), kept.actions[0]
        means.append(truth.theta[chosen].mean())
        lows.append((truth.lowest[chosen] < 70).mean())
    row = next(row for row in results_of(toy)["clinics"]["mar"]["rows"] if row["name"] == "uniform")
    assert row["mean"] == pytest.approx(np.mean(means), rel=1e-5)
    assert row["mean_error"] == pytest.approx(np.std(means, ddof=1) / np.sqrt(2), rel=1e-4)
    assert row["low"] == pytest.approx(np.mean(lows), rel=1e-5)


def test_learning_and_test_never_share_meals_and_replications_stand_alone():
    seeds = {
        Draw(VirtualClinic(), TOY.size, seed, index).sample_seed(part)
        for seed, index, part in itertools.product(range(3), range(20), (LEARNT, TESTED))
    }
    assert len(seeds) == 120


def test_what_was_run_is_not_run_again_and_what_is_lost_is(toy: Path, capsys: pytest.CaptureFixture[str]):
    assert command.main(requested(toy, "--entries", *CHEAP, "--forget")) == 0
    assert capsys.readouterr().out.startswith(f"0 of {4 * len(CHEAP)} pieces")
    lost = next((toy / "pieces").rglob("mar/*/uniform/0001.npz"))
    half = next((toy / "pieces").rglob("mcar/*/uniform/0001.npz"))
    lost.unlink()
    half.write_bytes(half.read_bytes()[:100])
    assert command.main(requested(toy, "--entries", "uniform", "--from", "1", "--forget", "--mechanism", "mar")) == 0
    assert capsys.readouterr().out.startswith("1 of 1 pieces")
    assert command.main(requested(toy, "--entries", "uniform", "--forget")) == 0
    assert capsys.readouterr().out.startswith("1 of 4 pieces")


def test_tables_and_pictures_are_made_from_the_results(toy: Path):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(settings, "OURS_STRATEGIES", STRATEGIES)
        assert command.main(requested(toy, "--tables-only")) == 0
    results = results_of(toy)
    for table in TABLES.values():
        assert all(len(line) == len(table(results).header) for line in table(results).rows)
    assert "bolus calculator" in [line[0] for line in TABLES["insulin mcar"](results).rows]
    assert f"◆ {BEST}, TailAverse(risk=0.2)" in [line[0] for line in TABLES["every row mcar"](results).rows]
    drawn = {path.name for path in (toy / "pictures").iterdir()}
    assert drawn == {"curves.svg", *(f"{one}-{way}.svg" for one in ("frontier", "doses") for way in ("mcar", "mar"))}
    for path in (toy / "pictures").iterdir():
        ElementTree.fromstring(path.read_text())


def test_stored_rows_are_not_lost_by_accident(toy: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    shutil.copytree(toy / "pieces", tmp_path / "pieces")
    assert command.main(requested(tmp_path, "--tables-only")) == 0
    before = (tmp_path / "results" / "t1d.json").read_text()
    shutil.rmtree(next((tmp_path / "pieces").rglob("mcar/*/oracle")))
    assert command.main(requested(tmp_path, "--tables-only")) == 2
    assert "such as 'oracle, mcar'" in capsys.readouterr().err
    assert (tmp_path / "results" / "t1d.json").read_text() == before


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--entries", "magic"], "Got 'magic' instead"),
        (["--replications", "1"], "'replications' parameter"),
        (["--to", "21"], "'to' parameter"),
        (["--seed", "7", "--out", str(command.RESULTS)], "--out"),
        (["--size", "small", "--out", str(command.RESULTS)], "--out"),
        (["--ohio", "files", "--out", str(command.RESULTS)], "--out"),
        (["--ohio", "files"], "--out"),
    ],
)
def test_bad_options_are_refused_in_a_sentence(options: list[str], sentence: str, capsys: pytest.CaptureFixture[str]):
    assert command.main(options) == 2
    assert sentence in capsys.readouterr().err


def test_only_the_test_writes_to_the_page():
    assert command.options_of([]).out == command.RESULTS
    for trial in (["--seed", "7"], ["--size", "small"], ["--replications", "3"]):
        assert command.options_of(trial).out.is_relative_to("build/t1d")
    assert command.options_of([]).pieces == Path("build/t1d")
    assert command.options_of(["--ohio", "files", "--out", "there"]).pieces == Path("there/pieces")
    assert command.options_of(["--ohio", "files", "--out", "there", "--pieces", "work"]).pieces == Path("work")


def test_every_entry_has_a_place_and_settings_of_its_own():
    for effort in EFFORTS.values():
        draw = Draw(VirtualClinic(), effort.size, 0, 0)
        pieces = [Piece(entry, draw) for entry in effort.entries]
        assert len({piece.path(Path()) for piece in pieces}) == len(pieces)
        assert sum(piece.shows for piece in pieces) == 1
        for piece in pieces:
            assert repr(piece.entry.method) in piece.fingerprint


def copied(toy: Path, folder: Path) -> Replication:
    """The first replication, with a copy of its models."""
    replication = Replication.of(Draw(VirtualClinic(), TOY.size, 0, 0), toy / "pieces", "here")
    shutil.copytree(replication.models, folder / "models")
    return replace(replication, models=folder / "models")


def no_progress(done: int, total: int) -> None:
    pass


def test_a_kept_model_tells_how_long_it_took_to_learn_and_where(toy: Path, tmp_path: Path):
    replication = copied(toy, tmp_path)
    kept = replication.model(TOY.causal, False, no_progress)
    assert kept.machine == this_machine()
    beside = [
        path for path in replication.models.glob("*.json") if json.loads(path.read_text())["seconds"] == kept.seconds
    ]
    assert len(beside) == 1
    beside[0].write_text(json.dumps({"seconds": 1234.0, "machine": "there"}))
    chosen = Learnt(TOY.causal, STRATEGIES, TOY.completions).choose(replication, no_progress)
    assert chosen.fit_seconds == 1234
    assert StoredChoices.of(chosen, "here", *replication.tested.theta.shape).machine == "there; chosen on here"
    beside[0].unlink()
    loaded = replication.model(TOY.causal, False, no_progress)
    assert loaded.machine == "here"
    assert 0 < loaded.seconds < 1234


def test_a_half_saved_model_is_learnt_anew(toy: Path, tmp_path: Path):
    replication = copied(toy, tmp_path)
    kept = replication.model(TOY.causal, False, no_progress).fitted

    class Learning:
        def __repr__(self) -> str:
            return repr(TOY.causal)

        def fit(self, log: object, seed: int, progress: object) -> Fitted:
            return kept

    for model in replication.models.glob("*/model.json"):
        model.unlink()
    assert replication.model(Learning(), False, no_progress).fitted is kept
    assert len(list(replication.models.glob("*/model.json"))) == 1


# --- the rules ---


def test_full_information_is_of_other_meals_and_gaps_and_all(toy: Path, tmp_path: Path):
    """Every outcome of sixty meals is enough to be far better than chance, and a disaster is worth avoiding."""
    replication = copied(toy, tmp_path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(world, "TAUGHT", 400)
        chosen = FullInformation(settings.THRESHOLD, meals=60, stages=20).choose(replication, no_progress)
    truth = replication.tested.theta
    means = np.take_along_axis(truth, chosen.actions.T, axis=1).mean(axis=0)
    assert chosen.strategies == ("for the mean", "for the tail")
    assert (means > truth.mean() + 0.3).all()
    drawn = {replication.draw.sample_seed(LEARNT), replication.draw.sample_seed(TESTED)}
    assert Draw(VirtualClinic(), TOY.size, 0, OTHERS).sample_seed(LEARNT) not in drawn


def test_the_bolus_calculator_fills_gaps_with_the_means_of_the_log():
    def part(carbs: float, glucose: float) -> Part:
        cells = np.array([[70.0, 30.0, 45.0, 10.0, glucose, 0.0, carbs, 1.0, 12.0]])
        return Part(cells, cells, np.zeros((1, 10)), np.zeros((1, 10)), np.zeros(1, int), np.zeros(1))

    draw = Draw(VirtualClinic(), TOY.size, 0, 0)
    for tested, units in ((part(50.0, 160.0), 4.5), (part(np.nan, 120.0), 9.0), (part(0.0, np.nan), 0.0)):
        replication = Replication(draw, part(100.0, 120.0), tested, Path())
        chosen = settings.BolusCalculator().choose(replication, lambda done, total: None)
        assert draw.world.units[int(chosen.actions[0, 0])] == units


def test_outcomes_are_shares_of_meals():
    theta = np.array([[1.0, -3.0], [1.0, 1.0], [-2.0, 0.0], [0.5, -2.5]])
    lowest = np.array([[80.0, 50.0], [69.0, 90.0], [60.0, 70.0], [90.0, 53.0]])
    outcome = Outcome.of(np.array([1, 0, 1, 1]), Part(theta, theta, theta, lowest, theta, theta), (0.0, 2.0))
    assert (outcome.mean, outcome.below, outcome.low, outcome.serious) == (-1.125, 0.5, 0.75, 0.5)
    assert (outcome.dose, outcome.correct, outcome.doses.tolist()) == (1.5, 0.5, [0.25, 0.75])


def test_shown_meals_are_chosen_by_rule():
    theta = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0], [0.3, 0.2], [1.0, 1.0]])
    actions = np.array([[0, 0, 0, 0, 0], [1, 1, 0, 1, 1]])
    chosen = Chosen(("MaximumExpectedReward", "TailAverse(risk=0.2)"), actions)
    rows, why = shown_meals(chosen, theta, np.array([40.0, 9.0, 8.0, 50.0, 10.0]))
    assert rows.tolist() == [1, 0, 4, 3]
    assert why[0] == "where caution gains most"
    assert why[2] == "the first child or teenager whose dose caution changes"
    with pytest.raises(ValueError, match=r"needs TailAverse\(risk=0\.2\)"):
        shown_meals(Chosen(("MaximumExpectedReward",), actions[:1]), theta, np.zeros(5))


# --- the verdict, on results made by hand ---


def row(group: str, model: str, strategy: str, means: list[float], belows: list[float]) -> dict[str, Any]:
    numbers = {"group": group, "model": model, "strategy": strategy, "name": f"{model}, {strategy}".rstrip(", ")}
    measures = {"mean": means, "below": belows, "low": belows, "serious": belows}
    for name, values in measures.items():
        numbers |= {name: float(np.mean(values)), f"{name}_error": 0.01}
    shares = {"dose": 4.0, "correct": 0.5, "doses": [0.1] * 10, "seconds": 1.0, "machine": "one"}
    return numbers | shares | {"replications": len(means), "indices": [0, 1, 2], "means": means, "belows": belows}


RIVALS = [
    row("rival", "LR1", "mean imputation", [0.1, 0.2, 0.3], [0.10, 0.10, 0.10]),
    row("rival", "LR1", "PartialVAE imputation", [0.2, 0.2, 0.2], [0.06, 0.06, 0.06]),
    row("rival", "bolus calculator", "", [0.5, 0.5, 0.5], [0.08, 0.08, 0.08]),
]
EXPECTED = row("ours", BEST, "MaximumExpectedReward", [0.7, 0.4, 0.7], [0.05, 0.05, 0.05])
CAREFUL = [
    row("ours", BEST, "TailAverse(risk=0.2)", [0.6, 0.5, 0.6], [0.04, 0.04, 0.04]),
    row("ours", BEST, "TailAverse(risk=0.1)", [0.3, 0.19, 0.3], [0.02, 0.02, 0.02]),
    row("ours", BEST, "Conservative(risk=0.1)", [0.1, 0.1, 0.1], [0.03, 0.03, 0.03]),
]


def test_differences_are_paired():
    difference = paired(EXPECTED, RIVALS[0], "mean")
    assert difference is not None
    assert difference.value == pytest.approx(0.4)
    assert difference.error == pytest.approx(np.std([0.6, 0.2, 0.4], ddof=1) / np.sqrt(3))
    assert (difference.ahead, difference.of) == (3, 3)
    fewer = paired(EXPECTED, RIVALS[0] | {"indices": [5, 6, 7]}, "mean")
    assert fewer is None
    share = paired(EXPECTED, RIVALS[1], "below")
    assert share is not None
    assert (share.value, share.ahead) == (pytest.approx(-0.01), 3)
    half = paired(EXPECTED, RIVALS[1], "below", share=0.5)
    assert half is not None
    assert (half.value, half.ahead) == (pytest.approx(0.02), 0)


def test_the_expected_reward_is_held_against_every_rival():
    verdict = expected_verdict([EXPECTED, *RIVALS])
    assert verdict is not None
    assert (verdict.word, verdict.beaten, verdict.least_certain[0]) == ("yes, not clearly", 3, "bolus calculator")
    assert not verdict.least_certain[1].clear
    # the closest by its mean may be clear while another is not
    near = row("rival", "near", "", [0.69, 0.39, 0.69], [0.1, 0.1, 0.1])
    verdict = expected_verdict([EXPECTED, near, RIVALS[2]])
    assert verdict is not None
    assert (verdict.word, verdict.least_certain[0]) == ("yes, not clearly", "bolus calculator")
    clear = expected_verdict([EXPECTED, near, RIVALS[0]])
    assert clear is not None
    assert clear.word == "yes"
    worse = row("ours", BEST, "MaximumExpectedReward", [0.4, 0.4, 0.4], [0.05, 0.05, 0.05])
    lost = expected_verdict([worse, *RIVALS])
    assert lost is not None
    assert (lost.word, lost.beaten) == ("no", 2)
    assert expected_verdict(RIVALS) is None
    alone = RIVALS[2] | {"indices": [2, 3, 4]}
    results = {"title": "all", "rivals": ["bolus calculator", "near", "GANITE"], "rows": [EXPECTED, near, alone]}
    lines = verdict_table({"clinics": {"mcar": results}}).rows[0]
    assert lines[2] == "yes, so far"
    assert "least certain near" in lines[3]


def test_caution_must_halve_the_share_without_losing_mean():
    rows = [EXPECTED, *CAREFUL, *RIVALS]
    lowest, strongest = best(RIVALS, "below"), best(RIVALS, "mean")
    assert (lowest, strongest) == (RIVALS[1], RIVALS[2])
    verdict = careful_verdict(rows, lowest)
    assert verdict is not None
    assert (verdict.word, verdict.row["strategy"]) == ("yes, not clearly", "TailAverse(risk=0.1)")
    assert (verdict.below.value, verdict.below.error) == (pytest.approx(-0.01), pytest.approx(0, abs=1e-9))
    verdict = careful_verdict(rows, strongest)
    assert verdict is not None
    assert (verdict.word, verdict.row["strategy"]) == ("yes, not clearly", "TailAverse(risk=0.2)")
    nearest = careful_verdict([EXPECTED, CAREFUL[0], *RIVALS], lowest)
    assert nearest is not None
    assert (nearest.word, nearest.row["strategy"]) == ("no", "TailAverse(risk=0.2)")
    low = careful_verdict([EXPECTED, CAREFUL[2], *RIVALS], strongest)
    assert low is not None
    assert (low.word, low.row["strategy"]) == ("no", "Conservative(risk=0.1)")
    # a clear one goes before one with a better mean
    sure = row("ours", BEST, "TailAverse(risk=0.05)", [0.53, 0.51, 0.53], [0.02, 0.02, 0.02])
    lines = verdict_table({"clinics": {"mcar": {"title": "all", "rows": [*rows, sure]}}}).rows
    assert [line[2] for line in lines] == ["yes, not clearly", "yes", "yes"]
    assert "TailAverse(risk=0.05)" in lines[2][3]
    assert "−2.00 ± 0.00 points" in lines[2][3]


def test_halving_is_paired_over_the_replications_both_have():
    """On average the share is under half of the rival's, but not on the replications that both have."""
    rival = row("rival", "LR1", "", [0.1, 0.1, 0.1], [0.02, 0.02, 0.50])
    ours = row("ours", BEST, "TailAverse(risk=0.2)", [0.3, 0.4, 0.3], [0.015, 0.02, 0.01]) | {"indices": [0, 1, 3]}
    verdict = careful_verdict([ours], rival)
    assert verdict is not None
    assert (verdict.word, verdict.below.of, verdict.below.value) == ("no", 2, pytest.approx(0.0075))


def test_of_variants_the_best_is_shown_and_named():
    kept = [row["name"] for row in best_variants([EXPECTED, *CAREFUL[:1], *RIVALS])]
    assert kept == [EXPECTED["name"], CAREFUL[0]["name"], "LR1, mean imputation", "bolus calculator"]


# --- pictures and pages ---


def showcase() -> dict[str, Any]:
    """Two meals whose curves end near each other; strategies agree on the first."""
    minutes = np.arange(241)
    curves = np.stack([np.stack([150 - 0.1 * dose * minutes for dose in range(5)])] * 2)
    return {
        "why": np.array(["where caution gains most", "the first child or teenager whose dose caution changes"]),
        "names": np.array(["age", "glucose"]),
        "units": np.arange(5.0),
        "full": np.array([[9.0, 150.0], [40.0, 151.0]]),
        "observed": np.array([[True, False], [False, True]]),
        "theta": np.array([[0.0, 1.0, 0.5, 0.2, -3.0], [1.0, 0.0, 0.0, -1.0, -3.0]]),
        "curves": curves,
        "strategies": np.array(
            ["Imputation", "MaximumExpectedReward", "TailAverse(risk=0.2)", "Conservative(risk=0.05)"]
        ),
        "choice": np.array([[1, 1, 1, 1], [4, 3, 2, 1]]),
    }


def test_curves_of_one_dose_are_one_line_and_the_best_dose_is_there():
    first, second = (courses_of(showcase(), meal) for meal in (0, 1))
    assert [(course.units, len(course.chosen_by)) for course in first] == [(1.0, 5)]
    assert [course.units for course in second] == [4.0, 3.0, 2.0, 1.0, 0.0]
    assert second[-1].chosen_by == ("the best dose",)
    picture = curves_picture(showcase())
    assert sum(text.text == "not recorded" for text in picture.texts) == 2


def test_no_word_leaves_a_picture_or_covers_another():
    titles = (*(VirtualClinic(name).title for name in MECHANISMS), OhioClinic(Path(), "").title)
    clinic = {
        "title": max(titles, key=len),
        "units": [0, 1, 2, 3, 4.5, 6.5, 9, 12, 16, 21],
        "rows": [EXPECTED, *CAREFUL, *RIVALS],
    }
    for picture in (curves_picture(showcase()), frontier_picture(clinic), doses_picture(clinic)):
        assert_words_are_clear(picture)
