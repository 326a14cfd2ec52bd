"""The IHDP experiment at toy size through its real command: resuming, results, tables, pictures, and the data."""

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from clear_words import assert_words_are_clear

from experiments.ihdp import __main__ as command
from experiments.ihdp import data, pictures, settings
from experiments.ihdp.pieces import Cell, Piece, Scores, pieces_of, plan
from experiments.ihdp.run import score
from experiments.ihdp.settings import Entry
from experiments.ihdp.tables import TABLES
from experiments.rivals.effects import Answer, Progress, Study
from experiments.rivals.effects.study import over_tables

HERE = Path(command.__file__).parent
CHEAP = ("difference in means", "mean imputation", "complete data")
TOY = ("--methods", *CHEAP, "--shares", "0.1", "0.5")


@dataclass(frozen=True)
class Says:
    """A method that says the same of every row, by as many variants as it has effects."""

    effects: tuple[tuple[str, float], ...]

    def estimate(self, study: Study, seed: int = 0, progress: Progress | bool | None = None) -> dict[str, Answer]:
        shape = (study.replications, study.rows)
        return {
            name: Answer.of_prices(np.stack([np.zeros(shape), np.full(shape, effect)], axis=-1))
            for name, effect in self.effects
        }


@dataclass(frozen=True)
class Fails:
    def estimate(self, study: Study, seed: int = 0, progress: Progress | bool | None = None) -> dict[str, Answer]:
        raise RuntimeError("the forest burnt down")


@dataclass(frozen=True)
class Guesses:
    """A draw for each table, as imputations are."""

    def estimate(self, study: Study, seed: int = 0, progress: Progress | bool | None = None) -> dict[str, Answer]:
        def one(part: Study, table_seed: int) -> dict[str, Answer]:
            prices = np.zeros((part.replications, part.rows, 2))
            return {"": Answer(np.full(part.replications, np.random.default_rng(table_seed).normal()), prices)}

        return over_tables(study, one, seed, progress)


def requested(folder: Path, *more: str, replications: int = 5) -> list[str]:
    sizes = ["--replications", str(replications), "--fresh-replications", "2"]
    return [*sizes, "--seed", "7", "--out", str(folder / "results"), "--pieces", str(folder / "pieces"), *more]


def results_of(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "results" / "ihdp.json").read_text())


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The command once, with cheap methods only."""
    folder = tmp_path_factory.mktemp("ihdp")
    assert command.main(requested(folder, *TOY)) == 0
    return folder


# --- the command ---


def test_the_command_runs_shares_and_kinds_of_gaps(toy: Path):
    pages = results_of(toy)["pages"]
    for name, count in (("shared", 5), ("fresh", 2), ("mar", 2)):
        assert pages[name]["replications"] == count
        assert set(pages[name]["shares"]) == {"0.1", "0.5"}
        for rows in pages[name]["shares"].values():
            assert {row["method"] for row in rows.values()} == set(CHEAP)
            assert all(row["n"] == count and row["error"] > 0 and row["pehe"] > 0 for row in rows.values())
    low, high = pages["shared"]["shares"].values()
    assert low["complete data, AIPW"]["error"] == high["complete data, AIPW"]["error"]
    assert low["mean imputation, AIPW"]["error"] != high["mean imputation, AIPW"]["error"]
    assert results_of(toy)["data"] == {"rows": 747, "attributes": 25, "numbers": 6, "treated": 139}


def test_what_was_run_is_not_run_again(toy: Path, capsys: pytest.CaptureFixture[str]):
    before = (toy / "results" / "ihdp.json").read_text()
    assert command.main(requested(toy, *TOY)) == 0
    assert capsys.readouterr().out.startswith("0 of ")
    assert (toy / "results" / "ihdp.json").read_text() == before


def test_tables_and_pictures_are_made_from_the_results(toy: Path):
    results = results_of(toy)
    for table in TABLES.values():
        assert all(len(line) == len(table(results).header) for line in table(results).rows)
    assert "difference in means" in [line[0] for line in TABLES["errors"](results).rows]
    assert {path.name for path in (toy / "pictures").iterdir()} == {"errors.svg", "distribution.svg"}


def test_other_settings_are_run_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    def run_with(effect: float) -> tuple[str, float]:
        monkeypatch.setattr(settings, "ENTRIES", (Entry("constant", Says((("", effect),)), 2),))
        assert command.main(requested(tmp_path, "--gaps", "shared", "--shares", "0.3")) == 0
        return capsys.readouterr().out, results_of(tmp_path)["pages"]["shared"]["shares"]["0.3"]["constant"]["error"]

    assert run_with(4.5)[1] == 0.5
    assert run_with(4.5)[0].startswith("0 of 3 pieces")
    said, error = run_with(4.25)
    assert said.startswith("3 of 3 pieces")
    assert error == 0.25


def test_an_interrupted_run_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(settings, "ENTRIES", (Entry("constant", Says((("", 4.5),)), 2),))
    options = requested(tmp_path, "--gaps", "shared", "--shares", "0.3")
    command.main(options)
    first, second, _ = sorted((tmp_path / "pieces").rglob("*.npz"))
    first.unlink()
    second.write_bytes(second.read_bytes()[:100])
    assert command.main([*options, "--tables-only"]) == 2
    assert "such as 'constant, shared 0.3'" in capsys.readouterr().err
    assert results_of(tmp_path)["pages"]["shared"]["shares"]["0.3"]["constant"]["n"] == 5
    assert command.main([*options, "--tables-only", "--forget"]) == 0
    assert results_of(tmp_path)["pages"]["shared"]["shares"]["0.3"] == {}
    capsys.readouterr()
    command.main(options)
    assert capsys.readouterr().out.startswith("2 of 3 pieces")
    assert results_of(tmp_path)["pages"]["shared"]["shares"]["0.3"]["constant"]["n"] == 5


def test_a_method_that_fails_loses_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    infinite = Says((("", np.inf),))
    entries = Entry("forest", Fails(), 5), Entry("infinite", infinite, 5), Entry("constant", Says((("", 4.5),)), 5)
    monkeypatch.setattr(settings, "ENTRIES", entries)
    with np.errstate(invalid="ignore"):
        assert command.main(requested(tmp_path, "--gaps", "shared", "--shares", "0.3")) == 1
    errors = capsys.readouterr().err
    assert "FAILED: forest, shared-30, replications 0 to 4: RuntimeError" in errors
    assert "FAILED: infinite" in errors
    assert list(results_of(tmp_path)["pages"]["shared"]["shares"]["0.3"]) == ["constant"]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--methods", "magic"], "Got 'magic' instead"),
        (["--replications", "1"], "'replications' parameter"),
        (["--shares", "0.9"], "'shares' parameter"),
        (["--seed", "7"], "--out"),
    ],
)
def test_bad_options_are_refused_in_a_sentence(options: list[str], sentence: str, capsys: pytest.CaptureFixture[str]):
    assert command.main(options) == 2
    assert sentence in capsys.readouterr().err


# --- the numbers ---


def test_the_numbers_are_those_of_the_definitions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    variants = Says((("AIPW", 4.5), ("other", 3.8), ("never", -1.0)))
    monkeypatch.setattr(settings, "ENTRIES", (Entry("MI", variants, 5), Entry("all", variants, 5, "limit", True)))
    monkeypatch.setattr(settings, "HYPER_ENTRIES", ())
    command.main(requested(tmp_path, "--gaps", "shared", "--shares", "0.5", "--machine", "an abacus"))
    page = results_of(tmp_path)["pages"]["shared"]
    rows = page["shares"]["0.5"]
    outcomes = data.surface_b(data.covariates()[0], 5, 7)
    effects = outcomes.expected[..., 1] - outcomes.expected[..., 0]
    assert list(rows) == ["MI, AIPW", "MI, other", "MI, never", "all, AIPW", "all, other", "all, never"]
    other = rows["MI, other"]
    assert other["error"] == pytest.approx(0.2)
    assert other["bias"] == pytest.approx(-0.2)
    assert other["error_se"] == pytest.approx(0, abs=1e-12)
    assert other["paired"] == {key: pytest.approx(-0.3) for key in ("difference", "low", "high")}
    assert rows["MI, AIPW"]["paired"] == {"difference": 0, "low": 0, "high": 0}
    realised = np.abs(3.8 - outcomes.realised_effect)
    assert other["delta"] == pytest.approx(realised.mean(), rel=1e-5)
    assert other["delta_se"] == pytest.approx(realised.std(ddof=1) / np.sqrt(5), rel=1e-5)
    assert other["pehe"] == pytest.approx(np.sqrt(((3.8 - effects) ** 2).mean(axis=1)).mean(), rel=1e-5)
    assert other["policy_value"] == page["policy_values"]["treat all"]
    assert rows["MI, never"]["policy_value"] == page["policy_values"]["treat none"]
    assert page["policy_values"]["the better arm"] > max(other["policy_value"], rows["MI, never"]["policy_value"])
    assert other["machine"] == "an abacus"


def test_paired_intervals_are_student_s(tmp_path: Path):
    from experiments.ihdp.summary import _paired

    interval = _paired(np.array([1.0, 2.0, 4.0]), np.array([0.0, 0.0, 0.0]))
    assert interval is not None
    assert interval["difference"] == pytest.approx(7 / 3, rel=1e-5)
    assert interval["high"] - interval["difference"] == pytest.approx(
        4.302653 * np.std([1, 2, 4], ddof=1) / np.sqrt(3), rel=1e-4
    )
    assert _paired(np.ones(3), None) is None


@pytest.mark.parametrize("gaps", ["shared", "fresh"])
def test_the_size_of_pieces_changes_nothing(gaps: data.Gaps):
    def effects(chunk: int) -> np.ndarray:
        page = settings.Page("own", gaps, (0.3,), 4, (entry := Entry("guess", Guesses(), chunk),))
        return Scores.joined([score(piece, "") for piece in pieces_of(page, entry, 0.3, 7)]).effect

    np.testing.assert_array_equal(effects(4), effects(3))
    assert len(np.unique(effects(4))) == (1 if gaps == "shared" else 4)


def test_every_entry_has_a_place_and_settings_of_its_own():
    pages = settings.pages(1000, 200, settings.SHARES)
    pieces = plan(pages, 0)
    names = [entry.name for entry in (*settings.ENTRIES, *settings.HYPER_ENTRIES)]
    assert len(set(names)) == len(names)
    assert len({piece.path(Path()).parent.name for piece in pieces}) == len(names)
    for piece in pieces:
        assert repr(piece.entry.method) in piece.fingerprint
        assert 0 <= piece.start < piece.stop <= 1000


def test_settings_without_a_readable_form_are_refused(tmp_path: Path):
    piece = Piece(Entry("odd", object(), 5), Cell("shared", 0.3, 5, 7), 0, 5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="odd"):
        piece.load(tmp_path)


# --- pictures ---


STORED = json.loads((HERE / "results" / "ihdp.json").read_text())


def test_words_in_the_pictures_are_clear_of_each_other():
    methods = pictures.best_variants(STORED["pages"]["shared"]["shares"])
    many = [replace(method, name=f"{method.name} {copy}") for method in methods for copy in range(2)]
    for picture in (pictures.errors_picture(many, 5), pictures.distribution_picture(many, 5)):
        assert_words_are_clear(picture)


def test_labels_are_spread_no_further_than_needed():
    assert pictures.spread([1.0, 5.0], 2.0, 0.0, 9.0) == [1.0, 5.0]
    assert pictures.spread([5.0, 5.0], 2.0, 0.0, 9.0) == [4.0, 6.0]
    assert pictures.spread([9.0, 9.0, 9.0], 2.0, 0.0, 9.0) == [5.0, 7.0, 9.0]


# --- the data ---


def test_the_records_are_hill_s():
    values, treated = data.covariates()
    assert values.shape == (747, 25)
    assert treated.sum() == 139
    np.testing.assert_allclose(values[:, :6].mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(values[:, :6].std(axis=0, ddof=1), 1)
    assert all(len(np.unique(column)) == 2 for column in values[:, 6:].T)


def test_the_effect_is_four_and_replications_stand_alone():
    values, _ = data.covariates()
    few, more = data.surface_b(values, 2, 7), data.surface_b(values, 4, 7)
    np.testing.assert_allclose((more.expected[..., 1] - more.expected[..., 0]).mean(axis=1), 4, rtol=1e-12)
    np.testing.assert_array_equal(few.realised, more.realised[:2])
    assert np.abs(more.realised - more.expected).std() == pytest.approx(0.6, abs=0.02)  # of |N(0, 1)|
    assert not np.array_equal(data.surface_b(values, 2, 8).realised, few.realised)


@pytest.mark.parametrize(("gaps", "share"), [("shared", 0.1), ("shared", 0.5), ("fresh", 0.3), ("mar", 0.3)])
def test_gaps_are_as_many_as_asked_and_do_not_depend_on_the_count(gaps: data.Gaps, share: float):
    few, _ = data.study(gaps, share, 2, 7)
    more, outcomes = data.study(gaps, share, 3, 7)
    assert more.values.shape[0] == (1 if gaps == "shared" else 3)
    np.testing.assert_array_equal(few.values, more.values[:2])
    assert np.isnan(more.values).mean() == pytest.approx(share, abs=0.015)
    values, treated = data.covariates()
    seen = ~np.isnan(more.values)
    np.testing.assert_array_equal(more.values[seen], np.broadcast_to(values, more.values.shape)[seen])
    np.testing.assert_array_equal(more.outcomes[:, treated], outcomes.realised[:, treated, 1])
    np.testing.assert_array_equal(more.outcomes[:, ~treated], outcomes.realised[:, ~treated, 0])


def test_gaps_at_random_depend_on_what_is_seen_only():
    values, _ = data.covariates()

    def gone(table: np.ndarray) -> np.ndarray:
        return np.isnan(data.with_gaps(table, "mar", 0.3, 1, 7)[0])

    seen = ~gone(values).any(axis=0)
    assert 5 <= seen.sum() < 12
    shuffled = np.random.default_rng(0).permutation(values, axis=0)
    np.testing.assert_array_equal(gone(np.where(seen, values, shuffled)), gone(values))
    assert (gone(np.where(seen, shuffled, values)) != gone(values)).mean() > 0.05
