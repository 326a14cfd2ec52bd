"""What a user would otherwise do to choose actions, at its best honest settings, behind one interface.

    rival.fit(values, categorical, actions, rewards, n_actions, seed).predict(new_values)

`values` are floats with NaN in the gaps, categories as small whole numbers. Rows without an action or a reward are left
out. Every rival prices all actions for a row and takes the best; an action it never saw is priced -inf. Settings that
matter (leaf size, number of rounds, gap indicators) are chosen by each rival on the log itself, by cross-validation,
out-of-bag error or held-out rows.
"""

from prudent.baselines.policies.boosting import Boosting
from prudent.baselines.policies.designs import ActionAsFeature, Design, PerAction
from prudent.baselines.policies.forests import Forest
from prudent.baselines.policies.ganite import GANITE
from prudent.baselines.policies.imputation import ChainedImputation, Imputation, MeanImputation
from prudent.baselines.policies.linear import Linear
from prudent.baselines.policies.partial_vae import PartialVAEImputation
from prudent.baselines.policies.policy_forest import ChainedPolicyForest
from prudent.baselines.policies.rival import FittedRival, Rival

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
