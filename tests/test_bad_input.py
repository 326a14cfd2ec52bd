"""Every bad argument gets its one sentence, and never a raw Python error.

The types are checked while the tests run, which would catch many of these first; so the arguments are tried in another
process, as a user would.
"""

import json
import os
import subprocess
import sys

import jax
import pytest
from conftest import visits

TRY_ALL = """
import json, sys
import pandas as pd
import prudent
from prudent import *
from prudent import missingness, checks, worlds
folder, cases = sys.argv[1], json.load(open(sys.argv[2]))
frame = pd.read_csv(folder + "/log.csv")
log = Log.from_frame(frame, action="dose", reward="outcome")
fitted = load(folder + "/model")
rows = frame.head(2)
answers = []
for case in cases:
    try:
        answers.append(["accepted", repr(eval(case))[:200]])
    except BaseException as problem:
        answers.append([type(problem).__name__, str(problem)])
json.dump(answers, open(folder + "/answers.json", "w"))
"""


def sentence(owner, parameter, must, got):
    return f"The '{parameter}' parameter of {owner} must {must}. Got {got} instead."


PROPENSITY = "be a propensity: ImputedLogistic(), Boosted() or Known()"
WHOLE = "be a whole number of at least 1"
CASES = {
    "Conservative(c=1.5)": sentence("Conservative", "c", "be in [0, 1)", "1.5"),
    "Conservative(c=1)": sentence("Conservative", "c", "be in [0, 1)", "1"),
    "Conservative(c=-0.1)": sentence("Conservative", "c", "be in [0, 1)", "-0.1"),
    "Conservative(c=float('nan'))": sentence("Conservative", "c", "be in [0, 1)", "nan"),
    "Conservative(c='low')": sentence("Conservative", "c", "be in [0, 1)", "'low'"),
    "Conservative(risk='high')": sentence("Conservative", "risk", "be in [0, 1)", "'high'"),
    "Conservative(risk=True)": sentence("Conservative", "risk", "be in [0, 1)", "True"),
    "Conservative(risk=[0.1])": sentence("Conservative", "risk", "be in [0, 1)", "[0.1]"),
    "Conservative(risk=1.0)": sentence("Conservative", "risk", "be in [0, 1)", "1.0"),
    "Conservative(risk=0.1, c=0.1)": sentence("Conservative", "risk", "not be given together with 'c'", "0.1"),
    "Conservative(paper_literal=True)": sentence("Conservative", "paper_literal", "come with 'c'", "True"),
    "Conservative(c=0.1, paper_literal='yes')": sentence("Conservative", "paper_literal", "be True or False", "'yes'"),
    "TailAverse(0)": sentence("TailAverse", "risk", "be in (0, 1]", "0"),
    "TailAverse(2)": sentence("TailAverse", "risk", "be in (0, 1]", "2"),
    "TailAverse('x')": sentence("TailAverse", "risk", "be in (0, 1]", "'x'"),
    "TailAverse(None)": sentence("TailAverse", "risk", "be in (0, 1]", "None"),
    "TailAverse(measure='mean')": sentence("TailAverse", "measure", "be 'cvar' or 'quantile'", "'mean'"),
    "TailAverse(measure=3)": sentence("TailAverse", "measure", "be 'cvar' or 'quantile'", "3"),
    "Sizes(width=0)": sentence("Sizes", "width", f"{WHOLE}, a pair of them, or None", "0"),
    "Sizes(width='wide')": sentence("Sizes", "width", f"{WHOLE}, a pair of them, or None", "'wide'"),
    "Sizes(width=(8, 0))": sentence("Sizes", "width", f"{WHOLE}, a pair of them, or None", "(8, 0)"),
    "Sizes(width=(8, 8, 8))": sentence("Sizes", "width", f"{WHOLE}, a pair of them, or None", "(8, 8, 8)"),
    "Sizes(embedding=2.5)": sentence("Sizes", "embedding", f"{WHOLE} or None", "2.5"),
    "Sizes(summary=0)": sentence("Sizes", "summary", f"{WHOLE} or None", "0"),
    "Sizes(latent=0)": sentence("Sizes", "latent", f"{WHOLE} or None", "0"),
    "Sizes(latent='few')": sentence("Sizes", "latent", f"{WHOLE} or None", "'few'"),
    "Training(batch=0)": sentence("Training", "batch", WHOLE, "0"),
    "Training(rounds=-1)": sentence("Training", "rounds", WHOLE, "-1"),
    "Training(rounds=2.5)": sentence("Training", "rounds", WHOLE, "2.5"),
    "Training(steps_per_round='many')": sentence("Training", "steps_per_round", WHOLE, "'many'"),
    "Training(patience=0)": sentence("Training", "patience", WHOLE, "0"),
    "Training(learning_rate=0)": sentence("Training", "learning_rate", "be a number above 0", "0"),
    "Training(learning_rate='fast')": sentence("Training", "learning_rate", "be a number above 0", "'fast'"),
    "Training(learning_rate=float('inf'))": sentence("Training", "learning_rate", "be a number above 0", "inf"),
    "Training(clip=-1)": sentence("Training", "clip", "be a number above 0", "-1"),
    "Training(weight_decay=-1)": sentence("Training", "weight_decay", "be a number of at least 0", "-1"),
    "SPVAE(form='nearest')": sentence(
        "SPVAE", "form", "be one of self_normalised, inverse_propensity, matching", "'nearest'"
    ),
    "SPVAE(logged_rows=5)": sentence("SPVAE", "logged_rows", "be a whole number of at least 20 or None", "5"),
    "SPVAE(logged_rows='all')": sentence("SPVAE", "logged_rows", "be a whole number of at least 20 or None", "'all'"),
    "CausalPVAE(weights='boosted')": sentence("CausalPVAE", "weights", PROPENSITY, "'boosted'"),
    "SPVAE(propensity=Boosted)": sentence(
        "SPVAE",
        "propensity",
        PROPENSITY,
        "<class 'prudent.propensity.boosted.Boosted'>",
    ),
    "CausalPVAE(sizes=64)": sentence("CausalPVAE", "sizes", "be a Sizes, e.g. Sizes(width=64)", "64"),
    "CPVAE(training=40)": sentence("CPVAE", "training", "be a Training, e.g. Training(rounds=40)", "40"),
    "ImputedLogistic(imputations=0)": sentence("ImputedLogistic", "imputations", WHOLE, "0"),
    "ImputedLogistic(imputations='x')": sentence("ImputedLogistic", "imputations", WHOLE, "'x'"),
    "ImputedLogistic(folds=1)": sentence("ImputedLogistic", "folds", "be a whole number of at least 2", "1"),
    "Boosted(folds=2.5)": sentence("Boosted", "folds", "be a whole number of at least 2", "2.5"),
    "CausalPVAE().fit(log, seed=-1)": sentence("fit", "seed", "be a whole number of at least 0", "-1"),
    "CausalPVAE().fit(log, seed='a')": sentence("fit", "seed", "be a whole number of at least 0", "'a'"),
    "SPVAE().fit(log, seed=0.5)": sentence("fit", "seed", "be a whole number of at least 0", "0.5"),
    "CPVAE().fit(log, seed=None)": sentence("fit", "seed", "be a whole number of at least 0", "None"),
    "fitted.policy('careful')": sentence("policy", "strategy", "be a Strategy, e.g. Conservative()", "'careful'"),
    "fitted.policy(completions=1)": sentence("policy", "completions", "be a whole number of at least 2", "1"),
    "fitted.policy(completions=2.5)": sentence("policy", "completions", "be a whole number of at least 2", "2.5"),
    "fitted.policy(completions='many')": sentence("policy", "completions", "be a whole number of at least 2", "'many'"),
    "fitted.policy(floor='low')": sentence("policy", "floor", "be a number", "'low'"),
    "fitted.policy(floor=float('nan'))": sentence("policy", "floor", "be a number", "nan"),
    "fitted.policy(fallback='ask')": sentence("policy", "fallback", "come with a 'floor'", "'ask'"),
    "fitted.policy(floor=0, fallback=['ask'])": sentence("policy", "fallback", "be the label of an action", "['ask']"),
    "fitted.policy(seed=-1)": sentence("policy", "seed", "be a whole number of at least 0", "-1"),
    "Policy(CausalPVAE(), Imputation())": "The 'fitted' parameter of Policy must be a fitted model",
    "CausalPVAE().fit(frame)": "A model is fitted to a Log, and this is a DataFrame.",
    "SPVAE().fit('log.csv')": "A model is fitted to a Log, and this is a str.",
    "CausalPVAE().fit(log.take(range(10)))": "needs at least 20 to fit a model",
    "fitted.policy().recommend(rows.drop(columns='ward'))": "no column 'ward'; add it, empty cells are fine.",
    "fitted.policy().recommend(rows.head(0))": "The table of cases has no rows",
    "fitted.policy().recommend('cases.csv')": "A table must be a pandas, polars or pyarrow frame",
    "fitted.policy().recommend(3)": "A table must be a pandas, polars or pyarrow frame",
    "fitted.policy().recommend(None)": "A table must be a pandas, polars or pyarrow frame",
    "fitted.policy().recommend(rows, allowed='contra')": "The table has no column 'contra' (allowed actions).",
    "fitted.policy().recommend(rows, allowed=[['low']])": "'allowed' has 1 entries for 2 rows.",
    "fitted.policy().recommend(rows, allowed=['low', 'high'])": "'allowed' must be one collection of actions per row",
    "fitted.policy().recommend(rows, allowed=5)": "'allowed' must be one collection of actions per row",
    "fitted.policy().recommend(rows, allowed=[1, 2])": "'allowed' must be one collection of actions per row",
    "fitted.policy().recommend(rows.assign(pressure='tall'))": "Column 'pressure' needs a number (real)",
    "fitted.policy().recommend(rows.assign(admitted='soon'))": "Column 'admitted' needs a date such as 2024-03-01",
    "log.split(1.0)": sentence("Log.split", "share", "be between 0 and 1", "1.0"),
    "log.split('half')": sentence("Log.split", "share", "be between 0 and 1", "'half'"),
    "log.split(0.5, seed=-1)": sentence("Log.split", "seed", "be a whole number of at least 0", "-1"),
    "Log.from_frame(frame, action='drug', reward='outcome')": "The table has no column 'drug' (the action).",
    "Log.from_frame(frame, action='dose', reward='ward')": "Reward column 'ward' must hold numbers",
    "Log.from_frame(frame, action='dose', reward='dose')": "Column 'dose' cannot be both",
    "Log.from_frame(frame, action=3, reward='outcome')": "The table has no column '3' (the action).",
    "Log.from_frame(frame, action=None, reward='outcome')": "The table has no column 'None' (the action).",
    "Log.from_frame(7, action='dose', reward='outcome')": "A table must be a pandas, polars or pyarrow frame",
    "Log.from_frame(frame, action='dose', reward='outcome', kinds={'ward': 'colour'})": "cannot have the kind 'colour'",
    "Log.from_frame(frame, action='dose', reward='outcome', kinds={'word': 'real'})": "no column 'word'",
    "Log.from_frame(frame, action='dose', reward='outcome', kinds={'ward': 3})": "must be given a kind, a list",
    "Log.from_frame(frame, action='dose', reward='outcome', ignore=['x'])": "The table has no column 'x' (to ignore).",
    "Log.from_frame(frame, action='dose', reward='outcome', propensity='marker')": "Propensity column 'marker' holds",
    "SPVAE(propensity=Known()).fit(log)": "The log has no column of logged probabilities",
    "read_log('nowhere.csv', action='dose', reward='outcome')": "There is no file 'nowhere.csv'; check the path.",
    "read_table('table.xlsx')": "must end in .csv, .tsv, .parquet or .arrow",
    "load('nowhere')": "'nowhere' is not a saved model: it has no model.json.",
    "missingness.mcar((2, 2), share=1.5)": sentence("mcar", "share", "be in [0, 1)", "1.5"),
    "missingness.mcar((2, 2), share='some')": sentence("mcar", "share", "be in [0, 1)", "'some'"),
    "worlds.ErasureWorld(erasure=2)": sentence("ErasureWorld", "erasure", "be in [0, 1]", "2"),
} | {
    f"{model}({parameter}={value})": sentence(model, parameter, must, value)
    for model in ("CausalPVAE", "SPVAE", "CPVAE")
    for parameter, value, must in [
        ("members", "0", WHOLE),
        ("members", "2.5", WHOLE),
        ("members", "'two'", WHOLE),
        ("samples", "0", WHOLE),
        ("samples", "None", WHOLE),
        ("hide", "1", "be in [0, 1)"),
        ("hide", "-0.1", "be in [0, 1)"),
        ("hide", "'some'", "be in [0, 1)"),
    ]
}


@pytest.fixture(scope="module")
def answers(fitted_models, tmp_path_factory) -> dict[str, list[str]]:
    folder = tmp_path_factory.mktemp("bad")
    fitted_models["conditional"].save(folder / "model")
    visits().to_csv(folder / "log.csv", index=False)
    (folder / "cases.json").write_text(json.dumps(list(CASES)))
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        "JAX_COMPILATION_CACHE_DIR": str(jax.config.values["jax_compilation_cache_dir"]),
    }
    arguments = [sys.executable, "-c", TRY_ALL, str(folder), str(folder / "cases.json")]
    done = subprocess.run(arguments, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return dict(zip(CASES, json.loads((folder / "answers.json").read_text()), strict=True))


@pytest.mark.parametrize("case", CASES)
def test_bad_input_gets_its_sentence(answers, case):
    kind, said = answers[case]
    assert kind == "InputProblem", f"{case} gave {kind}: {said}"
    assert CASES[case] in said
    assert "\n" not in said
    assert said.endswith((".", "?"))
