"""Costs that differ between cases: each case is decided as if every case had its costs."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from conftest import COMPLETIONS

from prudent import AtMost, InputProblem, MaximumExpectedReward, TailAverse
from prudent.command_line import main
from prudent.decide.row_costs import row_costs

pytestmark = pytest.mark.usefixtures("one_chunk")
COSTS = {"high": "price of high", "low": "price of low"}


@pytest.fixture
def priced(cases: Any) -> Any:
    """The cases with what two of the three actions cost."""
    random = np.random.default_rng(0)
    return cases.assign(**{column: random.choice([0.0, 0.5, 3.0], len(cases)) for column in COSTS.values()})


@pytest.mark.parametrize("strategy", [MaximumExpectedReward(), TailAverse(0.2), AtMost(0.2, below=-1.2)], ids=repr)
def test_a_case_is_decided_as_if_its_costs_were_those_of_all(strategy: Any, fitted_models: Any, priced: Any):
    fitted = fitted_models["causal"]
    policy = fitted.policy(strategy, completions=COMPLETIONS, costs={"none": 0.1})
    advice = policy.recommend(priced, costs=COSTS)
    for row in range(4):
        own = {"none": 0.1} | {label: float(priced[column].iloc[row]) for label, column in COSTS.items()}
        alone = fitted.policy(strategy, completions=COMPLETIONS, costs=own).recommend(priced)
        assert advice.actions[row] == alone.actions[row]
        np.testing.assert_allclose(advice.scored.scores[row], alone.scored.scores[row], atol=1e-4)
    plain = fitted.policy(strategy, completions=COMPLETIONS, costs={"none": 0.1}).recommend(priced)
    np.testing.assert_allclose(advice.scored.expected, plain.scored.expected, atol=1e-4)
    assert advice.actions != plain.actions


def test_explanations_and_measuring_take_the_costs_of_the_case(fitted_models: Any, priced: Any):
    fitted, row = fitted_models["causal"], 3
    advice = fitted.policy(completions=COMPLETIONS).recommend(priced, costs=COSTS, measure=True)
    own = {label: float(priced[column].iloc[row]) for label, column in COSTS.items()}
    alone = fitted.policy(completions=COMPLETIONS, costs=own).recommend(priced, measure=True)
    np.testing.assert_allclose(advice.measuring.gain[row], alone.measuring.gain[row], atol=1e-4)
    explained = advice[row].explain()
    assert {price.action: price.cost for price in explained.prices} == pytest.approx({"none": 0.0} | own)
    assert explained.reason == alone[row].explain().reason


@pytest.mark.parametrize(
    ("costs", "named"),
    [
        ({"hgih": "price of high"}, "hgih"),
        ({"high": "price of hihg"}, "price of high"),
        ({"high": "ward"}, "ward"),
        ({"high": "gaps"}, "row 2"),
    ],
)
def test_costs_that_do_not_fit_are_refused(costs: Any, named: str, fitted_models: Any, priced: Any):
    with_gaps = priced.assign(gaps=[1.0, None, *[2.0] * (len(priced) - 2)])
    with pytest.raises(InputProblem, match=named):
        fitted_models["causal"].policy(completions=COMPLETIONS).recommend(with_gaps, costs=costs)


@pytest.mark.parametrize(("costs", "named"), [({"high": 0.5}, "0.5"), (["price of high"], "costs")])
def test_what_names_no_columns_is_refused(costs: Any, named: str, priced: Any):
    with pytest.raises(InputProblem, match=named):
        row_costs(priced, costs, ("high", "low", "none"))


def test_a_guarantee_does_not_hold_with_them(fitted_models: Any, priced: Any):
    class Bounds:
        policy = fitted_models["causal"].policy(completions=COMPLETIONS)

        def bounds(self, encoded: Any, chosen: np.ndarray) -> np.ndarray:
            return np.zeros(len(chosen))

        def comparison(self, encoded: Any) -> list[str]:
            return []

    with pytest.raises(InputProblem, match="guarantee"):
        Bounds.policy.recommend(priced, costs=COSTS, guarantee=Bounds())


def test_the_command_line_takes_columns_of_costs(fitted_models: Any, priced: Any, tmp_path: Path, capsys: Any):
    fitted_models["causal"].save(tmp_path / "model")
    pl.from_pandas(priced.reset_index(drop=True)).write_csv(tmp_path / "cases.csv")
    command = ["recommend", str(tmp_path / "model"), str(tmp_path / "cases.csv"), "--out", str(tmp_path / "out.csv")]
    command += ["--completions", str(COMPLETIONS)]
    options = [part for label, column in COSTS.items() for part in ("--cost-column", f"{label}={column}")]
    assert main([*command, *options]) == 0
    expected = fitted_models["causal"].policy(completions=COMPLETIONS).recommend(priced, costs=COSTS)
    assert pl.read_csv(tmp_path / "out.csv")["action"].to_list() == expected.actions
    assert main([*command, "--cost-column", "price"]) == 2
    assert "ACTION=COL" in capsys.readouterr().err
