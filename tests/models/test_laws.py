"""The ten laws, over every model and every strategy."""

import jax.numpy as jnp
import numpy as np
import pytest
from conftest import COMPLETIONS, MODELS

import prudent
from prudent import checks
from prudent.decide import (
    FEW_ROWS,
    BestFrequencyLottery,
    Conservative,
    Imputation,
    MaximumExpectedReward,
    MostOftenBest,
    PriceTable,
    Search,
    Status,
    Strategy,
    TailAverse,
)

SAMPLING = Search(steps=0)
STRATEGIES = (
    Imputation(),
    MaximumExpectedReward(),
    Conservative(),
    Conservative(risk=0.0),
    Conservative(risk=0.5),
    Conservative(c=0.0),
    Conservative(c=0.1),
    TailAverse(),
    TailAverse(risk=1.0),
    TailAverse(risk=0.05, measure="quantile"),
    MostOftenBest(),
    BestFrequencyLottery(),
)
ON_MODELS = (
    Imputation(),
    MaximumExpectedReward(),
    Conservative(),
    Conservative(c=0.1),
    Conservative(c=0.1, paper_literal=True),
    TailAverse(),
    MostOftenBest(),
    BestFrequencyLottery(),
)


@pytest.mark.parametrize("law", checks.STRATEGY_LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("strategy", STRATEGIES, ids=repr)
def test_strategies_keep_the_laws(strategy, law):
    law(strategy)


@pytest.mark.parametrize("strategy", [s for s in STRATEGIES if isinstance(s, Conservative)], ids=repr)
def test_plausible_sets_keep_the_laws(strategy):
    checks.plausible_set_holds_its_mass(strategy)


def test_all_laws_at_once():
    checks.check_strategy(Conservative(risk=0.1))


@pytest.mark.parametrize(
    "strategy", [MaximumExpectedReward(), TailAverse(), TailAverse(0.3, "quantile"), MostOftenBest()], ids=repr
)
def test_what_has_no_weight_does_not_count(strategy):
    checks.weightless_completions_do_not_count(strategy)


def test_careful_claims_less():
    levels = (0.9, 0.5, 0.2, 0.1, 0.05, 0.01, 0.001, 0.0)
    checks.never_claims_more_when_careful([Conservative(c=c) for c in levels])
    checks.never_claims_more_when_careful([Conservative(risk=risk) for risk in levels])
    checks.never_claims_more_when_careful([TailAverse(risk) for risk in (1.0, *levels[:-1])])
    checks.never_claims_more_when_careful([TailAverse(risk, "quantile") for risk in (1.0, *levels[:-1])])
    checks.c_near_one_is_imputation()


class Reckless(Strategy):
    """Breaks law 1: the last action whatever the prices."""

    def scores(self, table: PriceTable):
        return jnp.arange(table.prices.shape[1], dtype=jnp.float32)


class FirstDraw(Strategy):
    """Breaks law 4: looks at whichever draw happens to come first."""

    def scores(self, table: PriceTable):
        return table.prices[1]


class Lost(Strategy):
    """Breaks law 2: infinitely bad where nothing but x̂ is plausible."""

    def scores(self, table: PriceTable):
        plausible = table.log_density[1:, None] > table.log_density[0] - 1e3
        return jnp.max(jnp.where(plausible, table.prices[1:], -jnp.inf), axis=0)


@pytest.mark.parametrize(("strategy", "law"), [(Reckless(), 1), (FirstDraw(), 4), (Lost(), 2)], ids=repr)
def test_a_broken_strategy_is_found_out(strategy, law):
    with pytest.raises(checks.LawBroken, match=f"Law {law} "):
        checks.check_strategy(strategy)


def test_a_set_of_draws_in_place_of_the_densest_is_found_out():
    with pytest.raises(checks.LawBroken):
        checks.weightless_completions_do_not_count(Imputation())
    with pytest.raises(checks.LawBroken, match="Law 3"):
        checks.never_claims_more_when_careful([Conservative(risk=0.01), Conservative(risk=0.9)])


@pytest.mark.parametrize("law", checks.MODEL_LAWS, ids=lambda law: law.__name__)
def test_models_keep_the_laws(fitted, cases, law):
    law(fitted.policy(completions=COMPLETIONS), fitted.schema.encode(cases.head(12)))


def test_all_model_laws_at_once(fitted_models, cases):
    checks.check_model(fitted_models["similarity"], cases.head(3), completions=COMPLETIONS)


@pytest.mark.parametrize("strategy", ON_MODELS, ids=repr)
def test_policies_keep_the_laws(fitted, cases, strategy):
    checks.check_policy(fitted.policy(strategy, completions=COMPLETIONS, search=SAMPLING), cases.head(FEW_ROWS))


def test_a_searching_policy_with_every_option_keeps_the_laws(fitted_models, cases):
    options = {"doubt": 1.0, "noise": 0.5, "costs": {"high": 0.3}, "search": Search(starts=1, steps=2)}
    policy = fitted_models["causal"].policy(Conservative(c=0.1), completions=COMPLETIONS, **options)
    checks.check_policy(policy, cases.head(FEW_ROWS))


def test_a_policy_with_a_floor_keeps_the_laws(fitted, cases):
    worst = fitted.policy(completions=COMPLETIONS).recommend(cases).worst_reward
    options = {"floor": float(np.median(worst)), "completions": COMPLETIONS, "search": SAMPLING}
    checks.check_policy(fitted.policy(**options), cases.head(FEW_ROWS))
    checks.check_policy(fitted.policy(**options, fallback="ask"), cases.head(FEW_ROWS))


def test_strategies_agree_on_a_complete_record(fitted, cases):
    chosen = {
        repr(strategy): fitted.policy(strategy, completions=COMPLETIONS, search=SAMPLING)
        .recommend(cases.head(1))
        .actions[0]
        for strategy in ON_MODELS
        if not (isinstance(strategy, Conservative) and strategy.paper_literal)
    }
    assert len(set(chosen.values())) == 1, chosen


def test_a_lonely_completion_is_said(fitted, cases):
    advice = fitted.policy(Conservative(c=0.999999), completions=COMPLETIONS, search=SAMPLING).recommend(cases)
    lonely = (advice.scored.plausible == 0) & ~advice.encoded.observed.all(axis=1) & advice.encoded.observed.any(axis=1)
    assert lonely.any()
    for row in np.flatnonzero(lonely):
        assert advice[int(row)].status is Status.ONLY_MOST_LIKELY
    assert advice[0].status is Status.OK
    assert advice[1].status is Status.NOTHING_OBSERVED


@pytest.mark.parametrize("name", MODELS)
def test_a_saved_model_gives_the_same_advice_elsewhere(fitted_models, cases, name):
    checks.saved_model_gives_the_same_advice(fitted_models[name], cases, completions=COMPLETIONS)


def test_logged_propensities_keep_the_laws(log):
    for propensity in (prudent.ImputedLogistic(imputations=1, folds=2), prudent.Boosted(folds=2)):
        checks.check_propensity(propensity.fit(log, seed=0))
