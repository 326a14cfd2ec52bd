"""How likely each logged action was: propensities, estimated by cross-fitting or read from the log, and their overlap.

The logging policy saw the record with its gaps, so every estimate here is of π0(a | x̃). A row's probability never comes
from a model that saw that row's action.
"""

from prudent.propensity.best_guess import BestGuess as BestGuess
from prudent.propensity.boosted import Boosted as Boosted
from prudent.propensity.censoring import Censoring as Censoring
from prudent.propensity.cross_fitting import across_folds as across_folds
from prudent.propensity.cross_fitting import deal_folds as deal_folds
from prudent.propensity.cross_fitting import single_thread as single_thread
from prudent.propensity.cross_fitting import with_row_limit as with_row_limit
from prudent.propensity.default import PROPENSITIES as PROPENSITIES
from prudent.propensity.default import Propensity as Propensity
from prudent.propensity.default import propensity_or_default as propensity_or_default
from prudent.propensity.design_matrices import BOOSTED_COLUMNS as BOOSTED_COLUMNS
from prudent.propensity.design_matrices import BOOSTED_LEVELS as BOOSTED_LEVELS
from prudent.propensity.design_matrices import expected_table as expected_table
from prudent.propensity.design_matrices import native_table as native_table
from prudent.propensity.design_matrices import numeric_table as numeric_table
from prudent.propensity.design_matrices import standardised as standardised
from prudent.propensity.fitted_propensity import FLOOR as FLOOR
from prudent.propensity.fitted_propensity import FittedPropensity as FittedPropensity
from prudent.propensity.imputed_logistic import ImputedLogistic as ImputedLogistic
from prudent.propensity.known import Known as Known
from prudent.propensity.logging_policy import LoggingPolicy as LoggingPolicy
from prudent.propensity.overlap import FEW_ROWS as FEW_ROWS
from prudent.propensity.overlap import OUTSIDE_SUPPORT as OUTSIDE_SUPPORT
from prudent.propensity.overlap import ActionOverlap as ActionOverlap
from prudent.propensity.overlap import Overlap as Overlap
from prudent.propensity.overlap import effective_sample_size as effective_sample_size
from prudent.propensity.overlap import least_propensity as least_propensity
from prudent.propensity.overlap import least_rows as least_rows
from prudent.propensity.robust_logistic import RobustLogistic as RobustLogistic
from prudent.propensity.stacked import Stacked as Stacked
