"""models."""

from prudent.models.causal import CausalPVAE as CausalPVAE
from prudent.models.conditional import CPVAE as CPVAE
from prudent.models.fitted import Fitted as Fitted
from prudent.models.fitting import SHARED_RULES as SHARED_RULES
from prudent.models.fitting import FitReport as FitReport
from prudent.models.fitting import Progress as Progress
from prudent.models.fitting import Sizes as Sizes
from prudent.models.fitting import check_log as check_log
from prudent.models.fitting import reward_scale as reward_scale
from prudent.models.learning import fit_many as fit_many
from prudent.models.loading import load as load
from prudent.models.log_alignment import align_log as align_log
from prudent.models.log_alignment import require_same_actions as require_same_actions
from prudent.models.partial_vae import PartialVAE as PartialVAE
from prudent.models.similarity import SPVAE as SPVAE
from prudent.models.similarity import FeatureLoss as FeatureLoss
from prudent.models.similarity import SimilarityModel as SimilarityModel
