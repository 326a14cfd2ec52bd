"""The example scripts and the notebook run, with small models in place of the default ones."""

import json
from functools import partial
from pathlib import Path

import pytest

import prudent
from examples import guideline, limit, next_test
from prudent.models import Fitted

pytestmark = pytest.mark.usefixtures("one_chunk")

ROOT = Path(__file__).parent.parent


@pytest.fixture(autouse=True)
def _small_models(monkeypatch):
    small = {
        **{"members": 1, "samples": 4, "prices": "network"},
        "sizes": prudent.Sizes(latent=4, width=8, embedding=4, summary=8),
        "training": prudent.Training(rounds=2, steps_per_round=20, batch=32, learning_rate=0.02),
    }
    monkeypatch.setattr(prudent, "CausalPVAE", partial(prudent.CausalPVAE, **small), raising=False)


def test_a_guideline_is_compared_with_what_is_learnt():
    evaluation = guideline.compared(str(ROOT / "docs" / "data" / "actg175.csv"))
    values = {name: evaluation.estimate(name).value for name in ("learnt", "careful", "guideline")}
    assert all(300 < value < 450 for value in values.values())
    assert guideline.guideline({"cd40": [200, 400, None]}) == [1, 3, 3]


def test_a_limit_is_kept_or_said_to_be_unproven():
    certificate, shares = limit.advised(rows=500)
    assert {"expected", "careful"} <= set(shares)
    assert ("within the limit" in shares) == (certificate.best is not None)
    assert all(0 <= share < 0.5 for share in shares.values())


def test_the_test_to_order_is_one_that_is_missing():
    advised = next_test.ordered(rows=300, patients=16)
    assert 0 < advised["patients"].sum() <= 16
    assert (advised["mean gain"] > 0).all()


def test_the_notebook_runs(monkeypatch):
    monkeypatch.chdir(ROOT / "examples")
    names: dict[str, object] = {}
    cells = json.loads((ROOT / "examples" / "first_look.ipynb").read_text())["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    assert code
    for source in code:
        exec(compile(source, "first_look.ipynb", "exec"), names)
    assert isinstance(names["model"], Fitted)
