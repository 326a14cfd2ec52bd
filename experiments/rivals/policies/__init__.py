"""What a user would otherwise do to choose actions, at its best honest settings, behind one interface.

    rival.fit(values, categorical, actions, rewards, n_actions, seed).predict(new_values)

`values` are floats with NaN in the gaps, categories as small whole numbers. Rows without an action or a reward are left
out. Every rival prices all actions for a row and takes the best; an action it never saw is priced -inf. Settings that
matter (leaf size, number of rounds, gap indicators) are chosen by each rival on the log itself, by cross-validation,
out-of-bag error or held-out rows.
"""

from experiments.rivals.policies.boosting import Boosting
from experiments.rivals.policies.designs import ActionAsFeature, Design, PerAction
from experiments.rivals.policies.forests import Forest
from experiments.rivals.policies.ganite import GANITE
from experiments.rivals.policies.imputation import ChainedImputation, Imputation, MeanImputation
from experiments.rivals.policies.linear import Linear
from experiments.rivals.policies.partial_vae import PartialVAEImputation
from experiments.rivals.policies.policy_forest import ChainedPolicyForest
from experiments.rivals.policies.rival import FittedRival, Rival

__all__ = [
    "PerAction",
    "ActionAsFeature",
    "Design",
    "MeanImputation",
    "ChainedImputation",
    "PartialVAEImputation",
    "Imputation",
    "Linear",
    "Forest",
    "Boosting",
    "ChainedPolicyForest",
    "GANITE",
    "FittedRival",
    "Rival",
]
