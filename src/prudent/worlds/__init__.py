"""Small decision problems with a known right answer: the yardsticks that models and strategies are held against."""

from prudent.worlds.dosing import DosingSample, DosingWorld
from prudent.worlds.erasure import ErasureSample, ErasureWorld
from prudent.worlds.exact import Posterior
from prudent.worlds.losses import Loss

__all__ = ["DosingWorld", "DosingSample", "Loss", "Posterior", "ErasureWorld", "ErasureSample"]
