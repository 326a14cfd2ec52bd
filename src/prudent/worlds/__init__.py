"""Decision problems with a known right answer, to compare models and strategies with, and masks for studies of gaps."""

from prudent.worlds.best_action_information import Information as Information
from prudent.worlds.best_action_information import information as information
from prudent.worlds.best_action_information import joint_of as joint_of
from prudent.worlds.dosing import DosingSample as DosingSample
from prudent.worlds.dosing import DosingWorld as DosingWorld
from prudent.worlds.erasure import ErasureSample as ErasureSample
from prudent.worlds.erasure import ErasureWorld as ErasureWorld
from prudent.worlds.exact_measuring import posterior_spread as posterior_spread
from prudent.worlds.exact_scores import Posterior as Posterior
from prudent.worlds.exact_scores import squared_radii as squared_radii
from prudent.worlds.insulin import InsulinSample as InsulinSample
from prudent.worlds.insulin import InsulinWorld as InsulinWorld
from prudent.worlds.insulin import calculated_bolus as calculated_bolus
from prudent.worlds.insulin import glucose_reward as glucose_reward
from prudent.worlds.losses import Loss as Loss
from prudent.worlds.missingness import mar as mar
from prudent.worlds.missingness import mcar as mcar
from prudent.worlds.missingness import mnar as mnar
