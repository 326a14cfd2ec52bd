"""Which columns matter: for the decision and for its value, against a table in which the answer is known."""

from dataclasses import replace

import numpy as np
import pytest
from conftest import visits

import prudent
from prudent.errors import InputProblem
from prudent.evaluation import columns_that_matter
from prudent.propensity import Known


@pytest.fixture(scope="module")
def later(fitted_models):
    table = visits(300, seed=7, gaps=0.1).assign(chance=1 / 3)
    fitted = fitted_models["causal"]
    read = fitted.read(table)
    return prudent.Log.from_frame(
        table,
        action="dose",
        reward="outcome",
        propensity="chance",
        schema=read.schema,
        action_labels=read.action_labels,
    )


@pytest.fixture(scope="module")
def matter(fitted_models, later):
    policy = fitted_models["causal"].policy(completions=16)
    return columns_that_matter(policy, later, propensity=Known())


def test_what_decides_comes_first_and_what_says_nothing_last(matter):
    """Rewards depend on the pressure's need, never on the day of admission."""
    by_name = {one.column: one for one in matter.columns}
    assert matter.columns[0].column == "pressure"
    assert by_name["pressure"].changed.low > by_name["admitted"].changed.high
    assert by_name["pressure"].loss.low > 0
    assert abs(by_name["admitted"].loss.value) < by_name["pressure"].loss.value / 5


def test_shares_are_those_of_decisions_without_the_column(matter, fitted_models, later):
    policy = fitted_models["causal"].policy(completions=16)
    cases = later.cases()
    before = np.array(policy.recommend(cases).actions)
    after = np.array(policy.recommend(cases.assign(pressure=np.nan)).actions)
    by_name = {one.column: one for one in matter.columns}
    assert by_name["pressure"].changed.value == pytest.approx(np.mean(before != after))
    assert by_name["pressure"].known == pytest.approx(float(later.observed[:, 0].mean()))


def test_few_rows_of_many_and_columns_without_values(fitted_models, later):
    policy = fitted_models["causal"].policy(completions=16)
    shown = later.observed.copy()
    shown[:, 1] = False
    unseen = prudent.Log(**{**vars(later), "observed": shown})
    found = columns_that_matter(policy, unseen, propensity=Known(), most_rows=100)
    assert found.rows == 100
    assert "marker" not in {one.column for one in found.columns}


def test_the_picture_has_every_column_and_the_text_every_number(matter):
    texts = {text.text for text in matter.picture().texts}
    assert {one.column for one in matter.columns} <= texts
    assert f"{100 * matter.columns[0].changed.value:.1f}%" in str(matter)
    assert matter.to_dict()["columns"][0]["column"] == matter.columns[0].column


def test_a_lower_reward_that_is_better_gives_losses_of_the_same_sign(fitted_models, later):
    costs = replace(fitted_models["causal"], minimize=True)
    mirrored = replace(later, minimize=True)
    found = columns_that_matter(costs.policy(completions=16), mirrored, propensity=Known(), most_rows=200)
    assert {one.column: one.loss.value for one in found.columns}["pressure"] > 0


def test_something_else_than_a_policy_is_refused(later):
    with pytest.raises(InputProblem, match="policy"):
        columns_that_matter(lambda cases: cases, later)  # pyright: ignore[reportArgumentType]
