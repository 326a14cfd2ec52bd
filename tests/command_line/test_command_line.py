"""The command line: the contract of its names, its files, its exit codes, and what its messages name."""

import io
import json
import random
import re
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from prudent.command_line import main
from prudent.command_line.fitting import ModelOptions
from prudent.command_line.policy_options import PolicyOptions
from prudent.errors import InputProblem
from prudent.models import CausalPVAE, Sizes
from prudent.networks import Training
from prudent.propensity import Known
from prudent.table import read_log

pytestmark = pytest.mark.usefixtures("one_chunk")

ROLES = ["--action", "dose", "--reward", "outcome"]
RANGE = ["outcome_low", "outcome_high"]
ADVICE = ["action", "expected_reward", "worst_reward", *RANGE, "action_entropy", "status", "flags"]


def visits(rows: int = 90, seed: int = 1) -> pl.DataFrame:
    """Mixed kinds, several gap marks, identifiers with leading zeros, text categories, missing actions and rewards."""
    chance = random.Random(seed)

    def gap(value: object, mark: str = "", share: float = 0.2) -> str:
        return mark if chance.random() < share else str(value)

    records = []
    for number in range(rows):
        needed, given = chance.randrange(3), chance.randrange(3)
        records.append(
            {
                "patient": f"{number:04d}",
                "weight": gap(round(chance.gauss(75, 12), 1)),
                "site": gap(chance.choice(["north", "south"]), "?"),
                "severity [1]": gap(["mild", "moderate", "severe"][needed], "NA"),
                "dose": gap([10, 20, 30][given], share=0.03),
                "outcome": gap(round(-abs(needed - given) + chance.gauss(0, 0.2), 3), "n/a", share=0.03),
                "chance": "0.333",
                "may_get": gap("10;20", share=0.5),
            }
        )
    return pl.DataFrame(records)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A csv log, later decisions, new cases, and small models (one with the sign turned), made once."""
    folder = tmp_path_factory.mktemp("clinic")
    frame = visits()
    frame.write_csv(folder / "log.csv")
    visits(seed=2).write_csv(folder / "later.csv")
    frame.head(12).drop("dose", "outcome", "chance").write_csv(folder / "cases.csv")
    small = CausalPVAE(
        members=1,
        samples=4,
        sizes=Sizes(latent=4, width=8, embedding=4, summary=8),
        training=Training(rounds=2, steps_per_round=10, batch=32),
    )
    for name, minimize in (("model", False), ("cost", True)):
        ignore = ["chance", "patient", "may_get"]
        log = read_log(folder / "log.csv", action="dose", reward="outcome", ignore=ignore, minimize=minimize)
        small.fit(log).save(folder / name)
    return folder


@pytest.fixture
def run(capfd, monkeypatch, folder):
    """Run a command in the clinic's folder: (exit code, standard output, standard error)."""
    monkeypatch.chdir(folder)
    monkeypatch.delenv("PRUDENT_DEBUG", raising=False)
    monkeypatch.setenv("COLUMNS", "80")

    def run(*arguments: object) -> tuple[int, str, str]:
        code = main([str(argument) for argument in arguments])
        captured = capfd.readouterr()
        return code, captured.out, captured.err

    return run


def recommend(run, *options: object, out: str = "-", model: str = "model") -> tuple[int, str, str]:
    return run("recommend", model, "cases.csv", "--out", out, "--completions", 8, *options)


def table_of(text: str) -> pl.DataFrame:
    return pl.read_csv(io.StringIO(text))


# --- the frame ---


def test_help_and_version_import_nothing_heavy():
    program = """
import sys
from prudent.command_line import main
codes = [main(arguments) for arguments in (["--help"], ["recommend", "--help"], ["--version"])]
heavy = [name for name in ("jax", "equinox", "sklearn", "scipy", "polars", "numpy", "narwhals") if name in sys.modules]
print(codes, heavy, file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert done.stderr.strip() == "[0, 0, 0] []"
    assert "prudent 0." in done.stdout
    for name in ("inspect", "fit", "recommend", "demo", "--strategy", "--keep", "--fallback"):
        assert name in done.stdout


def test_wrong_usage_is_exit_2(run):
    assert run("inspect", "log.csv", "--action", "dose")[0] == 2
    assert run("recomend")[0] == 2
    code, _, error = recommend(run, "--strategy", "hopeful")
    assert code == 2
    assert "conservative" in error


def fails(problem: BaseException):
    def work(*_: object) -> None:
        raise problem

    return work


def test_a_fault_of_prudent_is_exit_1_and_one_sentence(run, monkeypatch):
    monkeypatch.setattr("prudent.command_line.inspecting.inspect_table", fails(RuntimeError("wheel came off")))
    code, out, error = run("inspect", "log.csv", *ROLES)
    assert (code, out) == (1, "")
    assert error.count("\n") == 1
    assert error.endswith("RuntimeError: wheel came off\n")


@pytest.mark.parametrize("switch", ["--debug", "PRUDENT_DEBUG"])
def test_debugging_shows_the_traceback(run, monkeypatch, switch):
    monkeypatch.setattr("prudent.command_line.inspecting.inspect_table", fails(RuntimeError("wheel came off")))
    if switch == "PRUDENT_DEBUG":
        monkeypatch.setenv("PRUDENT_DEBUG", "1")
    code, _, error = run(*[switch] * (switch == "--debug"), "inspect", "log.csv", *ROLES)
    assert code == 1
    assert "Traceback" in error


def test_interruption_and_a_closed_pipe(run, monkeypatch):
    monkeypatch.setattr("prudent.command_line.inspecting.inspect_table", fails(KeyboardInterrupt()))
    code, _, error = run("inspect", "log.csv", *ROLES)
    assert code == 130
    assert "Traceback" not in error
    for name in ("stdout", "stderr"):  # typer replaces them when a pipe breaks
        monkeypatch.setattr(sys, name, getattr(sys, name))
    monkeypatch.setattr("prudent.command_line.inspecting.inspect_table", fails(BrokenPipeError(32, "Broken pipe")))
    code, _, error = run("inspect", "log.csv", *ROLES)
    assert code == 141
    assert "Traceback" not in error


def test_a_closed_standard_error_is_no_fault(folder):
    words = [sys.executable, "-m", "prudent.command_line", "inspect", "log.csv", *ROLES, "--json", "facts.json"]
    done = subprocess.run(["sh", "-c", 'exec "$@" 2>&-', "sh", *words], cwd=folder, capture_output=True, timeout=60)
    assert done.returncode == 0
    assert b"log.csv: 90 rows" in done.stdout
    assert json.loads((folder / "facts.json").read_text())["rows"] == 90


def test_a_line_end_in_a_name_stays_in_the_line(run):
    code, _, error = run("inspect", "case\nx\x1b[2J.csv", *ROLES)
    assert (code, error.count("\n")) == (2, 1)
    assert r"case\nx\x1b[2J.csv" in error


# --- inspect ---


def test_inspect_shows_kinds_gaps_actions_and_notes(run):
    code, out, error = run("inspect", "log.csv", *ROLES, "--propensity", "chance", "--ignore", "may_get")
    assert (code, error) == (0, "")
    for words in ("log.csv: 90 rows", "severity [1]", "categorical", "mild < moderate < severe", "Actions ('dose')"):
        assert words in out
    assert "'patient'" in out
    assert "prudent fit log.csv --action dose --reward outcome --propensity chance --ignore may_get --out model" in out
    assert "\x1b" not in out
    tables = [line for line in out.splitlines() if "  " in line.strip()]
    assert max(map(len, tables)) <= 80


def test_inspect_json_with_estimated_overlap_and_kinds(run, folder):
    (folder / "kinds.json").write_text('{"site": "categorical", "severity [1]": "categorical"}')
    kind = ["--kind", "severity [1]=ordinal:mild<moderate<severe", "--kinds", "kinds.json"]
    code, out, _ = run("inspect", "log.csv", *ROLES, "--ignore", "chance", "--minimize", *kind, "--json", "-")
    assert code == 0
    facts = json.loads(out)
    kinds = {column["name"]: column["kind"] for column in facts["columns"]}
    assert kinds["severity [1]"] == "ordinal"
    assert [action["label"] for action in facts["actions"]] == [10, 20, 30]
    assert all(action["mean_reward"] < 0 for action in facts["actions"])
    assert len(facts["overlap"]["actions"]) == 3
    assert facts["problems"] == []
    code, out, _ = run("inspect", "log.csv", *ROLES, "--propensity", "chance", "--json", "facts.json")
    assert code == 0
    assert "Columns" in out
    assert json.loads((folder / "facts.json").read_text())["rows"] == 90


def test_inspect_reports_what_fit_would_refuse(run, folder):
    visits(12).write_csv(folder / "short.csv")
    code, out, _ = run("inspect", "short.csv", *ROLES, "--ignore", "chance")
    assert code == 0
    assert "Problems" in out
    assert "at least 20" in out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nowhere.csv", *ROLES], "'nowhere.csv'"),
        (["empty.csv", *ROLES], "'empty.csv'"),
        (["log.docx", *ROLES], "must end in .csv"),
        (["log.csv", "--action", "doze", "--reward", "outcome"], "Did you mean 'dose'?"),
        (["log.csv", "--action", "dose", "--reward", "site"], "'site'"),
        (["log.csv", *ROLES, "--ignore", "wieght"], "Did you mean 'weight'?"),
        (["log.csv", *ROLES, "--kind", "site"], "COLUMN=KIND"),
        (["log.csv", *ROLES, "--kinds", "kinds.yaml"], "must end in .json or .toml"),
        (["log.csv", *ROLES, "--json", "no/such/place.json"], "'no/such'"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_2(run, folder, arguments, words):
    (folder / "empty.csv").touch()
    code, out, error = run("inspect", *arguments)
    assert (code, out) == (2, "")
    assert words in error
    assert error.count("\n") == 1


# --- fit ---


def test_fit_saves_a_model_and_summarises_it(run, folder):
    ignored = [part for name in ("patient", "may_get", "severity [1]") for part in ("--ignore", name)]
    settings = ["--members", 1, "--rounds", 1, "--seed", 3, "--propensity", "chance", "--hold-out", "held.csv"]
    code, out, _ = run("fit", "log.csv", *ROLES, "--out", "made/here", *ignored, *settings)
    assert code == 0
    held, whole = (pl.read_csv(folder / name) for name in ("held.csv", "log.csv"))
    assert held.columns == whole.columns
    assert len(held) == 18
    assert set(held["patient"]) < set(whole["patient"])
    for words in (
        "72 rows",
        "prudent evaluate made/here held.csv",
        "3: 10, 20, 30",
        "2 columns",
        "1 network, 1 round",
        "'chance'",
    ):
        assert words in out
    assert (folder / "made/here/model.json").is_file()


def test_fit_checks_where_to_save_before_it_works(run, folder):
    (folder / "full").mkdir(exist_ok=True)
    (folder / "full/thesis.txt").touch()
    (folder / "crashed").mkdir()
    (folder / "crashed/model.json.part").touch()
    (folder / "crashed/arrays-0123456789abcdef.safetensors").touch()
    for out, words in {
        "log.csv": "is a file",
        "log.csv/model": "is a file",
        "full": "'full'",
        "crashed": "nowhere.csv",
    }.items():
        code, _, error = run("fit", "nowhere.csv", *ROLES, "--out", out)
        assert code == 2
        assert words in error
    assert run("fit", "log.csv", *ROLES, "--out", "new", "--members", 0)[0] == 2
    assert not (folder / "new").exists()


def test_settings_of_each_model():
    assert ModelOptions("causal", None, None, 0).settings(known_propensity=True) == CausalPVAE()
    for name in ("similarity", "conditional"):
        settings = ModelOptions(name, 2, 7, 0).settings(known_propensity=True)
        assert settings.propensity == Known()
        assert (settings.members, settings.training.rounds) == (2, 7)


# --- recommend ---


def test_recommend_prints_a_table_in_order(run, folder):
    code, out, error = recommend(run)
    assert (code, error) == (0, "")
    advice = table_of(out)
    assert advice.columns == ADVICE
    assert len(advice) == 12
    assert set(advice["action"]) <= {10, 20, 30}


def test_recommend_keeps_columns_in_front_as_they_stand(run, folder):
    code, out, error = recommend(run, "--keep", "site", "--keep", "patient", "--strategy", "tail", out="advice.csv")
    assert (code, out) == (0, "")
    assert "12 rows of advice in advice.csv" in error
    kept = pl.read_csv(folder / "advice.csv", infer_schema=False)
    cases = pl.read_csv(folder / "cases.csv", infer_schema=False)
    assert kept.columns == ["site", "patient", *ADVICE]
    assert kept["patient"].to_list() == cases["patient"].to_list()
    assert kept["site"].to_list() == cases["site"].to_list()
    assert "?" in kept["site"].to_list()


def test_formats_agree_and_leave_no_other_files(run, folder):
    before = set(folder.iterdir())
    for out in ("same.csv", "same.tsv", "same.parquet", "same.pq"):
        assert recommend(run, "--strategy", "conservative", "--risk", 0.1, "--keep", "weight", out=out)[0] == 0
    assert set(folder.iterdir()) - before == {folder / f"same.{end}" for end in ("csv", "tsv", "parquet", "pq")}
    parquet = pl.read_parquet(folder / "same.parquet")
    csv = pl.read_csv(folder / "same.csv")
    assert parquet.schema["worst_reward"] == pl.Float64
    assert parquet["weight"].dtype == pl.Float64
    assert csv["action"].equals(parquet["action"])
    assert csv["worst_reward"].cast(pl.Float32).equals(parquet["worst_reward"].cast(pl.Float32))
    assert pl.read_csv(folder / "same.tsv", separator="\t").equals(csv)


def test_a_cost_keeps_its_sign(run):
    _, out, _ = recommend(run, model="cost")
    advice = table_of(out).drop_nulls("expected_reward")
    assert (advice["worst_reward"] >= advice["expected_reward"] - 1e-4).all()
    _, out, _ = recommend(run)
    advice = table_of(out).drop_nulls("expected_reward")
    assert (advice["worst_reward"] <= advice["expected_reward"] + 1e-4).all()


def test_floor_fallback_and_allowed(run, folder):
    code, _, error = recommend(run, "--floor", 99, out="referred.csv")
    assert code == 0
    assert "(none: referred)" in error
    assert pl.read_csv(folder / "referred.csv")["action"].null_count() == 12
    _, out, _ = recommend(run, "--floor", 99, "--fallback", "20.0")
    advice = table_of(out)
    assert set(advice["action"]) == {20}
    assert advice["expected_reward"].null_count() == 0
    _, _, error = recommend(run, "--floor", 99, "--fallback", "ask", out="ask.csv")
    assert "'ask'" in error
    assert set(pl.read_csv(folder / "ask.csv")["action"]) == {"ask"}
    _, out, _ = recommend(run, "--allowed", "may_get")
    restricted = pl.read_csv(folder / "cases.csv")["may_get"].fill_null("") != ""
    assert 30 not in table_of(out).filter(restricted)["action"].to_list()


def test_explanations_go_where_the_table_does_not(run):
    _, out, error = recommend(run, "--explain", 1)
    assert len(table_of(out)) == 12
    assert "Row 1" in error
    assert "Recommended:" in error
    _, out, _ = recommend(run, "--explain", 1, out="explained.csv")
    assert "Recommended:" in out


def test_explanations_as_a_page_and_as_json(run, folder):
    code, _, error = recommend(run, "--explain", 2, "--explain-to", "cases.html")
    assert code == 0
    assert "2 rows" in error
    page = (folder / "cases.html").read_text()
    assert page.count("<svg") == 2
    assert "<script" not in page
    recommend(run, "--explain-to", "cases.json")
    explained = json.loads((folder / "cases.json").read_text())
    assert len(explained) == 10
    assert explained[0]["prices"][0]["action"] == 10
    assert explained[0]["label"] is None


def test_explanations_carry_the_kept_columns(run, folder):
    _, _, error = recommend(run, "--keep", "patient", "--keep", "site", "--explain", 2)
    assert "patient 0001" in error
    recommend(run, "--keep", "patient", "--keep", "site", "--explain", 3, "--explain-to", "kept.html")
    headings = re.findall("<h1[^>]*>([^<]*)</h1>", (folder / "kept.html").read_text())
    sites = pl.read_csv(folder / "cases.csv")["site"].head(3).to_list()
    for number, (heading, site) in enumerate(zip(headings, sites, strict=True)):
        assert f"patient {number:04d}, site {site}" in heading


def test_what_to_measure_and_what_it_costs(run):
    _, out, _ = recommend(run, "--measure", "--doubt", 1, "--cost", "30=50")
    advice = table_of(out)
    assert advice.columns == [*ADVICE[:6], "measure_next", "measure_value", *ADVICE[6:]]
    assert 30 not in advice["action"].to_list()
    _, out, _ = recommend(
        run, *(part for name in ("weight", "site", "severity [1]") for part in ("--measure-cost", f"{name}=99"))
    )
    assert table_of(out)["measure_next"].null_count() == 12


def test_held_out_decisions_choose_and_guarantee(run, folder):
    code, _, error = recommend(run, "--guarantee", "log.csv", "--confidence", 0.6)
    assert code == 2
    assert "fitted on these rows" in error
    _, out, error = recommend(run, "--guarantee", "later.csv", "--confidence", 0.6)
    assert "effective sample size" in error
    advice = table_of(out)
    assert advice.columns == [*ADVICE[:6], "guaranteed_reward", *ADVICE[6:]]
    bounded = advice.drop_nulls("guaranteed_reward")
    assert len(bounded) > 0
    assert (bounded["guaranteed_reward"] < 0).all()  # no mean is above 0 there

    assert "fitted on these rows" in recommend(run, "--held-out", "log.csv", "--below", -5, "--limit", 0.9)[2]
    chosen = ["--held-out", "later.csv", "--below", -5, "--limit"]
    code, out, error = recommend(run, *chosen, 0.9)
    assert code == 0
    assert len(table_of(out)) == 12
    _, facts, _ = run(
        *("evaluate", "model", "later.csv", "--completions", 8, "--search", 0),
        *("--strategy", "expected", "--below", -5, "--json", "-"),
    )
    expected = next(policy for policy in json.loads(facts)["policies"] if policy["name"] == "expected")

    def of_expected(error: str) -> str:
        return next(line for line in error.splitlines() if "MaximumExpectedReward()" in line)

    # for cases with the gaps of the held-out decisions themselves, these are evaluated as they are
    decided = pl.read_csv(folder / "later.csv", infer_schema=False).filter(
        pl.col("dose").is_not_null() & (pl.col("outcome") != "n/a")
    )
    decided.drop("dose", "outcome", "chance").write_csv(folder / "as_later.csv")
    _, _, same = run("recommend", "model", "as_later.csv", "--out", "-", "--completions", 8, *chosen, 0.9)
    assert f"{expected['value']['value']:.3f}" in of_expected(same)
    assert f"{expected['tail_share']['high']:.2%}" in of_expected(same)
    assert "0% of the recorded cells of the held-out decisions were hidden" in same
    # other cases have other gaps, and the decisions are evaluated with these
    assert of_expected(error) != of_expected(same)
    assert "those of the 12 cases" in error
    code, out, error = recommend(run, *chosen, 0.001)
    assert (code, out) == (2, "")
    assert "below -5 within 0.1%" in error
    unread = pl.read_csv(folder / "later.csv", infer_schema=False).with_columns(pl.lit("").alias("weight"))
    unread.write_csv(folder / "unweighed.csv")
    code, out, error = recommend(run, "--held-out", "unweighed.csv", "--below", -5, "--limit", 0.9)
    assert (code, out) == (2, "")
    assert "Column 'weight'" in error


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--limit", 0.1], "--held-out LOG, --limit SHARE and --below R"),
        (["--limit", 0.1, "--below", -1, "--held-out", "log.csv", "--risk", 0.1], "--risk and --c"),
        (["--cost", "30"], "ACTION=COST"),
        (["--cost", "31=1"], "'31'"),
        (["--measure-cost", "wieght=1"], "Did you mean 'weight'?"),
        (["--guarantee", "cases.csv"], "'dose'"),
        (["--guarantee", "log.csv", "--confidence", 0.4], "Got 0.4"),
        (["--explain-to", "cases.pdf"], "must end in .html or .json"),
        (["--strategy", "conservative", "--risk", 2], "Got 2.0"),
        (["--strategy", "conservative", "--risk", 0.1, "--c", 0.1], "--risk and --c"),
        (["--strategy", "expected", "--risk", 0.1], "--risk belongs to"),
        (["--strategy", "imputation", "--risk", 0.1], "--risk belongs to"),
        (["--strategy", "tail", "--c", 0.1], "--c belongs to"),
        (["--fallback", "10"], "give --floor"),
        (["--keep", "pateint"], "Did you mean 'patient'?"),
        (["--allowed", "may_git"], "Did you mean 'may_get'?"),
        (["--out", "advice.docx"], "must end in .csv"),
        (["--doses-between"], "--ordered"),
        (["--out", "no/such/advice.csv"], "'no/such'"),
        (["--out", "cases.csv"], "'cases.csv'"),
    ],
)
def test_wrong_options_are_one_sentence_and_exit_2(run, options, words):
    code, out, error = recommend(run, *options)
    assert (code, out) == (2, "")
    assert words in error
    assert error.count("\n") == 1


def test_a_kept_column_may_not_hide_the_advice(run, folder):
    pl.read_csv(folder / "cases.csv").with_columns(status=pl.lit("old")).write_csv(folder / "old.csv")
    code, _, error = run("recommend", "model", "old.csv", "--out", "-", "--keep", "status")
    assert code == 2
    assert "rename it first" in error


def test_folders_that_are_not_models(run, folder):
    damaged = folder / "damaged"
    damaged.mkdir(exist_ok=True)
    (damaged / "model.json").write_text("{")
    for model, words in {"damaged": "damaged", "nowhere": "not a saved model", "log.csv": "not a saved model"}.items():
        code, _, error = recommend(run, model=model)
        assert code == 2
        assert words in error


def test_every_strategy_has_its_name():
    names = ("expected", "conservative", "tail", "imputation", "most-often", "lottery")
    assert len({type(PolicyOptions(name).chosen_strategy()) for name in names}) == 6
    with pytest.raises(InputProblem, match="TailAverse"):
        PolicyOptions("tail", risk=0).chosen_strategy()


# --- demo ---


def test_demo_needs_a_folder(run):
    code, _, error = run("demo", "--quick", "--out", "log.csv")
    assert code == 2
    assert "name a folder" in error


@pytest.fixture
def no_simulation(monkeypatch):
    """Interrupts a demonstration that gets as far as simulating."""
    from prudent.command_line import demonstrating

    def interrupted(seed: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(demonstrating, "InsulinWorld", interrupted)


@pytest.mark.parametrize(
    "name", ["log.csv", "later.csv", "new_cases.csv", "advice.csv", "page.html", "model/model.json"]
)
def test_demo_leaves_the_files_of_others_alone(run, tmp_path, no_simulation, name):
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("mine")
    code, _, error = run("demo", "--quick", "--out", tmp_path)
    assert code == 2
    assert error.count("\n") == 1
    assert f"'{tmp_path}' holds {name.split('/')[0]}, " in error
    assert "--out" in error
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [tmp_path / name]
    assert (tmp_path / name).read_text() == "mine"


def test_demo_writes_beside_other_files_and_again_after_an_interrupted_run(run, tmp_path, no_simulation):
    (tmp_path / "notes.txt").write_text("mine")
    for _ in range(2):
        assert run("demo", "--quick", "--out", tmp_path) == (130, "", "")
        assert "not finished" in (tmp_path / "page.html").read_text()
        (tmp_path / "log.csv").write_text("of the interrupted run")


def test_demo_leaves_a_folder_that_is_not_a_model_alone(run, tmp_path, no_simulation):
    run("demo", "--quick", "--out", tmp_path)
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "notes.txt").write_text("mine")
    code, _, error = run("demo", "--quick", "--out", tmp_path)
    assert code == 2
    assert "holds other things than a model" in error


def test_demo_needs_a_folder_that_can_be_made(run, tmp_path, no_simulation):
    (tmp_path / "astray").symlink_to(tmp_path / "nowhere")
    for out in (tmp_path / "astray", tmp_path / ("long" * 100)):
        code, _, error = run("demo", "--quick", "--out", out)
        assert code == 2
        assert f"'{out}' cannot be written" in error
        assert error.count("\n") == 1
