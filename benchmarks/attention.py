"""SPVAE as attention: all logged rows against many queries, beside the products alone and a float64 reference.

    python -m benchmarks.attention

Results are kept per device, by the name that JAX gives it. The ways take turns, and the fastest turn of each counts.
"""

import json
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.reporting import Benchmark, Stored, Table
from prudent.models import attention, attention_kernel
from prudent.models.attention import Rows, Sums, attend, streamed

ATTRIBUTES, ACTIONS, BLOCK, LATENT = 25, 10, 256, 5
SIZES = {"cpu": (100_000, 16_384), "gpu": (1_000_000, 100_000)}
"""Logged rows and queries."""
SCALES = {"ordinary": (0.2, 0.8), "sharp": (0.02, 0.1)}
"""Of the decoded Gaussians, in standard deviations of an attribute: a logit's terms are below 100, or many thousand."""
CHECKED, ROUNDS = 64, 5
SQUARE = {"cpu": 2048, "gpu": 8192}
LABELS = {"attention": "attention", "plain": "without the fused kernel", "products": "products alone"}

Way = Callable[[jax.Array, Rows], jax.Array]


def problem(logged: int, queries: int, scales: tuple[float, float]) -> tuple[jax.Array, Rows]:
    """Gaussian rows around a few latent causes, and records that are like them."""
    random = np.random.default_rng(0)
    loadings = random.normal(size=(LATENT, ATTRIBUTES)) / np.sqrt(LATENT)
    noise = random.uniform(*scales, ATTRIBUTES)
    each = logged // ACTIONS
    blocks = -(-each // BLOCK)
    real = np.tile(np.arange(blocks * BLOCK) < each, ACTIONS).reshape(-1, BLOCK)
    latent = random.normal(size=(real.size, LATENT))
    mean = latent @ loadings
    precision = (noise * random.uniform(0.8, 1.25, mean.shape)) ** -2
    constant = np.sum(-0.5 * mean**2 * precision + 0.5 * np.log(precision), axis=1)
    share = np.where(real, 1 / random.uniform(0.05, 0.3, real.shape), 0.0)
    action = np.repeat(np.arange(ACTIONS), blocks)
    reward = latent[:, 0].reshape(real.shape) * (action[:, None] - 4.5) / 5 + random.normal(size=real.shape)
    records = random.normal(size=(queries, LATENT)) @ loadings + noise * random.normal(size=(queries, ATTRIBUTES))
    rows = Rows.of(
        jnp.asarray(_pairs(-0.5 * precision, mean * precision).reshape(*real.shape, -1), jnp.float32),
        jnp.asarray(np.where(real, constant.reshape(real.shape), -np.inf), jnp.float32),
        jnp.asarray(np.stack([share * reward, share], axis=-1), jnp.float32),
        jnp.asarray(action, jnp.int32),
        ACTIONS,
    )
    return jnp.asarray(_pairs(records**2, records), jnp.float32), rows


def _pairs(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    return np.stack([one, other], axis=2).reshape(len(one), -1)


def exact(queries: jax.Array, rows: Rows) -> np.ndarray:
    """Prices in float64, an action at a time."""
    prices = []
    for start, end in zip(rows.first[:-1], rows.first[1:], strict=True):
        keys, constants, values = (np.asarray(part[start:end], np.float64) for part in rows[:3])
        logits = np.asarray(queries, np.float64) @ keys.reshape(-1, keys.shape[2]).T + constants.reshape(-1)
        totals = np.exp(logits - logits.max(axis=1, keepdims=True)) @ values.reshape(-1, 2)
        prices.append(totals[:, 0] / totals[:, 1])
    return np.stack(prices, axis=1)


def prices(queries: jax.Array, rows: Rows) -> jax.Array:
    return attend(queries, rows).over_own()


def plain(queries: jax.Array, rows: Rows) -> jax.Array:
    """Without the fused kernel."""
    return Sums(*attention._plain(streamed)((queries,), rows)).over_own()


def products(queries: jax.Array, rows: Rows) -> jax.Array:
    """The logits alone, in the same tiles: what any way must compute."""

    def of_part(queries: jax.Array, rows: Rows) -> jax.Array:
        def block(highest: jax.Array, keys: jax.Array) -> tuple[jax.Array, None]:
            return jnp.maximum(highest, attention._product(keys, queries.T)[0]), None

        return jax.lax.scan(block, jnp.zeros(queries.shape[0]), rows.keys)[0]

    return attention._plain(of_part)((queries,), rows)


def square(size: int) -> Callable[[], jax.Array]:
    """A large product, for the rate that the machine reaches in float32."""
    one = jnp.asarray(np.random.default_rng(0).normal(size=(size, size)), jnp.float32)
    multiply = jax.jit(lambda one: attention._product(one, one))
    return lambda: multiply(one)


def in_turns(ways: dict[str, Callable[[], jax.Array]]) -> dict[str, float]:
    seconds = dict.fromkeys(ways, np.inf)
    for round in range(ROUNDS + 1):
        for name, way in ways.items():
            start = time.perf_counter()
            jax.block_until_ready(way())
            if round:  # the first compiles
                seconds[name] = min(seconds[name], time.perf_counter() - start)
    return seconds


def errors(way: Way, problems: dict[str, tuple[jax.Array, Rows]], right: dict[str, np.ndarray]) -> dict[str, Any]:
    """How far prices are off: as a share of their norm, and the largest in standard deviations of prices."""
    run, found = jax.jit(way), {}
    for name, (queries, rows) in problems.items():
        apart = np.asarray(run(queries, rows), np.float64)[:CHECKED] - right[name]
        relative = np.linalg.norm(apart) / np.linalg.norm(right[name])
        found[name] = {"relative": float(relative), "largest": float(np.abs(apart).max() / right[name].std())}
    return found


def measured() -> dict[str, Any]:
    machine = "cpu" if jax.default_backend() == "cpu" else "gpu"
    (logged, queries), size = SIZES[machine], SQUARE[machine]
    problems = {name: problem(logged, queries, scales) for name, scales in SCALES.items()}
    right = {name: exact(asked[:CHECKED], rows) for name, (asked, rows) in problems.items()}
    is_fused = attention._runs_fused()
    ways: dict[str, Way] = {"attention": prices, "products": products, **({"plain": plain} if is_fused else {})}
    compiled = {name: jax.jit(way) for name, way in ways.items()}
    timed = {name: lambda way=way: way(*problems["ordinary"]) for name, way in compiled.items()}
    seconds = in_turns({**timed, "square": square(size)})
    operations = dict.fromkeys(ways, 4.0 * logged * queries * ATTRIBUTES) | {"square": 2.0 * size**3}
    result = {
        "logged": logged,
        "queries": queries,
        "seconds": seconds,
        "gigaflops": {name: count / seconds[name] / 1e9 for name, count in operations.items()},
        "errors": {name: errors(ways[name], problems, right) for name in ways if name != "products"},
    }
    return result | ({"by_products": by_products(problems, right)} if is_fused else {})


def by_products(problems: dict[str, tuple[jax.Array, Rows]], right: dict[str, np.ndarray]) -> dict[str, Any]:
    """The fused kernel with all six products of bfloat16 pieces, the three largest, or one."""
    every, found = attention_kernel.PRODUCTS, {}
    for count in (6, 3, 1):
        attention_kernel.PRODUCTS = every[-count:]
        way = jax.jit(lambda queries, rows: Sums(*attention._fused((queries,), rows)).over_own())
        seconds = in_turns({"way": lambda way=way: way(*problems["ordinary"])})["way"]
        found[str(count)] = {"seconds": seconds, "errors": errors(way, problems, right)}
    attention_kernel.PRODUCTS = every
    return found


def attention_table(stored: Stored) -> Table:
    lines = []
    for device, own in stored["devices"].items():
        size = f"{own['logged']:,} × {own['queries']:,}"
        for name, label in LABELS.items():
            if name not in own["seconds"]:
                continue
            rate, whole = own["gigaflops"][name], own["gigaflops"]["square"]
            off = f"{own['errors'][name]['ordinary']['relative']:.0e}" if name in own["errors"] else "–"
            speed = f"{own['seconds'][name]:.3f}", f"{rate:,.0f}", f"{rate / whole:.0%}"
            lines.append((device, size, label, *speed, off))
    return Table(
        ("device", "rows × queries", "computed", "seconds", "GFLOP/s", "of a square product's", "relative error"),
        lines,
        f"SPVAE as attention, {ATTRIBUTES} attributes, {ACTIONS} actions",
    )


BENCHMARK = Benchmark("attention", {"attention": attention_table})


def main() -> None:
    options = BENCHMARK.parser(__doc__).parse_args()
    devices = json.loads(options.out.read_text())["devices"] if options.out.exists() else {}
    device = jax.devices()[0].device_kind
    BENCHMARK.store({"devices": {**devices, device: measured()}}, options.out)


if __name__ == "__main__":
    main()
