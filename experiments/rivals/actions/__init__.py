"""Rivals that choose actions: those of `prudent.rivals`, and those that need more or are only compared with.

rival.fit(LoggedDecisions.of(values, categorical, actions, rewards, n_actions), seed).predict(new_values)
"""

from experiments.rivals.actions.ganite import GANITE as GANITE
from experiments.rivals.actions.ganite_blocks import Contest as Contest
from experiments.rivals.actions.partial_vae_imputation import PartialVAEImputation as PartialVAEImputation
from experiments.rivals.actions.perpetual_policy import PerpetualPolicy as PerpetualPolicy
from experiments.rivals.actions.policy_forest import ChainedPolicyForest as ChainedPolicyForest
from prudent.rivals import ActionAsFeature as ActionAsFeature
from prudent.rivals import Boosting as Boosting
from prudent.rivals import ChainedImputation as ChainedImputation
from prudent.rivals import Forest as Forest
from prudent.rivals import Linear as Linear
from prudent.rivals import LoggedDecisions as LoggedDecisions
from prudent.rivals import MeanImputation as MeanImputation
from prudent.rivals import PerAction as PerAction
from prudent.rivals import Rival as Rival
