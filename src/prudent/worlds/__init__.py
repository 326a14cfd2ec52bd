"""Decision problems with a known right answer: the yardsticks that models and strategies are held against."""

from prudent.worlds.dosing import DosingSample, DosingWorld
from prudent.worlds.erasure import ErasureSample, ErasureWorld
from prudent.worlds.exact import Posterior
from prudent.worlds.insulin import InsulinSample, InsulinWorld, calculated_bolus, glucose_reward
from prudent.worlds.losses import Loss

__all__ = [
    "DosingWorld",
    "DosingSample",
    "Loss",
    "Posterior",
    "ErasureWorld",
    "ErasureSample",
    "InsulinWorld",
    "InsulinSample",
    "calculated_bolus",
    "glucose_reward",
]
