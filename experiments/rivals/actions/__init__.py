"""Rivals that choose actions: what a user would otherwise do, behind one interface.

    rival.fit(LoggedDecisions.of(values, categorical, actions, rewards, n_actions), seed).predict(new_values)

Every rival prices all actions for a row and takes the best; an action it never saw is priced -inf. Settings that matter
(leaf size, number of rounds, gap indicators) are chosen by each rival on the log itself, by cross-validation,
out-of-bag error or held-out rows.
"""

from experiments.rivals.actions.boosting import Boosting as Boosting
from experiments.rivals.actions.designs import ActionAsFeature as ActionAsFeature
from experiments.rivals.actions.designs import PerAction as PerAction
from experiments.rivals.actions.forests import Forest as Forest
from experiments.rivals.actions.ganite import GANITE as GANITE
from experiments.rivals.actions.ganite_blocks import Contest as Contest
from experiments.rivals.actions.imputation import ChainedImputation as ChainedImputation
from experiments.rivals.actions.imputation import MeanImputation as MeanImputation
from experiments.rivals.actions.linear import Linear as Linear
from experiments.rivals.actions.partial_vae_imputation import PartialVAEImputation as PartialVAEImputation
from experiments.rivals.actions.perpetual_policy import PerpetualPolicy as PerpetualPolicy
from experiments.rivals.actions.policy_forest import ChainedPolicyForest as ChainedPolicyForest
from experiments.rivals.actions.rival import LoggedDecisions as LoggedDecisions
from experiments.rivals.actions.rival import Rival as Rival
