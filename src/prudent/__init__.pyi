"""Every public name of the package, and the room it lives in."""

from prudent import checks as checks
from prudent import worlds as worlds
from prudent.decide import AtMost as AtMost
from prudent.decide import Conservative as Conservative
from prudent.decide import Imputation as Imputation
from prudent.decide import MaximumExpectedReward as MaximumExpectedReward
from prudent.decide import Policy as Policy
from prudent.decide import Search as Search
from prudent.decide import Strategy as Strategy
from prudent.decide import TailAverse as TailAverse
from prudent.decide import value_of_measuring as value_of_measuring
from prudent.errors import InputProblem as InputProblem
from prudent.evaluation import GaussianPrices as GaussianPrices
from prudent.evaluation import cross_fit as cross_fit
from prudent.evaluation import evaluate as evaluate
from prudent.evaluation.effects import effects as effects
from prudent.models import CPVAE as CPVAE
from prudent.models import SPVAE as SPVAE
from prudent.models import CausalPVAE as CausalPVAE
from prudent.models import Sizes as Sizes
from prudent.models import load as load
from prudent.networks import Training as Training
from prudent.promise import frontier as frontier
from prudent.promise import guarantee as guarantee
from prudent.propensity import Boosted as Boosted
from prudent.propensity import ImputedLogistic as ImputedLogistic
from prudent.propensity import Known as Known
from prudent.propensity import Stacked as Stacked
from prudent.table import Log as Log
from prudent.table import Schema as Schema
from prudent.table import read_log as read_log
from prudent.table import read_table as read_table

__version__: str
__all__: list[str]
