"""The two blocks of GANITE: a generator and a discriminator each, written for one record."""

import abc
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, PRNGKeyArray

from experiments.rivals.initial_weights import with_weights
from prudent.networks.layers import Layers

Outcomes = Float[Array, " action"]


class Decision(NamedTuple):
    """One logged decision, or many: inputs and outcome standardised, the action one-hot."""

    inputs: Float[Array, "*rows column"]
    taken: Float[Array, "*rows action"]
    outcome: Float[Array, "*rows"]


class Block(eqx.Module):
    """A generator and the discriminator it plays against.

    `noise` is uniform in [-1, 1], a number per action for each generator in play.
    """

    generator: eqx.AbstractVar[Layers]
    discriminator: eqx.AbstractVar[Layers]

    @abc.abstractmethod
    def losses(self, record: Decision, noise: Float[Array, "2 action"]) -> tuple[Array, Array]:
        """What the generator should get right, and how badly the discriminator guesses."""

    @abc.abstractmethod
    def factual_error(self, record: Decision, noise: Float[Array, "2 action"]) -> Float[Array, ""]:
        """On a held-out record; zero where such a record says nothing."""


class CounterfactualBlock(Block):
    """G(x, a, y, noise) gives all outcomes; the discriminator guesses which one is the factual one."""

    generator: Layers
    discriminator: Layers

    def __init__(self, columns: int, actions: int, widths: tuple[int, ...], key: PRNGKeyArray):
        self.generator, self.discriminator = _pair(columns + 2 * actions + 1, columns, actions, actions, widths, key)

    def outcomes(self, record: Decision, noise: Outcomes) -> Outcomes:
        return self.generator(jnp.concatenate([record.inputs, record.taken, record.outcome[None], noise]))

    def completed(self, record: Decision, noise: Outcomes) -> Outcomes:
        """The logged outcome, and the generated ones of the other actions."""
        return jnp.where(record.taken > 0, record.outcome, self.outcomes(record, noise))

    def losses(self, record: Decision, noise: Float[Array, "2 action"]) -> tuple[Array, Array]:
        outcomes = self.outcomes(record, noise[0])
        supervised = jnp.sum(record.taken * (outcomes - record.outcome) ** 2)
        completed = jnp.where(record.taken > 0, record.outcome, outcomes)
        logits = self.discriminator(jnp.concatenate([record.inputs, completed]))
        return supervised, -jnp.sum(record.taken * jax.nn.log_softmax(logits))

    def factual_error(self, record: Decision, noise: Float[Array, "2 action"]) -> Float[Array, ""]:
        return jnp.zeros(())  # the factual outcome is one of the generator's inputs


class InferenceBlock(Block):
    """I(x, noise) gives all outcomes; the discriminator tells them from those that the first block completed."""

    generator: Layers
    discriminator: Layers
    teacher: CounterfactualBlock

    def __init__(
        self, teacher: CounterfactualBlock, columns: int, actions: int, widths: tuple[int, ...], key: PRNGKeyArray
    ):
        self.teacher = teacher
        self.generator, self.discriminator = _pair(columns + actions, columns, actions, 1, widths, key)

    def outcomes(self, inputs: Float[Array, " column"], noise: Outcomes) -> Outcomes:
        return self.generator(jnp.concatenate([inputs, noise]))

    def losses(self, record: Decision, noise: Float[Array, "2 action"]) -> tuple[Array, Array]:
        completed = jax.lax.stop_gradient(self.teacher.completed(record, noise[0]))
        outcomes = self.outcomes(record.inputs, noise[1])
        supervised = jnp.mean((outcomes - completed) ** 2)
        real = self.discriminator(jnp.concatenate([record.inputs, completed]))[0]
        fake = self.discriminator(jnp.concatenate([record.inputs, outcomes]))[0]
        return supervised, -jax.nn.log_sigmoid(real) - jax.nn.log_sigmoid(-fake)

    def factual_error(self, record: Decision, noise: Float[Array, "2 action"]) -> Float[Array, ""]:
        return jnp.sum(record.taken * (self.outcomes(record.inputs, noise[1]) - record.outcome) ** 2)


def _pair(
    inputs: int, columns: int, actions: int, guesses: int, widths: tuple[int, ...], key: PRNGKeyArray
) -> tuple[Layers, Layers]:
    """The generator [inputs -> outcomes], and the discriminator that sees a record and its outcomes."""
    first, second = jax.random.split(key)
    return (
        with_weights(lambda key: Layers(inputs, actions, widths, key=key), first),
        with_weights(lambda key: Layers(columns + actions, guesses, widths, key=key), second),
    )


@dataclass(frozen=True)
class Contest:
    """How long and how fast the two play; after each round their error on held-out records is measured."""

    rounds: int = 20
    steps_per_round: int = 100
    batch: int = 128
    learning_rate: float = 1e-3

    @property
    def optimiser(self) -> optax.GradientTransformation:
        schedule = optax.cosine_decay_schedule(self.learning_rate, self.rounds * self.steps_per_round)
        # one vector instead of many small arrays: half the program, and half the time to compile it
        return optax.flatten(optax.chain(optax.clip_by_global_norm(1.0), optax.adam(schedule, b1=0.5)))


class Played(NamedTuple):
    """The block with the least error on held-out records, and that error."""

    block: Any
    error: Float[Array, ""]


def play(block: Block, log: Decision, held: Decision, weight: Array, contest: Contest, key: PRNGKeyArray) -> Played:
    """Discriminator and generator in turn: one scan over steps inside one over rounds.

    The generator minimises what it should get right, less `weight` times the discriminator's loss.
    """
    rows, actions = log.taken.shape
    judging, key = jax.random.split(key)
    held_noise = jax.random.uniform(judging, (held.outcome.shape[0], 2, actions), minval=-1.0)

    def step(carry: Any, lots: Float[Array, "place lot"]) -> tuple[Any, None]:
        block, generator_state, discriminator_state = carry
        records = jax.tree.map(lambda column: column[(lots[:, 0] * rows).astype(int)], log)
        noise = (2 * lots[:, 1:] - 1).reshape(-1, 2, actions)

        def losses(block: Block) -> tuple[Array, Array]:
            supervised, guessing = jax.vmap(block.losses)(records, noise)
            return jnp.mean(supervised), jnp.mean(guessing)

        def guessing(discriminator: Layers) -> Array:
            return losses(eqx.tree_at(lambda b: b.discriminator, block, discriminator))[1]

        discriminator, discriminator_state = _moved(contest, guessing, block.discriminator, discriminator_state)
        block = eqx.tree_at(lambda b: b.discriminator, block, discriminator)

        def generating(generator: Layers) -> Array:
            supervised, guessing = losses(eqx.tree_at(lambda b: b.generator, block, generator))
            return supervised - weight * guessing

        generator, generator_state = _moved(contest, generating, block.generator, generator_state)
        return (eqx.tree_at(lambda b: b.generator, block, generator), generator_state, discriminator_state), None

    def a_round(carry: Any, key: PRNGKeyArray) -> tuple[Any, None]:
        playing, best = carry
        lots = jax.random.uniform(key, (contest.steps_per_round, contest.batch, 1 + 2 * actions))
        playing, _ = jax.lax.scan(step, playing, lots)
        error = jnp.mean(jax.vmap(playing[0].factual_error)(held, held_noise))
        better = error <= best.error
        kept = jax.tree.map(lambda new, old: jnp.where(better, new, old), playing[0], best.block)
        return (playing, Played(kept, jnp.where(better, error, best.error))), None

    networks: tuple[Any, Any] = block.generator, block.discriminator
    begun = [contest.optimiser.init(network) for network in networks]
    start = ((block, *begun), Played(block, jnp.full((), jnp.inf, jnp.float32)))
    return jax.lax.scan(a_round, start, jax.random.split(key, contest.rounds))[0][1]


def _moved(contest: Contest, loss: Callable[[Layers], Array], network: Layers, state: Any) -> tuple[Layers, Any]:
    updates, state = contest.optimiser.update(jax.grad(loss)(network), state)
    return eqx.apply_updates(network, updates), state
