"""The expected reward of a record with gaps, as an average of what three predictors say of it."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from prudent.models.averaging.features import linear_features, tree_features
from prudent.models.averaging.linear import Linear
from prudent.models.averaging.trees import Trees
from prudent.networks import Layout


class PriceAverage(eqx.Module):
    """Shares of the network, of trees and of linear regression; they sum to one.

    The network prices completions, the other two the record with its gaps. The average says what an action earns on
    average over the completions, the network how prices differ between them: all prices of an action are moved by the
    difference.
    """

    trees: Trees
    linear: Linear
    shares: Float[Array, " predictor"]

    @classmethod
    def blank(cls, layout: Layout, actions: int) -> "PriceAverage":
        columns = layout.width + layout.attributes
        return cls(Trees.blank(actions), Linear.blank(columns, actions), jnp.zeros(3))

    def of_network(self) -> "PriceAverage":
        """The network alone."""
        return eqx.tree_at(lambda own: own.shares, self, jnp.array([1.0, 0.0, 0.0]))

    def others(
        self, layout: Layout, values: Float[Array, " attribute"], observed: Bool[Array, " attribute"]
    ) -> tuple[Float[Array, " action"], Float[Array, " action"]]:
        """What trees and linear regression say of a record, in standardised rewards."""
        of_trees = self.trees(tree_features(layout, values, observed))
        return of_trees, self.linear(linear_features(layout, values, observed))

    def shift(
        self,
        layout: Layout,
        values: Float[Array, " attribute"],
        observed: Bool[Array, " attribute"],
        network: Float[Array, " action"],
    ) -> Float[Array, " action"]:
        """By how much the average differs from the network's mean over the completions."""
        predictions = jnp.stack([network, *self.others(layout, values, observed)])
        return self.shares @ predictions - network
