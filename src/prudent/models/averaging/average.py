"""The expected reward of a record with gaps, as an average of what four predictors say of it."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from prudent.models.averaging.features import linear_features, process_features, tree_features
from prudent.models.averaging.gaussian_process import GaussianProcess
from prudent.models.averaging.linear import Linear
from prudent.models.averaging.trees import Trees
from prudent.networks import Layout


class PriceAverage(eqx.Module):
    """Shares of the network, of trees, of linear regression and of a Gaussian process; they sum to one.

    The network prices completions, trees and regression see the record with its gaps, and the process the mean of its
    completions and where gaps were. The average says what an action earns on average over the completions, the network
    how prices differ between them: all prices of an action are moved by the difference.
    """

    trees: Trees
    linear: Linear
    process: GaussianProcess
    shares: Float[Array, " predictor"]

    @classmethod
    def blank(cls, layout: Layout, actions: int) -> "PriceAverage":
        columns = layout.width + layout.attributes
        process = GaussianProcess.blank(columns, actions)
        return cls(Trees.blank(actions), Linear.blank(columns, actions), process, jnp.zeros(4))

    def of_network(self) -> "PriceAverage":
        """The network alone."""
        return eqx.tree_at(lambda own: own.shares, self, jnp.array([1.0, 0.0, 0.0, 0.0]))

    def others(
        self,
        layout: Layout,
        values: Float[Array, " attribute"],
        observed: Bool[Array, " attribute"],
        mean: Float[Array, " cell"],
    ) -> tuple[Float[Array, " action"], ...]:
        """What trees, regression and process say of a record, in standardised rewards; mean: of its completions."""
        of_trees = self.trees(tree_features(layout, values, observed))
        of_linear = self.linear(linear_features(layout, values, observed))
        return of_trees, of_linear, self.process(process_features(layout, mean, observed))

    def shift(
        self,
        layout: Layout,
        values: Float[Array, " attribute"],
        observed: Bool[Array, " attribute"],
        mean: Float[Array, " cell"],
        network: Float[Array, " action"],
    ) -> Float[Array, " action"]:
        """By how much the average differs from the network's mean over the completions."""
        predictions = jnp.stack([network, *self.others(layout, values, observed, mean)])
        return self.shares @ predictions - network
