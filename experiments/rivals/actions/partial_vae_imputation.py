"""Multiple imputation by the package's partial VAE (paper III-A)."""

from dataclasses import dataclass, field
from functools import lru_cache, partial
from hashlib import sha256

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from prudent.errors import check, whole
from prudent.models import FeatureLoss, PartialVAE, Sizes
from prudent.networks import Members, Training, layout_of, quasi_random, train
from prudent.rivals import DRAWS, Completed, Numeric
from prudent.table import Column, Schema

CHUNK = 256  # rows completed at once, a fixed number: completions must not depend on the other rows
REMEMBERED = 4  # trained networks in memory, since several rivals complete the same table
HIDDEN = 0.1  # the share of cells hidden from the encoder in training


@dataclass(frozen=True)
class PartialVAEImputation:
    """Gaps are drawn from p(x|x̃) of a partial VAE that was fitted to the records of the log.

    Draws come from `points` importance samples, by resampling in proportion to their weights. Each row of the log has
    its own random numbers; new records share theirs, so that one alone is completed as it is in a batch. Numbers
    are modelled as Gaussian given the latent variables; a category that the log never held counts as missing.
    """

    imputations: int = 5
    samples: int = 20
    points: int = 64
    sizes: Sizes = Sizes()
    training: Training = Training()

    def __post_init__(self) -> None:
        check("PartialVAEImputation", dict.fromkeys(("imputations", "samples", "points"), whole(1)), vars(self))

    @property
    def marks_gaps(self) -> bool:
        return True

    def fit(self, values: np.ndarray, categorical: np.ndarray, seed: int) -> list[Completed]:
        numeric, code = Numeric.of(values, categorical), _Code.of(values, categorical)
        if not code.varying.any() or not np.isnan(values).any():
            table = numeric(code.filled(values))
            return [Completed(table, lambda new: [numeric(code.filled(new))])]
        networks = _trained(self, _Encoded.of(code, values), seed)
        points = jnp.asarray(quasi_random(self.points, networks.shared.draw_size, seed))
        keys = jax.random.split(jax.random.key(seed), self.imputations + 1)

        def completed(new: np.ndarray, draws: int, key: Array, alike: bool) -> list[np.ndarray]:
            row_keys = jnp.broadcast_to(key, len(new)) if alike else jax.random.split(key, len(new))
            encoded = _in_chunks(networks, *code.encode(new), row_keys, points, draws)
            return [numeric(code.decode(encoded[:, draw], new)) for draw in range(draws)]

        def draws(new: np.ndarray, key: Array) -> list[np.ndarray]:
            return completed(new, DRAWS, key, alike=True)

        logs = completed(values, self.imputations, keys[-1], alike=False)
        return [Completed(log, partial(draws, key=key)) for log, key in zip(logs, keys[:-1], strict=True)]


@dataclass(frozen=True)
class _Code:
    """Between a rival's values and those of the networks: columns that vary, numbers standardised, levels counted."""

    varying: np.ndarray
    schema: Schema
    levels: tuple[np.ndarray, ...]  # of the varying columns; empty for numbers
    constants: np.ndarray

    @classmethod
    def of(cls, values: np.ndarray, categorical: np.ndarray) -> "_Code":
        known = [np.unique(column[~np.isnan(column)]) for column in values.T]
        varying = np.array([len(values) > 1 for values in known])
        columns, levels = [], []
        for at in np.flatnonzero(varying):
            if categorical[at]:
                columns.append(Column(f"x{at}", "categorical", tuple(f"{level:g}" for level in known[at])))
                levels.append(known[at])
            else:
                centre, spread = float(np.nanmean(values[:, at])), float(np.nanstd(values[:, at]))
                columns.append(Column(f"x{at}", "real", location=centre, scale=spread))
                levels.append(np.zeros(0))
        constants = np.array([values[0] if len(values) else 0.0 for values in known])
        return cls(varying, Schema(tuple(columns)), tuple(levels), constants)

    def encode(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Encoded values (0 in gaps) and what is observed, of the columns that vary."""
        cells = values[:, self.varying]
        observed = ~np.isnan(cells)
        encoded = np.where(observed, cells, 0.0)
        for at, (column, levels) in enumerate(zip(self.schema.columns, self.levels, strict=True)):
            if len(levels):
                index = np.searchsorted(levels, encoded[:, at]).clip(max=len(levels) - 1)
                observed[:, at] &= levels[index] == cells[:, at]
                encoded[:, at] = index
            else:
                encoded[:, at] = (encoded[:, at] - column.location) / column.scale
        return np.where(observed, encoded, 0.0).astype(np.float32), observed

    def decode(self, encoded: np.ndarray, given: np.ndarray) -> np.ndarray:
        """Completed values in the rival's units; observed cells stay, to the last bit."""
        observed = self.encode(given)[1]
        filled = self.filled(given)
        for at, place in enumerate(np.flatnonzero(self.varying)):
            column, levels = self.schema.columns[at], self.levels[at]
            codes = encoded[:, at].astype(np.float64)
            drawn = levels[codes.astype(int)] if len(levels) else column.location + column.scale * codes
            filled[:, place] = np.where(observed[:, at], given[:, place], drawn)
        return filled

    def filled(self, values: np.ndarray) -> np.ndarray:
        """Gaps filled with their column's first value: for columns that never vary, and where no network is needed."""
        return np.where(np.isnan(values), self.constants, values)


@dataclass(frozen=True)
class _Encoded:
    """A table as the networks see it, equal to another by a digest of what it holds."""

    schema: Schema
    digest: str
    values: np.ndarray = field(compare=False)
    observed: np.ndarray = field(compare=False)

    @classmethod
    def of(cls, code: _Code, values: np.ndarray) -> "_Encoded":
        encoded, observed = code.encode(values)
        return cls(code.schema, sha256(encoded.tobytes() + observed.tobytes()).hexdigest(), encoded, observed)


@lru_cache(maxsize=REMEMBERED)
def _trained(settings: PartialVAEImputation, table: _Encoded, seed: int) -> Members:
    sizes = settings.sizes.of(table.schema)
    return train(
        lambda key: PartialVAE(layout_of(table.schema), **sizes, key=key),
        FeatureLoss(HIDDEN),
        {"values": table.values, "observed": table.observed},
        points=quasi_random(settings.samples, sizes["latent"] + len(table.schema), seed),
        training=settings.training,
        members=1,
        seed=seed,
        progress=False,
    ).networks


def _in_chunks(
    networks: Members, values: np.ndarray, observed: np.ndarray, keys: Array, points: Array, draws: int
) -> np.ndarray:
    """Completions [row, draw, attribute]; the last chunk is padded with its last row."""
    chunks = []
    for start in range(0, len(values), CHUNK):
        rows = np.minimum(np.arange(start, start + CHUNK), len(values) - 1)
        records = (jnp.asarray(values[rows]), jnp.asarray(observed[rows]), keys[rows])
        chunks.append(_drawn(networks, *records, points, draws))
    return np.concatenate(chunks)[: len(values)]


@eqx.filter_jit
def _drawn(
    networks: Members, values: Array, observed: Array, keys: Array, points: Array, draws: int
) -> Float[Array, "row draw attribute"]:
    def completed(network: PartialVAE, cells: Array, seen: Array, key: Array) -> Array:
        shift_key, lot_key = jax.random.split(key)
        shift = jax.random.uniform(shift_key, (1, points.shape[1]))
        # a random shift of the same quasi-random points: better spread than fresh draws
        samples = network.sample(cells, seen, seen, jnp.clip((points + shift) % 1.0, 1e-6, 1 - 1e-6))
        share = jnp.cumsum(jax.nn.softmax(samples.log_weights))
        lots = (jnp.arange(draws) + jax.random.uniform(lot_key, (draws,))) / draws
        chosen = jnp.minimum(jnp.searchsorted(share, lots), len(points) - 1)
        return jax.vmap(network.layout.values)(jax.tree.map(lambda drawn: drawn[chosen], samples.cells))

    return networks.each(lambda network: jax.vmap(lambda *row: completed(network, *row))(values, observed, keys))[0]
