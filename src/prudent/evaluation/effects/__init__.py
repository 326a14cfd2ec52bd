"""What one action does compared with another: average effects, effects in groups and per row."""

from prudent.evaluation.effects.effect_estimates import Effects as Effects
from prudent.evaluation.effects.effect_estimates import effects as effects
from prudent.evaluation.effects.learner import BoostedEffects as BoostedEffects
