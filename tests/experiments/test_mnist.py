"""The digits experiment at toy size through its real command: resuming, results, tables, and the data."""

import json
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from experiments.batches import batches
from experiments.mnist import __main__ as command
from experiments.mnist import data, settings
from experiments.mnist.aims import aims, failures
from experiments.mnist.choices import Chosen, of_completions, shown_rows
from experiments.mnist.data import Part, Replication, Size
from experiments.mnist.pieces import Piece
from experiments.mnist.settings import BEST, EFFORTS, Entry
from experiments.mnist.summary import Outcome
from experiments.mnist.tables import TABLES
from prudent import MaximumExpectedReward, TailAverse
from prudent.decide import PriceTable
from prudent.errors import InputProblem
from prudent.table import Column, Schema

TOY = EFFORTS["toy"]
TRIVIAL = ("constant 4", "constant 5", "uniform")
# few strategies: each is a program to compile
STRATEGIES = (MaximumExpectedReward(), TailAverse(risk=0.05))


def requested(folder: Path, *more: str) -> list[str]:
    return ["--size", "toy", "--out", str(folder / "results"), "--pieces", str(folder / "pieces"), *more]


def results_of(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "results" / "mnist.json").read_text())


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The command once, with our best model on two replications."""
    folder = tmp_path_factory.mktemp("mnist")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(settings, "OURS_STRATEGIES", STRATEGIES)
        assert command.main(requested(folder, "--entries", BEST, *TRIVIAL)) == 0
    return folder


# --- the command ---


def test_the_command_chooses_and_scores(toy: Path):
    results = results_of(toy)
    rows = {row["name"]: row for row in results["rows"]}
    assert next(iter(rows)) == f"{BEST}, MaximumExpectedReward"
    assert set(TRIVIAL) < set(rows)
    assert len(rows) == len(TRIVIAL) + len(STRATEGIES)
    assert (results["images"], results["learnt_from"], results["tested"], results["seed"]) == (120, 96, 24, 0)
    for row in rows.values():
        assert row["replications"] == 2
        assert -9 < row["mean"] < 0
        assert sum(row["actions"]) == pytest.approx(1, abs=1e-5)
        assert sum(row["rewards"]) == pytest.approx(1, abs=1e-5)
    assert rows["constant 4"]["actions"][4] == 1
    assert rows["constant 5"]["below"] == 0
    assert rows["constant 5"]["never_below"] == 1
    assert rows[f"{BEST}, MaximumExpectedReward"]["seconds"] > 0


def test_numbers_are_those_of_the_kept_actions(toy: Path):
    correct, rewards = [], []
    for index in range(2):
        entry = next(entry for entry in TOY.entries if entry.name == "uniform")
        choices = Piece(entry, TOY.size, 0, index).load(toy / "pieces")
        assert choices is not None
        truth = Replication.of(index, 0, TOY.size).tested
        correct.append(choices.actions[0] == truth.labels)
        rewards.append(truth.rewards[np.arange(24), choices.actions[0]])
    row = next(row for row in results_of(toy)["rows"] if row["name"] == "uniform")
    means = np.mean(rewards, axis=1)
    assert row["mean"] == pytest.approx(means.mean(), rel=1e-5)
    assert row["mean_error"] == pytest.approx(means.std(ddof=1) / np.sqrt(2), rel=1e-4)
    assert row["below"] == pytest.approx(1000 * (np.array(rewards) < -7).mean(), rel=1e-5)
    assert row["correct"] == pytest.approx(np.mean(correct), rel=1e-5)
    unseen = np.concatenate([r[Replication.of(i, 0, TOY.size).unseen] for i, r in enumerate(rewards)])
    assert row["unseen_mean"] == pytest.approx(unseen.mean(), rel=1e-5)


def test_what_was_run_is_not_run_again_and_what_is_lost_is(toy: Path, capsys: pytest.CaptureFixture[str]):
    before = (toy / "results" / "mnist.json").read_text()
    assert command.main(requested(toy, "--entries", *TRIVIAL, "--forget")) == 0
    assert capsys.readouterr().out.startswith("0 of 6 pieces")
    lost, half = sorted((toy / "pieces").rglob("constant-?/0001.npz"))
    lost.unlink()
    half.write_bytes(half.read_bytes()[:100])
    assert command.main(requested(toy, "--entries", *TRIVIAL, "--from", "1", "--forget")) == 0
    assert capsys.readouterr().out.startswith("2 of 3 pieces")
    assert command.main(requested(toy, "--tables-only", "--forget")) == 0
    rows = {row["name"] for row in results_of(toy)["rows"]}
    assert rows == set(TRIVIAL), "under the settings of now, nothing of other settings counts"
    (toy / "results" / "mnist.json").write_text(before)


def test_tables_and_pictures_are_made_from_the_results(toy: Path):
    results = results_of(toy)
    for table in TABLES.values():
        assert all(len(line) == len(table(results).header) for line in table(results).rows)
    assert f"◆ {BEST}, TailAverse(risk=0.05)" in [line[0] for line in TABLES["every row"](results).rows]
    assert {"frontier.svg", "actions.svg", "rewards.svg", "ten-images.svg"} <= {
        path.name for path in (toy / "pictures").iterdir()
    }
    assert (toy / "page.html").exists()


def test_the_showcase_has_ten_images_with_all_that_is_known_of_them(toy: Path):
    with np.load(toy / "results" / "showcase.npz", allow_pickle=False) as shown:
        arrays = {name: shown[name] for name in shown.files}
    pixels = TOY.size.attributes
    shapes = {"label": (10,), "pixels": (10, pixels), "observed": (10, pixels), "completions": (10, 8, pixels)}
    shapes |= dict.fromkeys(("completion_share", "completion_action"), (10, 8))
    shapes |= dict.fromkeys(("chance", "expected", "worst", "tail"), (10, 10))
    shapes |= {"strategies": (len(STRATEGIES),), "choice": (10, len(STRATEGIES))}
    assert {name: array.shape for name, array in arrays.items()} == shapes
    assert arrays["completions"].dtype == np.uint8
    seen = np.broadcast_to(arrays["observed"][:, None], arrays["completions"].shape)
    images = np.broadcast_to(arrays["pixels"][:, None], seen.shape)
    np.testing.assert_array_equal(arrays["completions"][seen], images[seen])
    np.testing.assert_allclose(arrays["chance"].sum(axis=1), 1, atol=1e-4)
    assert (np.diff(arrays["completion_share"], axis=1) <= 0).all()
    for action in range(10):
        stands_for = arrays["completion_action"] == action
        shares = np.where(stands_for, arrays["completion_share"], 0).sum(axis=1)
        np.testing.assert_allclose(shares, np.where(stands_for.any(axis=1), arrays["chance"][:, action], 0), atol=1e-4)
    assert (arrays["worst"] <= arrays["expected"] + 1e-4).all()
    np.testing.assert_array_equal(arrays["choice"][:, 0], arrays["expected"].argmax(axis=1))


def test_a_method_that_fails_loses_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    class Fails:
        def __repr__(self) -> str:
            return "Fails()"

        together = 1

        def choose(self, replications: Sequence[Replication], progress: object = False) -> list[Chosen]:
            return [Chosen(("",), np.full((1, 24), 10))]

    entries = (
        Entry("eleventh action", Fails(), "ours"),
        *(entry for entry in TOY.entries if entry.name in TRIVIAL[:2]),
    )
    monkeypatch.setattr(settings.Effort, "entries", entries)
    assert command.main(requested(tmp_path)) == 1
    assert "FAILED: eleventh action, replication 1: ValueError: the choices" in capsys.readouterr().err
    assert [row["name"] for row in results_of(tmp_path)["rows"]] == ["constant 4", "constant 5"]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--entries", "magic"], "Got 'magic' instead"),
        (["--replications", "1"], "'replications' parameter"),
        (["--from", "3", "--to", "3"], "'from' parameter"),
        (["--to", "101"], "'to' parameter"),
        (["--seed", "7", "--out", str(command.RESULTS)], "--out"),
        (["--size", "small", "--out", str(command.RESULTS)], "--out"),
    ],
)
def test_bad_options_are_refused_in_a_sentence(options: list[str], sentence: str, capsys: pytest.CaptureFixture[str]):
    assert command.main(options) == 2
    assert sentence in capsys.readouterr().err


def test_only_the_test_writes_to_the_page():
    assert command.options_of([]).out == command.RESULTS
    for trial in (["--seed", "7"], ["--size", "small"], ["--size", "toy"], ["--replications", "3"]):
        assert command.options_of(trial).out.is_relative_to("build/mnist")


def test_a_batch_is_whole_however_the_work_is_shared():
    paper = next(entry for entry in EFFORTS["full"].entries if entry.name == settings.DRAWN)
    pieces = [Piece(paper, TOY.size, 0, index) for index in (3, 4, 52, 101)]
    indices = [[piece.index for piece in batch.pieces] for batch in batches(pieces, replications=105)]
    assert indices == [list(range(50)), list(range(50, 100)), list(range(100, 105))]


def test_stored_rows_are_not_lost_by_accident(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert command.main(requested(tmp_path, "--entries", "constant 4", "constant 5")) == 0
    before = (tmp_path / "results" / "mnist.json").read_text()
    shutil.rmtree(next((tmp_path / "pieces").rglob("constant-5")))
    assert command.main(requested(tmp_path, "--tables-only")) == 2
    assert "such as 'constant 5'" in capsys.readouterr().err
    assert (tmp_path / "results" / "mnist.json").read_text() == before
    assert command.main(requested(tmp_path, "--tables-only", "--forget")) == 0
    assert [row["name"] for row in results_of(tmp_path)["rows"]] == ["constant 4"]


def test_stored_rows_are_kept_where_that_is_asked_and_only_of_entries_that_exist(tmp_path: Path):
    assert command.main(requested(tmp_path, "--entries", "constant 4", "constant 5")) == 0
    stored = results_of(tmp_path)
    stored["rows"] += [row | {"name": "former", "model": "former"} for row in stored["rows"][:1]]
    (tmp_path / "results" / "mnist.json").write_text(json.dumps(stored))
    shutil.rmtree(next((tmp_path / "pieces").rglob("constant-5")))
    assert command.main(requested(tmp_path, "--keep", "--entries", "uniform")) == 0
    rows = results_of(tmp_path)["rows"]
    assert [row["name"] for row in rows] == ["constant 4", "constant 5", "uniform"]
    assert rows[1] == stored["rows"][1]


def test_every_entry_has_a_place_and_settings_of_its_own():
    for effort in EFFORTS.values():
        pieces = [Piece(entry, effort.size, 0, 0) for entry in effort.entries]
        assert len({piece.path(Path()) for piece in pieces}) == len(pieces)
        assert sum(piece.shows for piece in pieces) == 1
        for piece in pieces:
            assert repr(piece.entry.method) in piece.fingerprint
    assert all(name in {c.row("") for c in TOY.entries} for name in (BEST, settings.DRAWN, *TRIVIAL))


# --- what is shown ---


def test_completions_that_are_shown_stand_for_those_with_the_same_best_action():
    draws = np.array([[0.0], [5.0], [5.2], [5.2], [9.0], [5.0]])
    prices = jnp.array([[0.0, -1.0], [0.0, -1.0], [0.0, -1.0], [-1.0, 0.0], [0.0, -1.0], [0.0, -1.0]])
    table = PriceTable(prices, jnp.log(jnp.array([0.0, 0.3, 0.1, 0.2, 0.25, 0.15])), jnp.zeros(6))
    schema = Schema((Column("pixel_000", "real", location=0.0, scale=10.0, low=0.0, high=255.0, integral=True),))
    shown = of_completions(schema, (3, 8), draws, table)
    assert shown["completions"].ravel().tolist()[:5] == [50, 90, 52, 52, 0]
    np.testing.assert_allclose(shown["completion_share"][:5], [0.45, 0.25, 0.2, 0.1, 0.0], atol=1e-6)
    assert shown["completion_action"].tolist()[:4] == [3, 3, 8, 3]


def test_the_images_to_show_are_found_by_rule():
    labels = np.array([1, 0, 0, 3, 1, 2, 4, 5, 6, 7, 8, 8])
    entropy = np.array([0.1, 0.2, 0.9, 0.3, 2.0, 0.4, 0.5, 0.6, 0.7, 0.8, 0.1, 0.2])
    blank = np.zeros((12, 1))
    rows = shown_rows(Part(np.arange(12), blank, labels, blank, blank), entropy)
    # the least certain 0 and 8, the first 1; no 9, so the least certain image of those left, the other 1
    assert rows.tolist() == [2, 0, 4, 5, 3, 6, 7, 8, 9, 11]


# --- the data ---


SMALL = Size(images=1000, side=7)


def test_half_of_the_pixels_are_erased_and_the_others_kept():
    one = Replication.of(3, 0)
    assert one.learnt_from.pixels.shape == (4000, 784)
    assert one.tested.pixels.shape == (1000, 784)
    pixels, labels = data.images()
    for part in (one.learnt_from, one.tested):
        assert (part.observed.sum(axis=1) == 392).all()
        np.testing.assert_array_equal(part.pixels, pixels[part.chosen])
        np.testing.assert_array_equal(part.labels, labels[part.chosen])
    assert 0.45 < one.learnt_from.observed.mean(axis=0).min() <= one.learnt_from.observed.mean(axis=0).max() < 0.55
    assert len(np.unique(np.concatenate([one.learnt_from.chosen, one.tested.chosen]))) == 5000


def test_actions_follow_the_parity_of_the_digit():
    ones = [Replication.of(index, 0, replace(SMALL, images=5000)) for index in range(4)]
    labels = np.concatenate([replication.learnt_from.labels for replication in ones])
    actions = np.concatenate([replication.actions for replication in ones])
    for parity, low in ((0, 1 / 20), (1, 3 / 20)):
        shares = np.bincount(actions[labels % 2 == parity], minlength=10) / (labels % 2 == parity).sum()
        np.testing.assert_allclose(shares, np.repeat([low, 1 / 5 - low], 5), atol=0.012)
    np.testing.assert_allclose(data.logging_probabilities(np.arange(10)).sum(axis=1), 1)


def test_rewards_are_minus_the_distance_with_noise_of_variance_a_tenth():
    part = Replication.of(0, 0, SMALL).learnt_from
    noise = part.rewards + np.abs(part.labels[:, None] - np.arange(10)[None, :])
    assert noise.mean() == pytest.approx(0, abs=0.015)
    assert noise.var() == pytest.approx(0.1, abs=0.006)
    assert np.abs(np.corrcoef(noise.T) - np.eye(10)).max() < 0.15


def test_logs_show_what_was_done_and_full_logs_what_could_have_been():
    one = Replication.of(1, 0, TOY.size)
    log, full, part = one.log(), one.full_log(), one.learnt_from
    assert len(log) == 96
    assert log.schema.names == full.schema.names == tuple(TOY.size.names)
    assert log.action_labels == full.action_labels == tuple(range(10))
    np.testing.assert_array_equal(log.observed, part.observed)
    np.testing.assert_array_equal(log.actions, one.actions)
    np.testing.assert_allclose(log.rewards, part.rewards[np.arange(96), one.actions])
    assert len(full) == 960
    np.testing.assert_array_equal(full.observed[70:80], np.repeat(part.observed[7:8], 10, axis=0))
    np.testing.assert_array_equal(full.actions[70:80], np.arange(10))
    np.testing.assert_allclose(full.rewards[70:80], part.rewards[7])
    cases = one.cases()
    assert cases.columns == TOY.size.names
    np.testing.assert_array_equal(log.schema.encode(cases).observed, one.tested.observed)


def test_replications_stand_alone_and_development_keeps_to_its_pool():
    one, again, other = (Replication.of(index, 0, SMALL) for index in (5, 5, 6))
    np.testing.assert_array_equal(one.tested.rewards, again.tested.rewards)
    np.testing.assert_array_equal(one.actions, again.actions)
    assert not np.array_equal(one.tested.chosen, other.tested.chosen)
    pool = data.development_pool()
    trial = Replication.of(5, 7)
    assert (len(trial.actions), len(trial.tested.labels)) == (3200, 800)
    assert np.isin(np.concatenate([trial.learnt_from.chosen, trial.tested.chosen]), pool).all()
    assert not trial.unseen.any()
    assert one.unseen.mean() == pytest.approx(0.2, abs=0.08)
    np.testing.assert_array_equal(one.unseen, ~np.isin(one.tested.chosen, pool))


def test_smaller_images_are_means_of_blocks():
    pixels = np.arange(784, dtype=np.uint8).reshape(1, 784)
    small = data.pooled(pixels, 14)
    square = pixels.reshape(28, 28)
    assert small[0, 15] == round(square[2:4, 2:4].mean())
    np.testing.assert_array_equal(data.pooled(pixels, 28), pixels)
    with pytest.raises(InputProblem, match="divide 28"):
        data.pooled(pixels, 5)


def test_the_constant_5_is_what_the_paper_s_most_careful_row_does_worse_than():
    outcomes = [Outcome.of(np.full(1000, 5), Replication.of(index, 0, replace(SMALL, images=5000))) for index in (0, 1)]
    assert np.mean([outcome.rewards.mean() for outcome in outcomes]) == pytest.approx(-2.5, abs=0.08)
    assert np.mean([outcome.rewards.mean() for outcome in outcomes]) > settings.PRINTED["Conservative(c=0.001)"][0]
    assert max(outcome.below for outcome in outcomes) == 0


# --- what was aimed at ---


def scored(group: str, model: str, mean: float, below: float) -> dict[str, Any]:
    name = {"name": f"{model}, MaximumExpectedReward", "strategy": "MaximumExpectedReward"}
    return {"group": group, "model": model, "mean": mean, "mean_error": 0.01, "below": below} | name


def test_aims_are_judged_by_the_row_that_comes_nearest():
    rows = [
        scored("limit", "told", -0.1, 0.0),
        scored("ours", "bold", -0.3, 2.0),
        scored("ours", "careful", -0.8, 0.1),
        scored("ours", "too careful", -1.0, 0.0),
        scored("paper", settings.DRAWN, -2.5, 0.0),
    ]
    reached_by = [(row["model"], reached) for _, row, reached in aims(rows)]
    assert reached_by == [("bold", True), ("careful", False), (settings.DRAWN, False)]
    rows[2]["below"], rows[4]["mean"] = 0.0, -1.17
    assert [reached for _, _, reached in aims(rows)] == [True, True, True]
    assert [words for words, _, _ in aims(rows[:1])] == []


def test_failures_are_counted_by_image():
    truths = {index: Replication.of(index, 0, replace(SMALL, images=5000)) for index in (0, 1)}
    labels = {index: replication.tested.labels for index, replication in truths.items()}
    answers = {index: np.where(digits == 9, 0, digits) for index, digits in labels.items()}
    failed = failures(answers, truths)
    nines = [replication.tested.chosen[replication.tested.labels == 9] for replication in truths.values()]
    both = np.intersect1d(nines[0], nines[1])
    assert {image["image"] for image in failed} == set(np.concatenate(nines))
    assert {image["image"] for image in failed[: len(both)]} == set(both), "what fails most often comes first"
    assert all((image["below"], image["tested"]) == (2, 2) for image in failed[: len(both)])
    assert all(image["digit"] == 9 and image["answers"] == [0] for image in failed)
    assert failures(labels, truths) == []
