"""Rows that the model was fitted on: evaluate, frontier and guarantee warn of them or refuse them alike."""

import pandas as pd
import pytest
from conftest import COMPLETIONS, visits

from prudent import evaluate, frontier, guarantee
from prudent.decide import MaximumExpectedReward, Search
from prudent.errors import InputProblem

pytestmark = pytest.mark.usefixtures("one_chunk")

OPTIONS = {"completions": COMPLETIONS, "search": Search(steps=0)}
JUDGES = {
    "evaluate": lambda model, log: evaluate(model.policy(**OPTIONS), log, below=-1.5),
    "frontier": lambda model, log: frontier(model, log, below=-1.5, settings=[MaximumExpectedReward()], **OPTIONS),
    "guarantee": lambda model, log: guarantee(model.policy(**OPTIONS), log, confidence=0.6),
}


def later(model, fitted_rows):
    """A log of 100 rows, of which so many are the model's."""
    return model.read(pd.concat([visits().head(fitted_rows), visits(100 - fitted_rows, seed=5)]))


@pytest.mark.parametrize("judge", JUDGES)
def test_some_fitted_rows_give_a_warning_and_most_are_refused(fitted_models, judge):
    model = fitted_models["causal"]
    warned = JUDGES[judge](model, later(model, 20))
    assert any("20%" in note for note in warned.notes)
    if judge == "frontier":
        assert warned.notes[0] in str(warned)
    with pytest.raises(InputProblem, match="60%"):
        JUDGES[judge](model, later(model, 60))
    assert JUDGES[judge](model, later(model, 0)).notes == ()
