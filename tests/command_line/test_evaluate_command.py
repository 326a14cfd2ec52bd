"""`prudent evaluate`: its options, its tables at any width, its JSON, its sentences; and an Evaluation as text."""

import io
import json
from dataclasses import astuple, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from conftest import ACTIONS, visits

from prudent import Conservative, Log, evaluate
from prudent.command_line import main
from prudent.command_line.commands import EstimatorName
from prudent.command_line.evaluating import announce_slow_steps
from prudent.evaluation import EVERY_ESTIMATOR, Bootstrap, ClippedInversePropensity, Student
from prudent.show import TextTable, difference_table, estimator_table, summary_table

pytestmark = pytest.mark.usefixtures("one_chunk")

STRATEGIES = ["expected", "conservative", "tail", "imputation", "most-often"]
CONSTANTS = [f"always {label}" for label in ACTIONS]


@pytest.fixture(scope="module")
def folder(tmp_path_factory, fitted_models) -> Path:
    """A model, the same with the sign turned and with a column of probabilities, the log of its fit and later ones."""
    folder = tmp_path_factory.mktemp("evaluated")
    fitted = fitted_models["causal"]
    fitted.save(folder / "model")
    replace(fitted, minimize=True).save(folder / "cost")
    replace(fitted, roles=replace(fitted.roles, propensity="chance")).save(folder / "known")
    visits().to_csv(folder / "past.csv", index=False)
    later = visits(120, seed=7).assign(chance=1 / 3, patient=range(120))
    later["protocol"] = ["low" if i % 3 else None for i in range(120)]
    later["tail"] = "low"
    later["wrong"] = "lowest"
    later.to_csv(folder / "later.csv", index=False)
    later.drop(columns=["dose"]).to_csv(folder / "undecided.csv", index=False)
    later.drop(columns=["chance"]).to_csv(folder / "unlikely.csv", index=False)
    return folder


@pytest.fixture
def run(capfd, monkeypatch, folder):
    """Run `prudent evaluate` in that folder: (exit code, standard output, standard error)."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "80")

    def run(*options: object, model: str = "model", log: str = "later.csv") -> tuple[int, str, str]:
        arguments = ["evaluate", model, log, "--completions", 16, "--search", 0, "--propensity", "chance", *options]
        code = main([str(argument) for argument in arguments])
        captured = capfd.readouterr()
        return code, captured.out, captured.err

    return run


def facts_of(run, *options: object, **files: str) -> dict[str, Any]:
    code, out, error = run(*options, "--json", "-", **files)
    assert (code, error) == (0, "")
    return json.loads(out)


# --- the command ---


def test_everything_is_judged_by_default(run):
    code, out, error = run("--below", -1, "--details")
    assert (code, error) == (0, "")
    first = out.splitlines()[0]
    assert first.startswith("later.csv: 120 logged decisions, 3 actions.")
    assert "as logged in 'chance'" in first
    assert "from the model" in first
    assert "Mean 'outcome' (higher is better), by self-normalised dr" in out
    assert "conservative with risk 0.05" in out
    assert "\nBottom line\n" in out[: out.index("Mean 'outcome'")]
    assert out.count("Bottom line") == 1
    assert out.index("The same by every estimator") < out.index("Can the log answer?")
    summary = out[out.index("Mean 'outcome'") : out.index("The same by every estimator")]
    shown = [
        line.split("  ")[0] for line in summary.splitlines() if line.startswith((*STRATEGIES, "as logged", "alwa"))
    ]
    assert shown[: len(STRATEGIES) + 1] == [*STRATEGIES, "as logged"]
    assert shown[len(STRATEGIES) + 1] in CONSTANTS
    assert "best constant" in summary
    assert "The other 2 constant actions" in summary
    assert "below -1" in summary
    for name in STRATEGIES:
        assert f"- {name}: " in out[out.index("Can the log answer?") :]
    assert out.index("Can the log answer?") < out.index("Policy against policy")
    assert "--json FILE" in out
    assert "--details" not in out


def test_the_answer_comes_first_and_the_rest_on_request(run):
    _, whole, _ = run("--details")
    _, out, _ = run()
    heads = [line for line in out.splitlines() if line in whole.splitlines() and line]
    titles = [title for title in ("Bottom line", "Warnings", "Notes") if title in heads]
    assert titles[0] == "Bottom line"
    assert all(title in out for title in ("Warnings", "Notes") if f"\n{title}\n" in whole)
    assert not any(title in out for title in ("Can the log answer?", "Policy against policy", "every estimator, ±"))
    assert len(out.splitlines()) < len(whole.splitlines()) / 1.5
    assert "--details" in out


def test_every_estimator_is_shown_on_request(run):
    title = "The same by every estimator, ±"
    _, out, _ = run("--strategy", "tail", "--all-estimators")
    table = out[out.index(title) :]
    assert all(word in table for word in ("direct", "clipped", "switch"))
    _, out, _ = run("--strategy", "tail", "--estimator", "dr", "--estimator", "ips")
    assert title in out
    assert "switch" not in out[out.index(title) :]
    everything = facts_of(run, "--strategy", "tail")
    assert len(everything["policies"][0]["estimates"]) == len(EVERY_ESTIMATOR)
    assert everything["bottom_line"]["sentence"] in " ".join(run("--strategy", "tail")[1].split())


@pytest.mark.parametrize("width", [60, 80, 120])
def test_tables_fit_the_width(run, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    _, out, _ = run("--below", -1, "--details")
    tables = [line.rstrip() for line in out.splitlines() if "   " in line.strip()]
    assert max(map(len, tables)) <= width
    assert "…" not in out
    assert "\x1b" not in out
    heads = sum(line.startswith("policy ") for line in out.splitlines())
    assert heads == {60: 8, 80: 6, 120: 4}[width]


def test_the_same_command_prints_the_same(run):
    assert run("--strategy", "tail", "--seed", 3) == run("--strategy", "tail", "--seed", 3)


def test_json_has_the_documented_keys(run, folder):
    found = facts_of(run, "--below", -1, "--confidence", 0.9)
    assert list(found) == [
        *("model", "log", "strategies", "rows", "reward", "minimize", "actions", "bottom_line", "best_constant"),
        *(
            "rounding",
            "groups",
            "censoring",
            "notes",
            "propensity",
            "prices",
            "confidence",
            "interval",
            "below",
            "worst_share",
            "headline",
        ),
        *("policies", "differences"),
    ]
    settings = {"rows": 120, "confidence": 0.9, "below": -1, "headline": "self-normalised dr"}
    assert settings.items() <= found.items()
    assert found["propensity"]["source"] == "as logged"
    assert found["propensity"]["column"] == "chance"
    assert found["strategies"]["tail"] == "TailAverse(risk=0.2)"
    assert [one["name"] for one in found["policies"]] == [*STRATEGIES, "as logged", *CONSTANTS]
    assert [one["kind"] for one in found["policies"]] == ["asked"] * 5 + ["logged"] + ["constant"] * 3
    assert len(found["differences"]) == 10
    tail = found["policies"][2]
    assert list(tail) == [
        *("name", "kind", "alike", "value", "over_constant", "gain", "tail_share", "worst_mean", "estimates"),
        *("at_worst", "effective_sample_size", "effective_groups", "referred", "diagnosis"),
    ]
    assert [one["estimator"] for one in tail["estimates"]] == [one.name for one in EVERY_ESTIMATOR]
    assert list(tail["gain"]) == ["value", "error", "low", "high"]
    headline = next(one for one in tail["estimates"] if one["estimator"] == found["headline"])
    assert {key: headline[key] for key in tail["value"]} == tail["value"]
    assert headline["gain"] == tail["gain"]
    assert tail["diagnosis"]["verdict"]
    direct = tail["estimates"][0]
    assert direct["worst_mean"]["value"] is None  # it weights no outcome

    code, out, _ = run("--below", -1, "--confidence", 0.9, "--json", "found.json")
    assert code == 0
    assert json.loads((folder / "found.json").read_text()) == found
    assert "value, 90% interval" in out
    assert "--json FILE" not in out


def test_options_reach_the_evaluation(run):
    plain = facts_of(run, "--strategy", "tail", "--strategy", "conservative", "--strategy", "tail")
    assert [one["name"] for one in plain["policies"]][:2] == ["tail", "conservative"]
    assert len(plain["differences"]) == 1
    assert plain["policies"][0]["tail_share"] is None
    risky = facts_of(run, "--strategy", "tail", "--strategy", "expected", "--risk", 0.01)
    assert risky["strategies"] == {"tail": "TailAverse(risk=0.01)", "expected": "MaximumExpectedReward()"}
    assert facts_of(run, "--c", 0.2)["strategies"]["conservative"] == "Conservative(c=0.2)"
    one = facts_of(run, "--strategy", "expected", "--estimator", "shrunk-dr", "--estimator", "ips")
    assert [own["estimator"] for own in one["policies"][0]["estimates"]] == ["ips", "shrunk dr"]
    assert one["headline"] == "ips"
    widths = {}
    for name in ("student", "bootstrap", "bernstein"):
        found = facts_of(run, "--strategy", "expected", "--interval", name)
        widths[found["interval"]] = found["policies"][0]["value"]["high"] - found["policies"][0]["value"]["low"]
    assert list(widths) == ["Student", "Bootstrap", "EmpiricalBernstein"]
    assert widths["EmpiricalBernstein"] > widths["Student"] != widths["Bootstrap"]


def test_one_policy_and_one_estimator_leave_out_what_says_nothing(run):
    _, out, _ = run("--strategy", "expected", "--estimator", "dr", "--details")
    assert "by dr" in out
    assert "The same by every estimator" not in out
    assert "Policy against policy" not in out
    assert "Settings" not in out


def test_floor_and_fallback(run):
    _, out, _ = run("--strategy", "expected", "--floor", 99)
    assert "'expected' refers 120 of 120" in out
    referred = facts_of(run, "--strategy", "expected", "--floor", 99)["policies"]
    assert referred[0]["referred"] == 120
    assert referred[0]["value"] == referred[1]["value"]  # as logged
    fallen = facts_of(run, "--strategy", "expected", "--floor", 99, "--fallback", "low")
    assert fallen["policies"][0]["value"] == next(p["value"] for p in fallen["policies"] if p["name"] == "always low")
    elsewhere = facts_of(run, "--strategy", "expected", "--floor", 99, "--fallback", "lo")
    assert "Did you mean 'low'?" in elsewhere["notes"][-1]


def test_a_column_of_the_log_joins_as_a_rule(run):
    _, out, _ = run("--strategy", "expected", "--rule", "protocol")
    assert "'protocol' refers 40 of 120" in out
    found = facts_of(run, "--strategy", "expected", "--rule", "protocol")
    assert [one["name"] for one in found["policies"]][:2] == ["expected", "protocol"]
    assert found["policies"][1]["referred"] == 40


def test_propensities_from_the_model_s_own_column_another_or_estimated(run):
    options = ["--strategy", "expected", "--estimator", "self-normalised-ips"]
    assert facts_of(run, *options, model="known")["propensity"]["column"] == "chance"
    estimated = facts_of(run, *options, "--propensity", "estimate", model="known")
    assert estimated["propensity"] | {"overlap": None} == {"source": "estimated", "column": None, "overlap": None}
    assert estimated["notes"] == []


def test_a_log_without_the_model_s_column_of_probabilities(capfd, monkeypatch, folder):
    monkeypatch.chdir(folder)
    options = ["--strategy", "expected", "--completions", "16", "--json", "-"]
    assert main(["evaluate", "known", "unlikely.csv", *options]) == 0
    found = json.loads(capfd.readouterr().out)
    assert found["propensity"]["source"] == "estimated"
    (note,) = found["notes"]
    assert "'chance'" in note
    assert main(["evaluate", "known", "later.csv", *options]) == 0
    assert json.loads(capfd.readouterr().out)["propensity"]["column"] == "chance"


def test_a_cost_keeps_its_sign(run):
    _, out, _ = run("--below", 1, model="cost")
    assert "Mean 'outcome' (lower is better)" in out
    assert "above 1" in out
    found = facts_of(run, model="cost")
    constants = sorted((p["value"]["value"], p["name"]) for p in found["policies"] if p["kind"] == "constant")
    shown = next(line for line in out.splitlines() if line.startswith("always "))
    assert shown.startswith(constants[0][1])  # the cheapest is the best


def test_notes_tell_of_rows_left_out(run, folder):
    frame = pl.read_csv(folder / "later.csv")
    gone = frame.with_row_index("n").with_columns(
        outcome=pl.when(pl.col("n") < 3).then(None).otherwise("outcome"),
        dose=pl.when(pl.col("n") == 5).then(pl.lit("huge")).otherwise("dose"),
    )
    gone.drop("n").write_csv(folder / "gaps.csv")
    code, out, _ = run("--strategy", "expected", log="gaps.csv")
    assert code == 0
    assert out.startswith("gaps.csv: 116 logged decisions")
    notes = out[out.index("\nNotes\n") :]
    assert "'huge' (1 row)" in notes
    assert "4 of 120 rows" in notes
    assert "teach" not in notes


@pytest.mark.parametrize(
    ("options", "files", "words"),
    [
        (["--propensity", "estimate"], {"log": "past.csv"}, "fitted on these rows"),
        ([], {"log": "undecided.csv"}, "no column 'dose'"),
        ([], {"log": "nowhere.csv"}, "There is no file 'nowhere.csv'"),
        ([], {"model": "nowhere"}, "not a saved model"),
        (["--rule", "protocoll"], {}, "Did you mean 'protocol'?"),
        (["--rule", "dose"], {}, "--rule"),
        (["--rule", "chance"], {}, "--rule"),
        (["--rule", "tail"], {}, "'tail' has the name of a strategy"),
        (["--rule", "wrong"], {}, "'lowest' in row 1"),
        (["--propensity", "chnace"], {}, "Did you mean 'chance'?"),
        (["--propensity", "pressure"], {}, "Column 'pressure'"),
        (["--confidence", 95], {}, "'confidence' parameter of evaluate must be in (0, 1)"),
        (["--strategy", "expected", "--risk", 0.1], {}, "--risk belongs to"),
        (["--strategy", "tail", "--c", 0.1], {}, "--c belongs to"),
        (["--risk", 0.1, "--c", 0.1], {}, "--risk and --c"),
        (["--risk", 2], {}, "must be in [0, 1). Got 2.0"),
        (["--fallback", "low"], {}, "give --floor R too"),
        (["--json", "no/such/found.json"], {}, "There is no folder 'no/such'"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_2(run, options, files, words):
    code, out, error = run(*options, **files)
    assert (code, out) == (2, "")
    assert words in error
    assert error.count("\n") == 1


@pytest.mark.parametrize("option", [["--strategy", "hopeful"], ["--estimator", "magic"], ["--interval", "wide"]])
def test_unknown_names_are_exit_2(run, option):
    code, _, error = run(*option)
    assert code == 2
    assert option[0] in error


def test_every_estimator_has_its_name_on_the_command_line():
    assert [one.value for one in EstimatorName] == [one.name.replace(" ", "-") for one in EVERY_ESTIMATOR]


def test_only_a_terminal_announces_what_is_slow(monkeypatch, fitted_models):
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    policies = {
        "conservative": fitted_models["causal"].policy(Conservative()),
        "tail": fitted_models["causal"].policy(),
    }
    for stream, words in (
        (Terminal(), "Evaluating 2 policies"),
        (io.StringIO(), ""),
    ):
        monkeypatch.setattr("sys.stderr", stream)
        announce_slow_steps(policies, 1200)
        printed = " ".join(stream.getvalue().split())
        assert printed.startswith(words)
        assert ("(conservative)" in printed) == bool(words)


# --- an Evaluation as text and as facts ---


def small(rows: int = 40, minimize: bool = False, scale: float = 1.0) -> Log:
    random = np.random.default_rng(2)
    sick, dose = random.integers(0, 2, rows), random.integers(0, 3, rows)
    outcome = scale * ((sick == dose) + random.normal(scale=0.3, size=rows))
    table = {"sick": sick, "dose": np.array(["a", "b", "c"])[dose], "outcome": outcome, "likely": np.full(rows, 1 / 3)}
    return Log.from_frame(table, action="dose", reward="outcome", propensity="likely", minimize=minimize)


def judged(log: Log, policies: int = 2, **settings: Any) -> Any:
    rules = {f"rule {i}": lambda cases, i=i: ["abc"[(own + i) % 3] for own in cases["sick"]] for i in range(policies)}
    return evaluate(rules, log, prices=np.zeros((len(log), 3)), **settings)


def test_an_evaluation_prints_itself():
    found = judged(small(), below=0.0)
    lines = str(found).splitlines()
    assert lines[0].startswith("40 logged decisions, 3 actions.")
    assert "'likely'" in lines[0]
    assert lines[1] == f"Bottom line: {found.bottom_line}"
    assert lines[3] == "Mean 'outcome' (higher is better), by self-normalised dr:"
    parts = summary_table(found.to_dict()).parts(100)  # of a table that is wider than what is printed
    assert sum(line.startswith("rule 0 ") for line in lines) == len(parts)
    assert any(line.startswith("rule 1: ") for line in lines)
    assert max(map(len, lines[4:11])) <= 100
    estimate = found.estimate("rule 0")
    assert f"{estimate.value:.2f} [{estimate.low:.2f}, {estimate.high:.2f}]" in str(found)


def test_the_best_constant_is_the_best_in_either_sign():
    for minimize in (False, True):
        found = judged(small(minimize=minimize))
        values = {name: found.estimate(name).value for name in ("always a", "always b", "always c")}
        best = (min if minimize else max)(values, key=values.__getitem__)
        assert summary_table(found.to_dict()).rows[-1][0] == best


def test_numbers_have_the_decimals_their_errors_leave():
    def decimals(found: Any) -> int:
        return len(summary_table(found.to_dict()).rows[0][1].split(" ")[0].partition(".")[2])

    assert decimals(judged(small())) == 2
    assert decimals(judged(small(rows=4000))) == 3
    assert decimals(judged(small(scale=1000))) == 0
    assert "×10⁹" in summary_table(judged(small(scale=1e10)).to_dict()).rows[0][1]


def test_differences_say_who_is_better_in_either_sign():
    for minimize in (False, True):
        found = judged(small(rows=200, minimize=minimize))
        (row,) = difference_table(found.to_dict()).rows
        assert row[:2] == ("rule 0", "rule 1")
        assert row[3] == "100%"
        assert row[4] == ("worse" if minimize else "better")
        assert found.differences() == {("rule 0", "rule 1"): found.difference("rule 0", "rule 1")}
    useless = difference_table(judged(small(rows=200), policies=3).to_dict()).rows[2]
    assert useless[:2] == ("rule 1", "rule 2")
    assert useless[4] == "not clearly different"


def test_many_policies_are_compared_with_the_best():
    rules = {
        f"rule {i}": lambda cases, i=i: ["abc"[(own + row // (i + 2)) % 3] for row, own in enumerate(cases["sick"])]
        for i in range(6)
    }
    found = evaluate(rules, small(), prices=np.zeros((40, 3)))
    rows = difference_table(found.to_dict()).rows
    best = max(found.asked, key=lambda name: found.estimate(name).value)
    assert {len(found.alike(name)) for name in rules} == {1}
    assert len(rows) == 5
    assert {row[0] for row in rows} == {best}
    assert len(found.to_dict()["differences"]) == 15


def test_what_does_not_exist_is_a_dash_on_paper_and_null_in_json():
    """A policy that the log never agrees with has no self-normalised value."""
    log = small().take(np.flatnonzero(small().actions == 0))
    found = evaluate({"never": lambda cases: ["b"] * len(cases)}, log, prices=np.zeros((len(log), 3)))
    assert estimator_table(found.to_dict()).rows[0][4] == "–±–"
    never = json.loads(json.dumps(found.to_dict(), allow_nan=False))["policies"][0]
    assert next(one for one in never["estimates"] if one["estimator"] == "self-normalised ips")["value"] is None


@pytest.mark.parametrize("interval", [Student(), Bootstrap(draws=50)])
def test_estimates_are_those_asked_one_by_one(interval):
    together, alone = (judged(small(), below=0.0, interval=interval) for _ in range(2))
    found = together.estimates("rule 1")
    for one in EVERY_ESTIMATOR:
        asked = {
            "value": alone.estimate("rule 1", one),
            "gain": alone.difference("rule 1", estimator=one),
            "worst_mean": alone.worst_mean("rule 1", one),
            "tail_share": alone.tail_share("rule 1", one),
        }
        for what, own in asked.items():
            np.testing.assert_allclose(astuple(found[one.name, what]), astuple(own), rtol=1e-9, atol=1e-12)
        assert together.estimate("rule 1", one) == found[one.name, "value"]
        assert together.difference("rule 1", estimator=one) == found[one.name, "gain"]


def test_another_setting_of_an_estimator_is_not_taken_from_memory():
    found = judged(small())
    found.estimates("rule 1")
    clipped = found.estimate("rule 1", ClippedInversePropensity(limit=0.5))
    assert clipped.value == pytest.approx(judged(small()).estimate("rule 1", ClippedInversePropensity(0.5)).value)
    assert clipped.value != found.estimate("rule 1", "clipped ips").value


def test_no_policy_at_all_still_tells_of_the_log():
    found = evaluate({}, small(), prices=np.zeros((40, 3)))
    assert summary_table(found.to_dict()).rows[0][0] == "as logged"
    assert "as logged" in str(found)
    assert found.to_dict()["differences"] == []


def test_names_are_shown_on_one_line_and_wide_tables_are_split():
    log = small()
    found = evaluate({"a\nb\x1b[31m": lambda cases: ["a"] * len(cases)}, log, prices=np.zeros((len(log), 3)))
    assert summary_table(found.to_dict()).rows[0][0] == "a b [31m, always a"
    wide = TextTable(("policy", *(f"c{i}" for i in range(5))), (("p", *["123456789"] * 5),))
    assert [len(part.headings) for part in wide.parts(50)] == [4, 3]
    assert [len(part.headings) for part in wide.parts(1)] == [2] * 5
    assert max(map(len, wide.text(50).splitlines())) <= 50
