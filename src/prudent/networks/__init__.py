"""The neural networks: set encoder, decoder, reward networks, and the one program that trains them.

A network reads one record or many: all axes but the last are the caller's.
"""

from prudent.networks.compiling import compiled as compiled
from prudent.networks.compiling import release_programs as release_programs
from prudent.networks.compiling import use_compilation_cache as use_compilation_cache
from prudent.networks.decoder import Decoder as Decoder
from prudent.networks.decoder import Distributions as Distributions
from prudent.networks.draws import quasi_random as quasi_random
from prudent.networks.layers import Width as Width
from prudent.networks.layers import normal_quantile as normal_quantile
from prudent.networks.layers import two_widths as two_widths
from prudent.networks.layout import Layout as Layout
from prudent.networks.layout import layout_of as layout_of
from prudent.networks.reward import RewardNetwork as RewardNetwork
from prudent.networks.reward import TypeNetwork as TypeNetwork
from prudent.networks.reward import neighbour_correlation as neighbour_correlation
from prudent.networks.reward import neighbour_mixing as neighbour_mixing
from prudent.networks.set_encoder import MANY_ATTRIBUTES as MANY_ATTRIBUTES
from prudent.networks.set_encoder import GaussianPosterior as GaussianPosterior
from prudent.networks.set_encoder import SetEncoder as SetEncoder
from prudent.networks.set_encoder import standard_normal_log_prob as standard_normal_log_prob
from prudent.networks.side_by_side import side_by_side as side_by_side
from prudent.networks.training import Members as Members
from prudent.networks.training import Trained as Trained
from prudent.networks.training import bucket as bucket
from prudent.networks.training import train as train
from prudent.networks.training import untrained as untrained
from prudent.networks.training_program import Loss as Loss
from prudent.networks.training_program import Training as Training
