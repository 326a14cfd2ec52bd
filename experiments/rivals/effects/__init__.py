"""Rivals that estimate the effect of a treatment from records with gaps, all behind `Method.estimate(study)`."""

from experiments.rivals.effects.cevae import CausalEffectVAE as CausalEffectVAE
from experiments.rivals.effects.complete_table import CLIP as CLIP
from experiments.rivals.effects.complete_table import doubly_robust as doubly_robust
from experiments.rivals.effects.matrix_factorisation import MatrixFactorisation as MatrixFactorisation
from experiments.rivals.effects.miss_deep_causal import MissDeepCausal as MissDeepCausal
from experiments.rivals.effects.missing_in_attributes import MissingInAttributes as MissingInAttributes
from experiments.rivals.effects.multiple_imputation import MultipleImputation as MultipleImputation
from experiments.rivals.effects.network_inputs import chunks as chunks
from experiments.rivals.effects.simple import DifferenceInMeans as DifferenceInMeans
from experiments.rivals.effects.simple import MeanImputed as MeanImputed
from experiments.rivals.effects.study import Answer as Answer
from experiments.rivals.effects.study import Method as Method
from experiments.rivals.effects.study import Progress as Progress
from experiments.rivals.effects.study import Study as Study
