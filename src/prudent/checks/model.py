"""Laws of a fitted model: its completions and prices on the rows of a table, and its folder on disk."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from prudent.checks.law import close, hold
from prudent.checks.network import encoder_laws, encoders_of, similarity_weights_sum_to_one, streaming_equals_dense
from prudent.decide import Conservative, HasTypes, MaximumExpectedReward, Policy, Search
from prudent.models import Fitted, SimilarityModel
from prudent.table import Encoded, Log

ROWS = 12


def check_model(fitted: Fitted, frame: Any, completions: int = 64) -> None:
    """Run every law that a fitted model must keep, on the first rows of a table of cases."""
    policy = fitted.policy(MaximumExpectedReward(), completions=completions)
    encoded = _head(fitted.schema.encode(frame), ROWS)
    for law in MODEL_LAWS:
        law(policy, encoded)


def observed_cells_never_change(policy: Policy, encoded: Encoded) -> None:
    """Law 1: every completion has the observed cells exactly as they were."""
    for values, observed in _records(encoded):
        completed = np.asarray(policy.pricing.detail(values, observed)[0].values)
        hold((completed[:, observed] == values[observed]).all(), 1, "a completion changed an observed cell.")
        hold(np.isfinite(completed).all(), 1, "a completion has a cell that is not a finite number.")


def complete_records_have_one_price(policy: Policy, encoded: Encoded) -> None:
    """Law 1: with nothing missing all completions equal the record and have the same prices.

    A model with types may still be uncertain which type a complete record belongs to.
    """
    for values, observed in _records(_head(encoded, 3)):
        whole = np.asarray(policy.pricing.detail(values, observed)[0].values[0])
        completions, table = policy.pricing.detail(whole, np.ones_like(observed))
        hold(bool((np.asarray(completions.values) == whole).all()), 1, "a complete record was completed.")
        if isinstance(policy.fitted.model, HasTypes):
            continue
        prices = np.asarray(table.prices)
        hold(close(prices, np.broadcast_to(prices[:1], prices.shape)), 1, "a complete record has more than one price.")
        hold(close(table.action_entropy, 0.0), 1, "the best action of a complete record is uncertain.")


def most_likely_completion_is_first(policy: Policy, encoded: Encoded) -> None:
    """Law 2: completion 0 is x̂, and none is denser."""
    for values, observed in _records(encoded):
        density = np.asarray(policy.pricing.detail(values, observed)[0].log_density)
        hold(np.isfinite(density[0]), 2, f"the log-density of x̂ is {density[0]}.")
        hold(density[0] == density.max(), 2, f"x̂ has log-density {density[0]}, another completion {density.max()}.")


def weights_sum_to_one(policy: Policy, encoded: Encoded) -> None:
    """Law 7: the completions' weights sum to one, and x̂, which is not a draw, has none."""
    for values, observed in _records(encoded):
        log_weights = np.asarray(policy.pricing.detail(values, observed)[0].log_weights, np.float64)
        hold(not np.isnan(log_weights).any(), 7, "a completion's log-weight is not a number.")
        hold(close(np.exp(log_weights).sum(), 1.0), 7, f"the weights sum to {np.exp(log_weights).sum()}.")
        hold(np.isneginf(log_weights[0]) or len(log_weights) == 1, 7, "x̂ counts as a draw.")


def prices_are_finite(policy: Policy, encoded: Encoded) -> None:
    """Law 9: every action of the log, and no other, has a finite price on every completion."""
    for values, observed in _records(encoded):
        prices = np.asarray(policy.pricing.detail(values, observed)[1].prices)
        hold(prices.shape[1] == len(policy.fitted.action_labels), 9, f"there are prices for {prices.shape[1]} actions.")
        hold(np.isfinite(prices).all(), 9, "a price is not a finite number.")


def row_alone_is_row_in_batch(policy: Policy, encoded: Encoded) -> None:
    """Law 4: a record priced by itself has the table it has in a batch."""
    pricing = replace(policy.pricing, every_density=True)
    batch = jax.tree.map(lambda *parts: jnp.concatenate(parts), *pricing.tables(encoded))
    for row, (values, observed) in enumerate(_records(encoded)):
        alone = pricing.detail(values, observed)[1]
        for name in ("prices", "log_weights", "log_density"):
            by_itself, in_batch = np.asarray(getattr(alone, name)), np.asarray(getattr(batch, name)[row])
            by_itself, in_batch = (np.where(np.isneginf(array), -1e9, array) for array in (by_itself, in_batch))
            hold(close(by_itself, in_batch, 1e-3), 4, f"the {name} of row {row} alone are not those it has in a batch.")


def encoder_keeps_its_laws(policy: Policy, encoded: Encoded) -> None:
    """Law 6, for the set encoder of every member."""
    for layout, encoder in encoders_of(policy.fitted.model):
        values = jnp.zeros(layout.attributes).at[: encoded.values.shape[1]].set(encoded.values[0])
        encoder_laws(layout, encoder, values)


def similarity_keeps_its_laws(policy: Policy, encoded: Encoded) -> None:
    """Law 7, for models that compare with logged rows."""
    model = policy.fitted.model
    if isinstance(model, SimilarityModel):
        for values in encoded.values[:3]:
            similarity_weights_sum_to_one(model, jnp.asarray(values))
            streaming_equals_dense(model, jnp.asarray(values))


MODEL_LAWS: tuple[Callable[[Policy, Encoded], None], ...] = (
    observed_cells_never_change,
    complete_records_have_one_price,
    most_likely_completion_is_first,
    weights_sum_to_one,
    prices_are_finite,
    row_alone_is_row_in_batch,
    encoder_keeps_its_laws,
    similarity_keeps_its_laws,
)


def same_seed_same_model(settings: Any, log: Log, seed: int = 0) -> None:
    """Law 5: fitting twice with one seed gives the same arrays, bit by bit; another seed gives others."""
    first, second, other = (_arrays(settings.fit(log, seed=s, progress=False)) for s in (seed, seed, seed + 1))
    hold(all(np.array_equal(a, b) for a, b in zip(first, second, strict=True)), 5, "one seed gave two models.")
    hold(not all(np.array_equal(a, b) for a, b in zip(first, other, strict=True)), 5, "two seeds gave one model.")


def _arrays(fitted: Fitted) -> list[np.ndarray]:
    return [np.asarray(leaf) for leaf in jax.tree.leaves(eqx.filter(fitted.model, eqx.is_array))]


_OTHER_PROCESS = """
import pickle, sys
import numpy as np
import prudent
from prudent.table import Encoded

def refuse(*_, **__):
    raise SystemExit("pickle was used")

pickle.load = pickle.loads = pickle.Unpickler = refuse
folder, completions, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
fitted = prudent.load(folder + "/model")
cases = np.load(folder + "/cases.npz", allow_pickle=False)
sampling = prudent.Search(steps=0)
policy = fitted.policy(prudent.Conservative(risk=0.05), completions=completions, search=sampling, seed=seed)
scored = policy.chooser.score(Encoded(cases["values"], cases["observed"], [""] * len(cases["values"])))
np.savez(folder + "/scored.npz", **scored._asdict())
"""


def saved_model_gives_the_same_advice(fitted: Fitted, frame: Any, completions: int = 64, seed: int = 0) -> None:
    """Law 8: a saved model loads to bit-equal advice in another process, where unpickling is forbidden."""
    encoded = fitted.schema.encode(frame)
    options = {"completions": completions, "seed": seed, "search": Search(steps=0)}
    scored = fitted.policy(Conservative(risk=0.05), **options).chooser.score(encoded)
    with tempfile.TemporaryDirectory() as folder:
        fitted.save(Path(folder) / "model")
        np.savez(Path(folder) / "cases.npz", values=encoded.values, observed=encoded.observed)
        arguments = [sys.executable, "-c", _OTHER_PROCESS, folder, str(completions), str(seed)]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
        if cache := jax.config.values.get("jax_compilation_cache_dir"):
            environment["JAX_COMPILATION_CACHE_DIR"] = str(cache)
        done = subprocess.run(arguments, env=environment, capture_output=True, text=True, check=False)
        hold(done.returncode == 0, 8, f"the other process failed: {done.stderr.strip()[-2000:]}")
        with np.load(Path(folder) / "scored.npz", allow_pickle=False) as elsewhere:
            for name, here in scored._asdict().items():
                hold(np.array_equal(here, elsewhere[name]), 8, f"'{name}' differs after saving and loading.")


def _head(encoded: Encoded, rows: int) -> Encoded:
    return Encoded(encoded.values[:rows], encoded.observed[:rows], encoded.flags[:rows])


def _records(encoded: Encoded) -> list[tuple[np.ndarray, np.ndarray]]:
    return list(zip(encoded.values, encoded.observed, strict=True))
