"""What fitted models of the causal graph z → x → R ← a have in common."""

from jaxtyping import Array, Bool, Float

from prudent.decide import Completions, Draws, Model
from prudent.models import partial_vae
from prudent.models.possible import Possible
from prudent.models.training_data import RewardScale
from prudent.networks import Members


class CausalGraphModel(Model):
    """Completions from the importance-weighted partial VAE; its two subclasses price the actions."""

    networks: Members
    scale: RewardScale
    possible: Possible

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
        parts = self.networks, lambda n: n.features, values, observed, uniforms, literal
        return partial_vae.complete(*parts, self.possible_record)

    def draws(
        self,
        values: Float[Array, " attribute"],
        observed: Bool[Array, " attribute"],
        uniforms: Float[Array, "member sample uniform"],
    ) -> Draws:
        return partial_vae.draws_of(
            self.networks, lambda n: n.features, values, observed, uniforms, self.possible_record
        )

    def possible_record(
        self, values: Float[Array, " attribute"], observed: Bool[Array, " attribute"]
    ) -> Float[Array, " attribute"]:
        return self.possible.held(values, observed)
