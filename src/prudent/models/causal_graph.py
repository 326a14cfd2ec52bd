"""What every model of the graph z → x → R ← a has in common once it is fitted."""

from jaxtyping import Array, Bool, Float

from prudent.decide import Completions, Model
from prudent.models import partial_vae
from prudent.models.fitting import RewardScale
from prudent.networks import Members


class CausalGraphModel(Model):
    """Completions from the importance-weighted partial VAE; how rewards are priced is left to its two kinds."""

    networks: Members
    scale: RewardScale

    @property
    def members(self) -> int:
        return self.networks.count

    @property
    def draw_size(self) -> int:
        return self.networks.shared.features.draw_size

    def complete(
        self,
        values: Float[Array, " attribute"],
        observed: Bool[Array, " attribute"],
        uniforms: Float[Array, "member sample uniform"],
        literal: bool,
    ) -> Completions:
        return partial_vae.complete(self.networks, lambda n: n.features, values, observed, uniforms, literal)
