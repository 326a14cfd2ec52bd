"""From completed and priced records to an action: what a model is, strategies, policies, advice and its explanation.

A model completes a record and prices every action on each completion; a strategy chooses from that table of prices.
"""

from prudent.decide.advice import Advice as Advice
from prudent.decide.advice import Case as Case
from prudent.decide.choice import Scored as Scored
from prudent.decide.choice import score_together as score_together
from prudent.decide.completions import Completions as Completions
from prudent.decide.completions import Draws as Draws
from prudent.decide.completions import PriceTable as PriceTable
from prudent.decide.completions import assemble as assemble
from prudent.decide.doses import require_doses_between as require_doses_between
from prudent.decide.explanation.explaining import quantiles as weighted_quantiles  # noqa: F401
from prudent.decide.explanation.explanation import ActionPrice as ActionPrice
from prudent.decide.explanation.explanation import Change as Change
from prudent.decide.explanation.explanation import Explanation as Explanation
from prudent.decide.explanation.explanation import Influence as Influence
from prudent.decide.measure.value import Measuring as Measuring
from prudent.decide.measure.value import TurningPoint as TurningPoint
from prudent.decide.measure.value import turning_points as turning_points
from prudent.decide.measure.value import value_of_measuring as value_of_measuring
from prudent.decide.model import FittedModel as FittedModel
from prudent.decide.model import HasAverage as HasAverage
from prudent.decide.model import HasDensity as HasDensity
from prudent.decide.model import HasDoubt as HasDoubt
from prudent.decide.model import HasTypes as HasTypes
from prudent.decide.model import Model as Model
from prudent.decide.model import average_shift as average_shift
from prudent.decide.model import pool as pool
from prudent.decide.model import price_table as price_table
from prudent.decide.outcome_calibration import Circumstances as Circumstances
from prudent.decide.outcome_calibration import HeldOut as HeldOut
from prudent.decide.outcome_calibration import OutcomeCalibration as OutcomeCalibration
from prudent.decide.outcome_calibration import normal_score as normal_score
from prudent.decide.outcomes import outcome_quantile as outcome_quantile
from prudent.decide.outcomes import outcome_scale as outcome_scale
from prudent.decide.outcomes import outcome_spread as outcome_spread
from prudent.decide.outcomes import typical_doubt as typical_doubt
from prudent.decide.plausible_mass import PlausibleMass as PlausibleMass
from prudent.decide.plausible_mass import plausible_mass as plausible_mass
from prudent.decide.plausible_set import PlausibleSet as PlausibleSet
from prudent.decide.plausible_set import c_of_risk as c_of_risk
from prudent.decide.plausible_set import risk_of_c as risk_of_c
from prudent.decide.policy import Policy as Policy
from prudent.decide.pricing import FEW_ROWS as FEW_ROWS
from prudent.decide.pricing import Pricing as Pricing
from prudent.decide.reading import Reader as Reader
from prudent.decide.reading import read_tables as read_tables
from prudent.decide.reading import read_together as read_together
from prudent.decide.search import Search as Search
from prudent.decide.status import Status as Status
from prudent.decide.strategies import AtMost as AtMost
from prudent.decide.strategies import BestFrequencyLottery as BestFrequencyLottery
from prudent.decide.strategies import Comparison as Comparison
from prudent.decide.strategies import Conservative as Conservative
from prudent.decide.strategies import Imputation as Imputation
from prudent.decide.strategies import MaximumExpectedReward as MaximumExpectedReward
from prudent.decide.strategies import MostOftenBest as MostOftenBest
from prudent.decide.strategies import Strategy as Strategy
from prudent.decide.strategies import TailAverse as TailAverse
from prudent.decide.support import Support as Support
