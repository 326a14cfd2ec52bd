"""Honest evaluation on logged data: estimators, intervals, diagnostics, effects and sensitivity."""

from prudent.evaluation.cross_fitting import CrossFitted as CrossFitted
from prudent.evaluation.cross_fitting import cross_fit as cross_fit
from prudent.evaluation.diagnostics import Diagnosis as Diagnosis
from prudent.evaluation.effect_learner import BoostedEffects as BoostedEffects
from prudent.evaluation.effects import Effects as Effects
from prudent.evaluation.estimators import EVERY_ESTIMATOR as EVERY_ESTIMATOR
from prudent.evaluation.estimators import ClippedInversePropensity as ClippedInversePropensity
from prudent.evaluation.estimators import Direct as Direct
from prudent.evaluation.estimators import DoublyRobust as DoublyRobust
from prudent.evaluation.estimators import Estimator as Estimator
from prudent.evaluation.estimators import InversePropensity as InversePropensity
from prudent.evaluation.estimators import SelfNormalised as SelfNormalised
from prudent.evaluation.estimators import SelfNormalisedDoublyRobust as SelfNormalisedDoublyRobust
from prudent.evaluation.estimators import ShrunkDoublyRobust as ShrunkDoublyRobust
from prudent.evaluation.estimators import SwitchDoublyRobust as SwitchDoublyRobust
from prudent.evaluation.evaluating import evaluate as evaluate
from prudent.evaluation.evaluation import Evaluation as Evaluation
from prudent.evaluation.intervals import Bootstrap as Bootstrap
from prudent.evaluation.intervals import EmpiricalBernstein as EmpiricalBernstein
from prudent.evaluation.intervals import Estimate as Estimate
from prudent.evaluation.intervals import Interval as Interval
from prudent.evaluation.intervals import LogarithmicSmoothing as LogarithmicSmoothing
from prudent.evaluation.intervals import Student as Student
from prudent.evaluation.prices import LearntPrices as LearntPrices
