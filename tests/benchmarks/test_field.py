"""The field's problems are what their names promise, methods are scored by the truth, and a run can be resumed."""

import json
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise

import numpy as np
import pytest

from benchmarks.field import __main__ as field
from benchmarks.field.generated import FEWEST
from benchmarks.field.problems import GENERATED, KNOWN, PROBLEMS
from benchmarks.field.rivals import METHODS, OURS, methods_for
from benchmarks.field.sample import DEVELOPMENT, REPORTED, Sample, seeds
from benchmarks.field.scoring import score
from benchmarks.field.tables import against, mean_ranks, scores_table, verdict_table
from benchmarks.field.trials import STORED

FRESH = 500
BY_NAME = {problem.name: problem for problem in GENERATED}
EVERY = list(BY_NAME)
QUICK = [name for name in KNOWN if "insulin" not in name]


def small(name):
    """Fewer rows, but enough for every action."""
    return KNOWN[name].sized(min(KNOWN[name].rows, 1200))


@lru_cache(maxsize=64)
def drawn(name, seed=0):
    return small(name).sample(seed, fresh=FRESH)


def gaps_of(frame):
    known = frame.drop("action", "reward", strict=False)
    return np.stack([known[name].is_null().to_numpy() for name in known.columns], axis=1)


# --- what the names promise ---


@pytest.mark.parametrize("name", EVERY)
def test_gaps_actions_and_rows_are_as_promised(name):
    problem, sample = BY_NAME[name], drawn(name)
    log = sample.log()
    assert gaps_of(sample.frame).mean() == pytest.approx(problem.columns.gaps, abs=0.03)
    assert gaps_of(sample.cases).mean() == pytest.approx(problem.columns.gaps, abs=0.03)
    assert sample.cases.columns == sample.frame.drop("action", "reward").columns
    assert len(sample.cases) == len(sample.expected) == FRESH
    assert log.action_labels == sample.labels
    assert len(sample.labels) == sample.expected.shape[1] == problem.columns.actions
    assert np.bincount(log.actions).min() >= FEWEST
    assert np.isfinite(log.rewards).all()


def test_the_field_is_wide():
    assert len(GENERATED) >= 18
    assert min(problem.rows for problem in GENERATED) <= 300
    assert max(problem.rows for problem in GENERATED) >= 40_000
    assert {problem.columns.actions for problem in GENERATED} >= {2, 12, 20}
    assert {problem.columns.gaps for problem in GENERATED} >= {0.05, 0.6}
    assert {problem.mechanism for problem in GENERATED} == {"mcar", "mar", "mnar"}
    assert BY_NAME["60 columns"].columns.columns == 60
    assert BY_NAME["categories"].columns.columns == 16
    assert len(BY_NAME["categories"].columns.categories) == 13
    assert len(STORED) >= 4


@pytest.mark.parametrize("name", QUICK)
def test_the_oracle_scores_1_and_the_best_constant_action_0(name):
    sample = drawn(name)
    labels = np.array(sample.labels)
    constants = [sample.score(np.full(FRESH, label)) for label in labels]
    assert sample.score(labels[sample.expected.argmax(axis=1)]) == pytest.approx(1)
    assert max(constants) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("name", QUICK)
def test_a_seed_is_a_world_of_its_own_and_repeats_itself(name):
    first, again, other = drawn(name), small(name).sample(0, fresh=FRESH), drawn(name, 1)
    assert first.frame.equals(again.frame)
    assert np.array_equal(first.expected, again.expected)
    assert not np.allclose(first.expected.mean(axis=0), other.expected.mean(axis=0), atol=1e-3)


# --- rewards ---


def test_rewards_have_the_kind_of_their_name():
    assert set(drawn("two values").frame["reward"]) == {0.0, 1.0}
    assert 0.03 < drawn("rare success").frame["reward"].to_numpy().mean() < 0.25
    zeros = drawn("zeros").frame["reward"].to_numpy()
    assert 0.4 < np.mean(zeros == 0) < 0.8
    assert zeros.min() == 0
    tails = drawn("heavy tails").frame["reward"].to_numpy()
    assert np.abs(tails).max() > 6 * np.percentile(np.abs(tails), 75)


@pytest.mark.parametrize("name", ["smooth", "two values", "zeros", "heavy tails", "biased log"])
def test_logged_rewards_average_to_what_is_expected(name):
    """With a log at random, an action's mean reward is its mean expected reward, up to noise."""
    sample = replace(BY_NAME[name], log="uniform", rows=20_000).sample(3, fresh=4000)
    rewards, taken = sample.frame["reward"].to_numpy(), np.array(sample.frame["action"])
    for at, label in enumerate(sample.labels):
        of_label = rewards[taken == label]
        error = np.hypot(of_label.std() / np.sqrt(len(of_label)), sample.expected[:, at].std() / np.sqrt(4000))
        assert abs(of_label.mean() - sample.expected[:, at].mean()) < 4.5 * error


def test_a_faint_signal_is_a_sixth_of_the_noise():
    sample = drawn("faint")
    between = (sample.expected - sample.expected.mean(axis=1, keepdims=True)).std()
    assert between == pytest.approx(1, abs=0.15)
    assert sample.frame["reward"].to_numpy().std() == pytest.approx(6, abs=0.6)


# --- gaps and logs ---


def test_gaps_depend_on_what_their_names_say():
    def mean_of_missing(name):
        sample = replace(BY_NAME[name], rows=300).sample(0, fresh=4000)
        assert sample.complete is not None
        gaps = gaps_of(sample.cases)
        real = sample.complete["real 0"].to_numpy()
        hidden = gaps[:, sample.cases.columns.index("real 0")]
        return (real[hidden].mean() - real[~hidden].mean()) / real.std() if hidden.any() else 0.0, gaps

    assert abs(mean_of_missing("smooth")[0]) < 0.15
    assert mean_of_missing("mnar")[0] > 0.7
    whole = ~mean_of_missing("mar")[1].any(axis=0)
    assert 0.2 < whole.mean() < 0.4, "some columns are always there, and the gaps of others depend on them"


def test_rare_actions_are_rare_and_doses_are_numbers():
    counts = np.sort(np.bincount(KNOWN["rare actions"].sample(0, fresh=10).log().actions))
    assert counts[0] < 100
    assert counts[-1] > 1000
    for name in ("doses", "cliff"):
        labels = drawn(name).labels
        assert all(isinstance(label, int) for label in labels)
        assert all(low < high for low, high in pairwise(labels))


def test_a_biased_log_hardly_ever_acts_at_random():
    sample = BY_NAME["biased log"].sample(0, fresh=10)
    unbiased = BY_NAME["smooth"].sample(0, fresh=10)

    def explained(drawn):
        """How much more often than by chance the likeliest action of a third of a column's values was taken."""
        thirds = drawn.frame.select("real 0", "action").drop_nulls()
        low = thirds.filter(thirds["real 0"] < thirds["real 0"].quantile(0.33))["action"].value_counts(normalize=True)
        high = thirds.filter(thirds["real 0"] > thirds["real 0"].quantile(0.67))["action"].value_counts(normalize=True)
        both = low.join(high, on="action")
        return float((both["proportion"] - both["proportion_right"]).abs().sum())

    assert explained(sample) > explained(unbiased)


# --- trials ---


@pytest.mark.parametrize("trial", STORED, ids=[trial.name for trial in STORED])
def test_trials_are_split_and_judged_by_inverse_propensities(trial):
    split, other = trial.sample(0), trial.sample(1)
    cases = len(split.cases)
    assert abs(cases - len(split.frame)) <= 1
    assert split.score(np.full(cases, split.best)) == 0
    assert split.value(split.taken) == pytest.approx(split.rewards.mean(), rel=0.02)
    assert not split.cases.equals(other.cases)
    assert set(split.log().action_labels) == set(split.labels)
    assert {"action", "reward"}.isdisjoint(split.cases.columns)


# --- methods and runs ---


def test_seeds_for_development_and_for_reports_are_apart():
    assert not set(DEVELOPMENT) & set(REPORTED)
    assert list(seeds(3, reported=False)) == [0, 1, 2]
    assert list(seeds(2, reported=True)) == [2000, 2001]


@pytest.mark.parametrize("name", ["forest", "ridge per action", "perpetual", "perpetual, doubly robust"])
def test_rivals_choose_on_a_tiny_problem(name):
    """Those that are quick; the others are tested where they live."""
    sample = KNOWN["300 rows"].sized(150).sample(0, fresh=60)
    assert isinstance(sample, Sample)
    chosen = METHODS[name](sample.log(), sample.cases)
    assert len(chosen) == 60
    assert set(chosen) <= set(sample.labels)
    assert sample.score(chosen) > -1.5


def test_some_rivals_know_two_actions_only():
    assert set(methods_for(2)) - set(methods_for(3)) == {"perpetual", "perpetual, doubly robust"}


def test_a_method_is_scored_by_its_labels():
    found = score("300 rows", 0, lambda log, cases: ["arm 01"] * len(cases))
    assert found.score <= 0
    assert found.seconds >= 0


def test_a_run_is_stored_resumed_and_shown(tmp_path, monkeypatch, capsys):
    asked = []

    def always(label):
        def choose(log, cases):
            asked.append(label)
            return [label] * len(cases)

        return choose

    monkeypatch.setattr(field, "METHODS", {OURS: always("arm 00"), "ridge per action": always("arm 01")})
    out = tmp_path / "field.json"
    arguments = ["--problems", "300 rows", "--methods", OURS, "ridge per action", "--out", str(out)]
    field.main([*arguments, "--seeds", "2"])
    field.main([*arguments, "--seeds", "3"])
    assert len(asked) == 6, "nothing is run twice"
    stored = json.loads(out.read_text())
    assert list(stored["results"]["300 rows"]) == ["0", "1", "2"]
    assert "300 rows" in capsys.readouterr().out


def test_tables_pair_ours_with_the_best_rival():
    def row(ours, first, second):
        cells = {OURS: ours, "first": first, "second": second}
        return {name: {"score": value, "value": value, "seconds": 1.0} for name, value in cells.items()}

    results = {"steps": {"0": row(0.7, 0.5, 0.6), "1": row(0.8, 0.5, 0.7), "2": row(0.9, 0.9, 0.8)}}
    beside = against(results, "steps")
    assert beside is not None
    assert beside.rival == "second"
    assert beside.difference == pytest.approx(0.1)
    assert beside.low <= 0.1 <= beside.high
    assert mean_ranks(results, [OURS, "first", "second"]) == {OURS: 1, "first": 3, "second": 2}
    stored = {"results": results}
    assert scores_table(stored).rows[0][:2] == ("steps", "**0.800**")
    assert verdict_table(stored).rows[0][3] == "second"
    assert set(PROBLEMS) >= set(KNOWN)
