"""GANITE for any number of actions."""

from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from experiments.rivals.actions.ganite_blocks import (
    Contest,
    CounterfactualBlock,
    Decision,
    InferenceBlock,
    Outcomes,
    Played,
    play,
)
from prudent.errors import Rule, check, is_number, number, whole
from prudent.networks import quasi_random, use_compilation_cache
from prudent.rivals import (
    Completed,
    FittedRival,
    Imputation,
    LoggedDecisions,
    MeanImputation,
    beside_gaps,
    gap_choices,
    mean_over_completions,
)

CHUNK = 256  # rows priced at once, a fixed number: a price must not depend on the other rows
HELD_OUT = 7  # one row in seven
TOLERATED = 1.5  # a contest whose held-out error is larger than this many times the least has failed
_RULES = {
    "alphas": Rule(
        "be one or more numbers of at least 0",
        lambda alphas: len(alphas) > 0 and all(is_number(alpha) and alpha >= 0 for alpha in alphas),
    ),
    "beta": number(0),
    "noises": whole(1),
}


@dataclass(frozen=True)
class GANITE:
    """Generative adversarial nets for individual effects (Yoon, Jordon, van der Schaar 2018, ICLR), any actions.

    First a generator G(x, a, y, noise) learns to complete the outcomes of a logged decision, so that a discriminator
    cannot say which of them is the factual one; then I(x, noise) learns to give such completed outcomes from the
    attributes alone, against another discriminator. `alphas` and `beta` weigh the adversaries in the two blocks;
    I is kept as it was when it predicted held-out outcomes best. Prices are means over `noises` draws of the noise.

    Two things are in the rival's favour. Such contests end differently from one time to the next, so there is one for
    each of the `alphas`, and prices are averaged over those that predict held-out outcomes about as well as the best
    of them: on three development worlds that went further than any single choice of alpha, and than the best contest
    alone. And where gaps were filled, columns that mark them are added.
    """

    imputation: Imputation = MeanImputation()
    alphas: tuple[float, ...] = (0.3, 0.5, 1.0, 2.0)
    beta: float = 1.0
    widths: tuple[int, ...] = (64, 64)
    counterfactual: Contest = Contest(rounds=50)
    inference: Contest = Contest(rounds=20)
    noises: int = 16

    def __post_init__(self) -> None:
        check("GANITE", _RULES, vars(self))

    def fit(self, log: LoggedDecisions, seed: int = 0) -> FittedRival:
        use_compilation_cache()
        completed = self.imputation.fit(log.values, log.categorical, seed)
        with_gaps = any(gap_choices(self.imputation, log.gaps))
        scales = _Scales.of(log, completed, with_gaps)
        learnt = self._learnt(scales.records(log, completed, with_gaps), seed)
        serving = learnt.error <= TOLERATED * jnp.min(learnt.error, axis=1, keepdims=True)
        noises = jnp.asarray(2 * quasi_random(self.noises, int(log.seen.sum()), seed) - 1)

        def price(k: int, table: np.ndarray) -> np.ndarray:
            blocks = jax.tree.map(lambda leaf: leaf[k], learnt.block)
            prices = np.full((len(table), log.n_actions), -np.inf)
            prices[:, log.seen] = scales.restore(_in_chunks(blocks, serving[k], scales.inputs(table), noises))
            return prices

        return FittedRival(lambda new: mean_over_completions(completed, new, with_gaps, price))

    def _learnt(self, records: Decision, seed: int) -> Played:
        """Second blocks and their held-out errors, [imputation, alpha]."""
        imputations, rows, columns = records.inputs.shape
        order = np.random.default_rng(seed).permutation(rows)
        held, kept = np.split(order, [max(rows // HELD_OUT, 1)])
        log, judged = (jax.tree.map(lambda column, rows=rows: column[:, rows], records) for rows in (kept, held))
        keys = jax.random.split(jax.random.key(seed, impl="unsafe_rbg"), (2, imputations, len(self.alphas)))
        sizes = (columns, records.taken.shape[2], self.widths)
        first = _counterfactual(log, judged, jnp.array(self.alphas), sizes, self.counterfactual, keys[0])
        return _inference(first.block, log, judged, jnp.float32(self.beta), sizes, self.inference, keys[1])


@dataclass(frozen=True)
class _Scales:
    """Networks see standardised columns and rewards; prices leave in the log's units."""

    centre: np.ndarray
    spread: np.ndarray
    mean: float
    scale: float

    @classmethod
    def of(cls, log: LoggedDecisions, completed: list[Completed], with_gaps: bool) -> "_Scales":
        table = np.concatenate([beside_gaps(one.log, log.gaps, with_gaps) for one in completed])
        spread, scale = table.std(axis=0), float(log.rewards.std())
        return cls(
            table.mean(axis=0), np.where(spread > 1e-9, spread, 1.0), float(log.rewards.mean()), max(scale, 1e-9)
        )

    def inputs(self, table: np.ndarray) -> np.ndarray:
        return ((table - self.centre) / self.spread).astype(np.float32)

    def restore(self, outcomes: np.ndarray) -> np.ndarray:
        return self.mean + self.scale * outcomes

    def records(self, log: LoggedDecisions, completed: list[Completed], with_gaps: bool) -> Decision:
        """[imputation, row, …]; the actions are those that the log took."""
        inputs = np.stack([self.inputs(beside_gaps(one.log, log.gaps, with_gaps)) for one in completed])
        taken = np.eye(len(log.seen), dtype=np.float32)[:, log.seen][log.actions]
        outcome = ((log.rewards - self.mean) / self.scale).astype(np.float32)
        times = len(completed)
        return Decision(jnp.asarray(inputs), jnp.stack([taken] * times), jnp.stack([outcome] * times))


Sizes = tuple[int, int, tuple[int, ...]]


@eqx.filter_jit
def _counterfactual(
    log: Decision, held: Decision, alphas: Array, sizes: Sizes, contest: Contest, keys: PRNGKeyArray
) -> Played:
    """A block for each imputation and each weight of its adversary."""

    def block(log: Decision, held: Decision, alpha: Array, key: PRNGKeyArray) -> Played:
        block_key, play_key = jax.random.split(key)
        return play(CounterfactualBlock(*sizes, block_key), log, held, alpha, contest, play_key)

    return jax.vmap(jax.vmap(block, (None, None, 0, 0)), (0, 0, None, 0))(log, held, alphas, keys)


@eqx.filter_jit
def _inference(
    teachers: CounterfactualBlock,
    log: Decision,
    held: Decision,
    beta: Array,
    sizes: Sizes,
    contest: Contest,
    keys: PRNGKeyArray,
) -> Played:
    """A block for each of the first ones."""

    def block(teacher: CounterfactualBlock, log: Decision, held: Decision, key: PRNGKeyArray) -> Played:
        block_key, play_key = jax.random.split(key)
        return play(InferenceBlock(teacher, *sizes, block_key), log, held, beta, contest, play_key)

    return jax.vmap(jax.vmap(block, (0, None, None, 0)))(teachers, log, held, keys)


def _in_chunks(
    blocks: InferenceBlock, serving: Array, inputs: np.ndarray, noises: Float[Array, "noise action"]
) -> np.ndarray:
    """Expected outcomes [row, action]; the last chunk is padded with its last row."""
    chunks = [np.zeros((0, noises.shape[1]))]
    for start in range(0, len(inputs), CHUNK):
        rows = np.minimum(np.arange(start, start + CHUNK), len(inputs) - 1)
        chunks.append(np.asarray(_expected(blocks, serving, jnp.asarray(inputs[rows]), noises), np.float64))
    return np.concatenate(chunks)[: len(inputs)]


@eqx.filter_jit
def _expected(blocks: InferenceBlock, serving: Array, inputs: Array, noises: Array) -> Float[Array, "row action"]:
    """Means over the noise, and over the blocks whose contest did not fail (`serving`)."""

    def mean(record: Float[Array, " column"]) -> Outcomes:
        outcomes = jax.vmap(lambda block: jax.vmap(lambda noise: block.outcomes(record, noise))(noises))(blocks)
        return jnp.mean(jnp.mean(outcomes, axis=1), axis=0, where=serving[:, None])

    return jax.vmap(mean)(inputs)
