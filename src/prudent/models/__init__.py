"""Models: CausalPVAE, SPVAE and CPVAE learn from a log with gaps to complete a record and to price every action on it.

`settings.fit(log)` gives a `Fitted` model, which makes policies and can be saved and loaded.
"""

from prudent.models.causal import CausalPVAE as CausalPVAE
from prudent.models.causal import may_be_ordered as may_be_ordered
from prudent.models.conditional import CPVAE as CPVAE
from prudent.models.cost_estimate import Cost as Cost
from prudent.models.cost_estimate import Costs as Costs
from prudent.models.cost_estimate import estimate_costs as estimate_costs
from prudent.models.fit_report import FitReport as FitReport
from prudent.models.fitted import Fitted as Fitted
from prudent.models.fitting import fit_many as fit_many
from prudent.models.folder import SavedColumns as SavedColumns
from prudent.models.folder import read_description as read_description
from prudent.models.folder import require_model_folder as require_model_folder
from prudent.models.folder import saved_columns as saved_columns
from prudent.models.folder import saved_direction as saved_direction
from prudent.models.loading import load as load
from prudent.models.log_alignment import align_log as align_log
from prudent.models.log_alignment import require_same_actions as require_same_actions
from prudent.models.partial_vae import FeatureLoss as FeatureLoss
from prudent.models.partial_vae import PartialVAE as PartialVAE
from prudent.models.presets import PRESETS as PRESETS
from prudent.models.presets import PRINTED_NOISE as PRINTED_NOISE
from prudent.models.reference import ColumnCounts as ColumnCounts
from prudent.models.reference import Reference as Reference
from prudent.models.settings import SHARED_RULES as SHARED_RULES
from prudent.models.settings import Sizes as Sizes
from prudent.models.similarity import SPVAE as SPVAE
from prudent.models.similarity import SimilarityModel as SimilarityModel
from prudent.models.storage import settings_to_json as settings_to_json
from prudent.models.training_data import RewardScale as RewardScale
from prudent.models.training_data import require_fittable as require_fittable
from prudent.models.training_data import reward_scale as reward_scale
