"""Laws of the parts: the set encoder, propensities, and similarity weights."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from prudent.checks.law import close, hold
from prudent.models import SimilarityModel
from prudent.networks import Layout, SetEncoder
from prudent.propensity import FittedPropensity


@eqx.filter_jit
def _summary(encoder: SetEncoder, layout: Layout, values: Array, observed: Array) -> Array:
    return encoder.summary(layout, layout.cells(values), layout.by_group(observed))


def encoder_laws(layout: Layout, encoder: SetEncoder, values: Array) -> None:
    """Law 6, all three parts, at the encoded values of one complete record."""
    attributes_may_be_permuted(layout, encoder, values)
    a_gap_adds_nothing(layout, encoder, values)
    zero_is_not_a_gap(layout, encoder)


def attributes_may_be_permuted(layout: Layout, encoder: SetEncoder, values: Array) -> None:
    """Law 6: permuting attributes with their embeddings changes nothing."""
    observed = jnp.arange(layout.attributes) % 3 != 2
    moved, permuted = _permuted(layout, encoder)
    before = _summary(encoder, layout, values, observed)
    after = _summary(moved, permuted, values, observed)
    hold(close(before, after), 6, "permuting the attributes changed the encoder's summary.")


def _permuted(layout: Layout, encoder: SetEncoder) -> tuple[SetEncoder, Layout]:
    """The same encoder with the attributes of every group in another order."""
    random = np.random.default_rng(0)
    groups, cells, attributes, cell, attribute = [], [], [], 0, 0
    for group in layout.groups:
        order = random.permutation(group.size)
        groups.append(group.reordered(order))
        of_cell = np.asarray(group.spread(jnp.arange(group.size)))
        cells += [cell + place for index in order for place in np.flatnonzero(of_cell == index)]
        attributes += (attribute + order).tolist()
        cell, attribute = cell + group.width, attribute + group.size
    parts = encoder.embedding[np.array(cells)], encoder.bias[np.array(attributes)]
    moved = eqx.tree_at(lambda e: (e.embedding, e.bias), encoder, parts)
    return moved, Layout(tuple(groups), layout.attributes)


def a_gap_adds_nothing(layout: Layout, encoder: SetEncoder, values: Array) -> None:
    """Law 6: an unobserved attribute adds exactly nothing, whatever value its cell holds."""
    for attribute in range(layout.attributes):
        observed = jnp.ones(layout.attributes, bool).at[attribute].set(False)
        before = _summary(encoder, layout, values, observed)
        after = _summary(encoder, layout, values.at[attribute].add(1.0), observed)
        hold(jnp.array_equal(before, after), 6, f"the value in the gap of attribute {attribute} changed the encoder.")
    empty = _summary(encoder, layout, values, jnp.zeros(layout.attributes, bool))
    hold((empty == 0).all(), 6, "with nothing observed the encoder's summary is not zero.")


def zero_is_not_a_gap(layout: Layout, encoder: SetEncoder) -> None:
    """Law 6: an observed zero is not the same as a gap."""
    zeros = jnp.zeros(layout.attributes)
    full = _summary(encoder, layout, zeros, jnp.ones(layout.attributes, bool))
    hold(bool((full != 0).any()), 6, "the encoder cannot distinguish a record of observed zeros from one of gaps.")
    for attribute in range(layout.attributes):
        observed = jnp.ones(layout.attributes, bool).at[attribute].set(False)
        less = _summary(encoder, layout, zeros, observed)
        hold(not jnp.array_equal(full, less), 6, f"an observed zero of attribute {attribute} looks like a gap.")


def encoders_of(model: Any) -> list[tuple[Layout, SetEncoder]]:
    """The set encoder of every member, with its layout; empty for a model without one."""
    networks = getattr(model, "networks", None)
    if networks is None:
        return []
    encoders = []
    for member in range(networks.count):
        arrays = jax.tree.map(lambda leaf, m=member: leaf[m], networks.arrays)
        network = eqx.combine(arrays, networks.shared)
        leaves = jax.tree.leaves(network, is_leaf=lambda leaf: isinstance(leaf, Layout | SetEncoder))
        layouts = [leaf for leaf in leaves if isinstance(leaf, Layout)]
        encoders += [(layouts[0], leaf) for leaf in leaves if isinstance(leaf, SetEncoder)]
    return encoders


def check_propensity(propensity: FittedPropensity) -> None:
    """Law 7: the probabilities of a row's actions sum to one, and that of the action taken is among them, above 0."""
    acted = propensity.actions >= 0
    taken = propensity.taken[acted]
    hold(((taken > 0) & (taken <= 1)).all(), 7, "a propensity of an action that was taken is not in (0, 1].")
    hold(np.isnan(propensity.taken[~acted]).all(), 7, "a row without an action has a propensity.")
    if propensity.probabilities is None:
        return
    sums = propensity.probabilities.sum(axis=1)
    hold(close(sums, np.ones_like(sums), 1e-9), 7, f"propensities sum to {sums.min()} … {sums.max()}, not to one.")
    of_action = propensity.probabilities[acted, propensity.actions[acted]]
    hold(close(of_action, taken, 1e-6), 7, "the propensity of the action taken is not its row's probability.")


def similarity_weights_sum_to_one(model: SimilarityModel, values: Array) -> None:
    """Law 7: with every reward 1 and every propensity 1, eq 12 gives one over all actions, its fractions one each."""
    logged = model.logged
    real = jnp.isfinite(logged.constants[0]).astype(logged.gain.dtype)
    ones = dataclasses.replace(model, logged=dataclasses.replace(logged, gain=real, share=real))
    for shares, fractions in zip(*_both(ones, _query(model, values)), strict=True):
        hold(close(shares.sum(), 1.0), 7, f"similarity weights sum to {float(shares.sum())}.")
        hold(close(fractions, np.ones(model.actions)), 7, f"self-normalised weights sum to {fractions.tolist()}.")


def streaming_equals_dense(model: SimilarityModel, values: Array) -> None:
    """Law 7: prices summed block by block are those of a dense softmax in float64; fractions lie within the rewards."""
    logged, query = model.logged, _query(model, values)
    gain, share = np.asarray(logged.gain, np.float64), np.asarray(logged.share, np.float64)
    rewards = gain[share > 0] / share[share > 0]
    low, high = rewards.min() - 1e-3, rewards.max() + 1e-3
    for keys, constants, shares, fractions in zip(logged.keys, logged.constants, *_both(model, query), strict=True):
        logits = np.asarray(keys, np.float64) @ np.asarray(query, np.float64) + np.asarray(constants, np.float64)
        blocks = [np.asarray(logged.action) == action for action in range(model.actions)]
        products = _softmax(logits) * gain
        _hold_dense(shares, [np.sum(products[b]) for b in blocks])
        # a softmax for each action: in the common one the weights of a dissimilar action may underflow
        weights = [_softmax(logits[b]) for b in blocks]
        dense = [np.sum(w * gain[b]) / np.sum(w * share[b]) for w, b in zip(weights, blocks, strict=True)]
        _hold_dense(fractions, dense)
        within = all(low <= price <= high for price in fractions.tolist())
        hold(within, 7, f"self-normalised prices {fractions.tolist()} leave the rewards, {low} to {high}.")


def _hold_dense(streamed: Array, dense: Sequence[float]) -> None:
    hold(close(dense, streamed, 1e-3), 7, f"streamed prices {streamed.tolist()} are not the dense {dense}.")


def _both(model: SimilarityModel, query: Array) -> tuple[Array, Array]:
    """Prices [member, action] by eq 12, and as fractions."""
    shares, fractions = (
        model.logged.prices(query[None], model.actions, form)[:, 0]
        for form in ("inverse_propensity", "self_normalised")
    )
    return shares, fractions


def _query(model: SimilarityModel, values: Array) -> Array:
    layout = model.networks.shared.layout
    return layout.statistics(layout.cells(values))


def _softmax(logits: np.ndarray) -> np.ndarray:
    raised = np.exp(logits - logits.max())
    return raised / raised.sum()
