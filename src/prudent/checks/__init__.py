"""The laws of prudent as functions that you can run on a strategy, model or policy that you wrote yourself.

>>> from prudent import TailAverse
>>> from prudent.checks import check_strategy
>>> check_strategy(TailAverse(risk=0.1))

`check_strategy(strategy)` needs nothing else; `check_model(fitted, frame)` and `check_policy(policy, frame)` try a
table of cases. Each law is also a separate function, whose docstring has the law's number. A law that does not hold
raises `LawBroken`, whose message says what was seen.
"""

from prudent.checks.law import LawBroken
from prudent.checks.model import MODEL_LAWS, check_model, same_seed_same_model, saved_model_gives_the_same_advice
from prudent.checks.network import (
    a_gap_adds_nothing,
    attributes_may_be_permuted,
    check_propensity,
    encoder_laws,
    similarity_weights_sum_to_one,
    streaming_equals_dense,
    zero_is_not_a_gap,
)
from prudent.checks.policy import POLICY_LAWS, check_policy
from prudent.checks.strategy import (
    STRATEGY_LAWS,
    c_near_one_is_imputation,
    check_strategy,
    never_claims_more_when_careful,
    plausible_set_holds_its_mass,
    price_tables,
    weightless_completions_do_not_count,
)

__all__ = [
    "LawBroken",
    "check_model",
    "check_policy",
    "check_propensity",
    "check_strategy",
    "encoder_laws",
    "MODEL_LAWS",
    "POLICY_LAWS",
    "STRATEGY_LAWS",
    "a_gap_adds_nothing",
    "attributes_may_be_permuted",
    "c_near_one_is_imputation",
    "never_claims_more_when_careful",
    "plausible_set_holds_its_mass",
    "price_tables",
    "same_seed_same_model",
    "saved_model_gives_the_same_advice",
    "similarity_weights_sum_to_one",
    "streaming_equals_dense",
    "weightless_completions_do_not_count",
    "zero_is_not_a_gap",
]
