"""The causal effect variational autoencoder (CEVAE), one for each replication, trained together."""

from dataclasses import dataclass, field

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import ndtri
from jaxtyping import Array, Float, PRNGKeyArray

from experiments.rivals.effects.network_inputs import (
    Columns,
    Tables,
    bernoulli_log_prob,
    chunks,
    normal_log_prob,
)
from experiments.rivals.effects.study import Answer, Progress, Study
from experiments.rivals.initial_weights import with_weights
from prudent.errors import check, whole
from prudent.networks import Members, Training, quasi_random, train
from prudent.progress import reporting, tracked

LOG_SCALE = (-3.0, 3.0)

Latent = Float[Array, " latent"]


def elu(value: Array) -> Array:
    """jax.nn.elu without expm1, which would take most of the time on a CPU."""
    return jnp.where(value > 0, value, jnp.exp(jnp.minimum(value, 0.0)) - 1.0)


def _network(inputs: int, outputs: int, width: int, depth: int, key: PRNGKeyArray) -> eqx.nn.MLP:
    return eqx.nn.MLP(inputs, outputs, width, depth, activation=elu, key=key)


class Arms(eqx.Module):
    """A network for each arm (control, treated), as in TARnet (Shalit, Johansson, Sontag 2017)."""

    control: eqx.nn.MLP
    treated: eqx.nn.MLP

    def __init__(self, inputs: int, outputs: int, width: int, depth: int, *, key: PRNGKeyArray):
        first, second = jax.random.split(key)
        self.control = _network(inputs, outputs, width, depth, first)
        self.treated = _network(inputs, outputs, width, depth, second)

    def __call__(self, inputs: Float[Array, " input"]) -> Float[Array, "2 output"]:
        return jnp.stack([self.control(inputs), self.treated(inputs)])


def of_arm(treated: Array, arms: Array) -> Array:
    """The entry of the arm that was given: for many networks at once a choice is cheaper than a look-up."""
    return jnp.where(treated > 0, arms[1], arms[0])


class CausalEffectNetwork(eqx.Module):
    """p(z) p(x|z) p(t|z) p(y|t,z), the encoder q(z|x,t,y), and the guesses q(t|x) and q(y|x,t). For one record."""

    attributes: eqx.nn.MLP
    treatment: eqx.nn.MLP
    outcome: Arms
    encoder_trunk: eqx.nn.MLP
    encoder: Arms
    guessed_treatment: eqx.nn.MLP
    guess_trunk: eqx.nn.MLP
    guessed_outcome: Arms
    log_noise: Float[Array, " 2"]
    guessed_log_noise: Float[Array, " 2"]
    binary: tuple[bool, ...] = eqx.field(static=True)

    def __init__(self, binary: tuple[bool, ...], *, latent: int, width: int, depth: int, key: PRNGKeyArray):
        keys = jax.random.split(key, 8)
        size = len(binary)
        self.binary = binary
        self.attributes = _network(latent, 2 * size, width, depth, keys[0])
        self.treatment = _network(latent, 1, width, 1, keys[1])
        self.outcome = Arms(latent, 1, width, depth, key=keys[2])
        self.encoder_trunk = _network(size + 1, width, width, depth - 1, keys[3])
        self.encoder = Arms(width, 2 * latent, width, 1, key=keys[4])
        self.guessed_treatment = _network(size, 1, width, 1, keys[5])
        self.guess_trunk = _network(size, width, width, depth - 1, keys[6])
        self.guessed_outcome = Arms(width, 1, width, 1, key=keys[7])
        self.log_noise, self.guessed_log_noise = jnp.zeros(2), jnp.zeros(2)

    def posterior(self, record: Columns) -> tuple[Latent, Latent]:
        """Mean and log-scale of q(z|x,t,y)."""
        trunk = elu(self.encoder_trunk(jnp.append(record["inputs"], record["outcome"])))
        mean, log_scale = jnp.split(of_arm(record["treated"], self.encoder(trunk)), 2)
        return mean, jnp.clip(log_scale, *LOG_SCALE)

    def log_joint(self, record: Columns, latent: Latent) -> Float[Array, ""]:
        """log p(x, t, y | z)."""
        treated, target = record["treated"], record["targets"]
        location, log_scale = jnp.split(self.attributes(latent), 2)
        numbers = normal_log_prob(target, location, jnp.exp(jnp.clip(log_scale, *LOG_SCALE)))
        cells = jnp.where(jnp.array(self.binary), bernoulli_log_prob(target, location), numbers)
        expected, noise = of_arm(treated, self.outcome(latent)[:, 0]), jnp.exp(of_arm(treated, self.log_noise))
        outcome = normal_log_prob(record["outcome"], expected, noise)
        return jnp.sum(cells) + bernoulli_log_prob(treated, self.treatment(latent)[0]) + outcome

    def log_guess(self, record: Columns) -> Float[Array, ""]:
        """log q(t|x) + log q(y|x,t)."""
        treated = record["treated"]
        expected = of_arm(treated, self.guessed_outcome(elu(self.guess_trunk(record["inputs"])))[:, 0])
        outcome = normal_log_prob(record["outcome"], expected, jnp.exp(of_arm(treated, self.guessed_log_noise)))
        return outcome + bernoulli_log_prob(treated, self.guessed_treatment(record["inputs"])[0])

    def expected_outcomes(self, record: Columns, normals: Float[Array, "sample latent"]) -> Float[Array, " 2"]:
        """E[y | do(t)] of both arms: the mean over z ~ q(z|x,t,y) at the observed treatment and outcome."""
        mean, log_scale = self.posterior(record)
        latents = mean[None, :] + jnp.exp(log_scale)[None, :] * normals
        return jnp.mean(jax.vmap(self.outcome)(latents)[:, :, 0], axis=0)


def bound(network: CausalEffectNetwork, records: Columns, uniforms: Array, hiding: Array) -> tuple[Array, Array]:
    """The evidence lower bound plus the guesses' log-likelihood, to maximise; judged by the bound alone."""
    return jax.vmap(lambda record, points: _bound(network, record, points))(records, uniforms)


def _bound(network: CausalEffectNetwork, record: Columns, uniforms: Array) -> tuple[Array, Array]:
    mean, log_scale = network.posterior(record)
    latents = mean[None, :] + jnp.exp(log_scale)[None, :] * ndtri(uniforms)
    fit = jnp.mean(jax.vmap(lambda latent: network.log_joint(record, latent))(latents))
    evidence = fit - 0.5 * jnp.sum(mean**2 + jnp.exp(2 * log_scale) - 1 - 2 * log_scale)
    return -(evidence + network.log_guess(record)), evidence


@eqx.filter_jit
def _prices(networks: Members, shared: Columns, separate: Columns, normals: Array) -> Float[Array, "member row 2"]:
    def member(network: CausalEffectNetwork, separate: Columns) -> Float[Array, "row 2"]:
        # row by row: the draws of one row, for all networks at once, fill time and memory
        return jax.lax.map(lambda record: network.expected_outcomes(record, normals), shared | separate)

    return networks.each(member, separate)


@dataclass(frozen=True)
class CausalEffectVAE:
    """CEVAE (Louizos, Shalit, Mooij, Sontag, Zemel, Welling 2017, NeurIPS) on mean-imputed attributes.

    Every replication has its own network, and `chunk` of them are trained at once; their answers do not depend on each
    other. In-sample, the treatment and the outcome are known, so z is drawn from q(z|x,t,y) at their observed
    values; with the authors' guesses instead, effects on development replications were the same and prices a little
    worse. The sizes (the authors: three layers of 200) and the learning rate are the best of about ten tried on 16 to
    30 development replications, too few to tell close ones apart. `samples` are the draws of z in the bound, `draws`
    those behind the prices.
    """

    latent: int = 20
    width: int = 128
    depth: int = 2
    samples: int = 1
    draws: int = 64
    chunk: int = 100
    # patience lasts for all rounds: how long one network learns must not depend on when the others stop improving
    training: Training = field(
        default_factory=lambda: Training(learning_rate=1e-3, rounds=30, steps_per_round=30, patience=30)
    )

    def __post_init__(self) -> None:
        sizes = ("latent", "width", "depth", "samples", "draws", "chunk")
        check("CausalEffectVAE", dict.fromkeys(sizes, whole(1)), vars(self))

    def estimate(self, study: Study, seed: int = 0, progress: Progress | bool | None = None) -> dict[str, Answer]:
        parts = chunks(study, self.chunk)
        with reporting(progress):
            prices = [
                self._prices(parts[at].study, seed + at)[: parts[at].genuine]
                for at in tracked(len(parts), "replications")
            ]
        return {"": Answer.of_prices(np.concatenate(prices))}

    def _prices(self, study: Study, seed: int) -> np.ndarray:
        """What every row would earn in each arm, [replication, row, 2], with one network for each replication."""
        mean, spread = study.outcomes.mean(axis=1, keepdims=True), study.outcomes.std(axis=1, keepdims=True)
        spread = np.where(spread > 0, spread, 1.0)
        shared, separate = Tables.of(study).columns()
        shared = shared | {"treated": study.treated.astype(np.float32)}
        separate = separate | {"outcome": ((study.outcomes - mean) / spread).astype(np.float32)}
        networks = self._fit(tuple(study.binary.tolist()), shared, separate, seed)
        normals = ndtri(jnp.asarray(quasi_random(self.draws, self.latent, seed + 1)))
        prices = np.asarray(_prices(networks, shared, separate, normals), np.float64)
        return mean[:, :, None] + spread[:, :, None] * prices

    def _fit(self, binary: tuple[bool, ...], shared: Columns, separate: Columns, seed: int) -> Members:
        def make(key: PRNGKeyArray) -> CausalEffectNetwork:
            sizes = {"latent": self.latent, "width": self.width, "depth": self.depth}
            return with_weights(lambda key: CausalEffectNetwork(binary, **sizes, key=key), key)

        trained = train(
            make,
            bound,
            shared,
            points=quasi_random(self.samples, self.latent, seed),
            training=self.training,
            members=len(separate["outcome"]),
            seed=seed,
            per_member=separate,
            progress=False,
        )
        return trained.networks
