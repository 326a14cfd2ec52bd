"""Every bad argument is refused by one sentence, never by a raw Python error.

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


VALUES = [  # how it is called, who refuses, which parameter, and values that it refuses
    ("Conservative(c={})", "Conservative", "c", ["1.5", "1", "-0.1", "float('nan')", "'low'"]),
    ("AtMost({}, below=0)", "AtMost", "chance", ["0", "1", "-0.1", "'high'", "True"]),
    ("AtMost(0.1, below={})", "AtMost", "below", ["float('nan')", "'low'", "None"]),
    ("Conservative(risk={})", "Conservative", "risk", ["'high'", "True", "[0.1]", "1.0"]),
    ("Conservative(risk={}, c=0.1)", "Conservative", "risk", ["0.1"]),
    ("Conservative(paper_literal={})", "Conservative", "paper_literal", ["True"]),
    ("Conservative(c=0.1, paper_literal={})", "Conservative", "paper_literal", ["'yes'"]),
    ("TailAverse({})", "TailAverse", "risk", ["0", "2", "'x'", "None"]),
    ("TailAverse(measure={})", "TailAverse", "measure", ["'mean'", "3"]),
    ("Sizes(width={})", "Sizes", "width", ["0", "'wide'", "(8, 0)", "(8, 8, 8)"]),
    ("Sizes(embedding={})", "Sizes", "embedding", ["2.5"]),
    ("Sizes(summary={})", "Sizes", "summary", ["0"]),
    ("Sizes(latent={})", "Sizes", "latent", ["0", "'few'"]),
    ("Training(batch={})", "Training", "batch", ["0"]),
    ("Training(rounds={})", "Training", "rounds", ["-1", "2.5"]),
    ("Training(steps_per_round={})", "Training", "steps_per_round", ["'many'"]),
    ("Training(patience={})", "Training", "patience", ["0"]),
    ("Training(learning_rate={})", "Training", "learning_rate", ["0", "'fast'", "float('inf')"]),
    ("Training(clip={})", "Training", "clip", ["-1"]),
    ("Training(weight_decay={})", "Training", "weight_decay", ["-1"]),
    ("SPVAE(form={})", "SPVAE", "form", ["'nearest'"]),
    ("SPVAE(logged_rows={})", "SPVAE", "logged_rows", ["5", "'all'"]),
    ("CausalPVAE(propensity={})", "CausalPVAE", "propensity", ["'boosted'"]),
    ("SPVAE(propensity={})", "SPVAE", "propensity", ["Boosted"]),
    ("CausalPVAE(sizes={})", "CausalPVAE", "sizes", ["64"]),
    ("CPVAE(training={})", "CPVAE", "training", ["40"]),
    ("ImputedLogistic(imputations={})", "ImputedLogistic", "imputations", ["0", "'x'"]),
    ("ImputedLogistic(folds={})", "ImputedLogistic", "folds", ["1"]),
    ("Boosted(folds={})", "Boosted", "folds", ["2.5"]),
    ("CausalPVAE().fit(log, seed={})", "fit", "seed", ["-1", "'a'"]),
    ("SPVAE().fit(log, seed={})", "fit", "seed", ["0.5"]),
    ("CPVAE().fit(log, seed={})", "fit", "seed", ["None"]),
    ("fitted.policy({})", "Policy", "strategy", ["'careful'"]),
    ("fitted.policy(completions={})", "Policy", "completions", ["1", "2.5", "'many'", "100000000"]),
    ("fitted.policy(floor={})", "Policy", "floor", ["'low'", "float('nan')"]),
    ("fitted.policy(fallback={})", "Policy", "fallback", ["'ask'"]),
    ("fitted.policy(floor=0, fallback={})", "Policy", "fallback", ["['ask']"]),
    ("fitted.policy(seed={})", "Policy", "seed", ["-1"]),
    ("Policy({}, Imputation())", "Policy", "fitted", ["3"]),
    ("log.split({})", "Log.split", "share", ["1.0", "'half'"]),
    ("log.split(0.5, seed={})", "Log.split", "seed", ["-1"]),
    ("worlds.mcar((2, 2), share={})", "mcar", "share", ["1.5", "'some'"]),
    ("worlds.ErasureWorld(erasure={})", "ErasureWorld", "erasure", ["2"]),
] + [
    (f"{model}({parameter}={{}})", model, parameter, values)
    for model in ("CausalPVAE", "SPVAE", "CPVAE")
    for parameter, values in (
        ("members", ["0", "2.5", "'two'"]),
        ("samples", ["0", "None"]),
        ("hide", ["1", "-0.1", "'some'"]),
    )
]
READ = "Log.from_frame(frame, action='dose', reward='outcome', {})"
RECOMMEND = "fitted.policy().recommend({})"
FACTS = {  # what the message must name
    "CausalPVAE().fit(frame)": ["DataFrame"],
    "SPVAE().fit('log.csv')": ["str"],
    "CausalPVAE().fit(log.take(range(10)))": ["at least 20"],
    RECOMMEND.format("rows[['outcome']]"): ["'pressure'"],
    RECOMMEND.format("{'ward': 'north', 'grade': ['mild']}"): ["'ward'", "'north'"],
    READ.format("missing={'word': 9}"): ["'word'", "'ward'"],
    "read_table('log.csv', sep=5)": ["'sep'", "5"],
    "read_table('log.csv', decimal=1)": ["'decimal'", "1"],
    "read_table('log.csv', encoding='klingon')": ["'encoding'", "'klingon'"],
    RECOMMEND.format("rows.head(0)"): ["no rows"],
    RECOMMEND.format("'cases.csv'"): ["pandas", "str"],
    RECOMMEND.format("3"): ["pandas", "int"],
    RECOMMEND.format("None"): ["pandas", "NoneType"],
    RECOMMEND.format("rows, allowed='contra'"): ["'contra'"],
    RECOMMEND.format("rows, allowed=[['low']]"): ["'allowed'", "1", "2 rows"],
    RECOMMEND.format("rows, allowed=['low', 'high']"): ["'allowed'"],
    RECOMMEND.format("rows, allowed=5"): ["'allowed'"],
    RECOMMEND.format("rows, allowed=[1, 2]"): ["'allowed'"],
    RECOMMEND.format("rows.assign(pressure='tall')"): ["'pressure'", "'tall'", "number"],
    RECOMMEND.format("rows.assign(admitted='soon')"): ["'admitted'", "'soon'", "2024-03-01"],
    "Log.from_frame(frame, action='drug', reward='outcome')": ["'drug'", "action"],
    "Log.from_frame(frame, action='dose', reward='ward')": ["'ward'", "numbers"],
    "Log.from_frame(frame, action='dose', reward='dose')": ["'dose'", "both"],
    "Log.from_frame(frame, action=3, reward='outcome')": ["'3'", "action"],
    "Log.from_frame(frame, action=None, reward='outcome')": ["'None'", "action"],
    "Log.from_frame(7, action='dose', reward='outcome')": ["pandas", "int"],
    READ.format("kinds={'ward': 'colour'}"): ["'ward'", "'colour'"],
    READ.format("kinds={'word': 'real'}"): ["'word'", "'ward'"],
    READ.format("kinds={'ward': 3}"): ["'ward'", "3"],
    READ.format("ignore=['x']"): ["'x'", "ignore"],
    READ.format("propensity='marker'"): ["'marker'"],
    "SPVAE(propensity=Known()).fit(log)": ["propensity=", "Boosted()"],
    "read_log('nowhere.csv', action='dose', reward='outcome')": ["'nowhere.csv'"],
    "read_table('table.docx')": [".csv", ".parquet"],
    "load('nowhere')": ["'nowhere'", "model.json"],
}
REPR = {"float('nan')": "nan", "float('inf')": "inf", "Boosted": "<class 'prudent.propensity.boosted.Boosted'>"}
CASES = {
    call.format(value): [f"'{parameter}' parameter of {owner} must", f"Got {REPR.get(value, value)} instead."]
    for call, owner, parameter, values in VALUES
    for value in values
} | FACTS


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
def test_bad_input_is_refused_in_one_sentence(answers, case):
    kind, message = answers[case]
    assert kind == "InputProblem", f"{case} gave {kind}: {message}"
    for fact in CASES[case]:
        assert fact in message
    assert "\n" not in message
    assert message.endswith((".", "?"))
