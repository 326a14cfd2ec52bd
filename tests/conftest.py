"""Shapes and types are checked while the tests run; one small log and the models fitted to it are shared."""

import gc
import os
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pandas as pd
import pytest
from jaxtyping import install_import_hook

# Before prudent is imported anywhere: beartype then checks the annotations of every module that handles arrays. The
# modules that read the user's input are left alone, since tests give them wrong types on purpose.
_HANDLE_ARRAYS = (
    *(f"prudent.{room}" for room in ("checks", "models", "networks", "propensity.learners", "worlds")),
    *(
        f"prudent.decide.{name}"
        for name in ("advice", "caution", "choice", "completions", "explanation", "measure.filling")
    ),
    *(
        f"prudent.decide.{name}"
        for name in ("model", "outcomes", "plausible_mass", "plausible_set", "policy", "pricing", "search")
    ),
    "prudent.decide.strategies",
    *("prudent.promise.masked_decisions", "prudent.promise.known_truth"),
    *("prudent.evaluation.gaussian_prices", "prudent.evaluation.gaussian_process"),
    *("experiments.rivals.effects.cevae", "experiments.rivals.effects.miss_deep_causal"),
)
install_import_hook(list(_HANDLE_ARRAYS), "checked_types.check")

from tests.postgres_server import postgres as postgres  # noqa: E402  (a fixture)

# Compiling is most of a test's time, and what is compiled runs briefly: here nothing is optimised. Before the first
# program, since the flags are read once; processes that a test starts inherit them. In one piece, a program needs half
# of the memory maps.
_HASTE = (
    "--xla_backend_optimization_level=0",
    "--xla_cpu_use_fusion_emitters=false",
    "--xla_cpu_parallel_codegen_split_count=1",
)
os.environ["XLA_FLAGS"] = " ".join([os.environ.get("XLA_FLAGS", ""), *_HASTE]).strip()

# each worker has a cache of its own: two that write one entry at once would read halves of it
_WORKER = os.environ.get("PYTEST_XDIST_WORKER", "")
_CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "prudent" / f"xla-tests{_WORKER}"
jax.config.update("jax_compilation_cache_dir", os.environ.get("JAX_COMPILATION_CACHE_DIR", str(_CACHE)))
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.05)
jax.config.update("jax_persistent_cache_min_entry_size_bytes", 0)

# tracing makes millions of small objects that live long: looking through them often takes a twentieth of the time
gc.set_threshold(200_000, 20, 50)

# handed out first, the longest in front, so that the workers finish together
_LONG = (
    "tutorial",
    "docs",
    "laws",
    "mnist",
    "command_line",
    "explanation",
    "ihdp_ours",
    "typed",
    "sensitivity",
    "gaussian_prices",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    place = {f"test_{name}": at for at, name in enumerate(_LONG)}
    items.sort(key=lambda item: place.get(item.path.stem, len(place)))


ACTIONS = ("high", "low", "none")
KINDS = {
    "pressure": "real",
    "marker": "positive",
    "visits": "count",
    "ward": "categorical",
    "grade": ["mild", "moderate", "severe"],
    "smoker": "boolean",
    "admitted": "date",
}


def visits(rows: int = 200, seed: int = 0, gaps: float = 0.3) -> pd.DataFrame:
    """A log with a column of every kind; which action is best depends on the pressure, the grade and the ward."""
    random = np.random.default_rng(seed)
    need = random.normal(size=rows)
    grade = np.clip(np.round(1 + need + 0.5 * random.normal(size=rows)), 0, 2).astype(int)
    ward = (random.random(rows) < 0.5).astype(int) + (need > 0.5)
    best = np.clip(np.round(1 - need), 0, 2).astype(int)
    action = random.integers(0, 3, rows)
    columns: dict[str, Any] = {
        "pressure": 120 + 15 * need + 3 * random.normal(size=rows),
        "marker": np.exp(0.5 * need + 0.3 * random.normal(size=rows)),
        "visits": random.poisson(np.exp(0.8 + 0.4 * need)).astype(float),
        "ward": np.array(["north", "south", "west"], dtype=object)[ward],
        "grade": np.array(["mild", "moderate", "severe"], dtype=object)[grade],
        "smoker": np.array(["no", "yes"], dtype=object)[(random.random(rows) < 0.3 + 0.2 * (need > 0)).astype(int)],
        "admitted": np.datetime_as_string(
            np.datetime64("2023-01-01") + random.integers(0, 365, rows).astype("timedelta64[D]")
        ).astype(object),
    }
    for name, cells in columns.items():
        gap = random.random(rows) < gaps
        columns[name] = np.where(gap, np.nan if cells.dtype == float else None, cells)
    columns["dose"] = np.array(ACTIONS, dtype=object)[action]
    columns["outcome"] = -np.abs(action - best) - 0.2 * (ward == 2) * (action == 0) + 0.2 * random.normal(size=rows)
    return pd.DataFrame(columns)


def read(frame: Any, **settings: Any) -> Any:
    from prudent import Log

    return Log.from_frame(frame, action="dose", reward="outcome", kinds=KINDS, **settings)


def small_settings(name: str, **changes: Any) -> Any:
    """Tiny models, all of the same shapes, so that each program is compiled once for the whole suite."""
    import prudent

    own = {"causal": prudent.CausalPVAE, "similarity": prudent.SPVAE, "conditional": prudent.CPVAE}[name]
    settings = {
        "members": 2 if name == "causal" else 1,
        "samples": 4,
        "sizes": prudent.Sizes(latent=4, width=12, embedding=4, summary=12),
        "training": prudent.Training(rounds=4, steps_per_round=25, batch=32, learning_rate=0.02),
    }
    if name != "causal":
        settings["propensity"] = prudent.ImputedLogistic(imputations=1, folds=2)
    return own(**(settings | changes))


def make_log(values: Any, actions: Any, rewards: Any = None, labels: Any = None, categories: Any = None) -> Any:
    """A log from encoded values with NaN gaps; `categories` maps a column's index to its number of levels.

    By default every reward is 1 and the actions are 0, 1, …
    """
    from prudent.table import Column, Log, Schema

    levels = categories or {}
    columns = tuple(
        Column(f"x{j}", "categorical", tuple(f"level {k}" for k in range(levels[j])))
        if j in levels
        else Column(f"x{j}", "real")
        for j in range(values.shape[1])
    )
    observed, codes = ~np.isnan(values), np.asarray(actions, dtype=np.int32)
    return Log(
        schema=Schema(columns),
        values=np.where(observed, values, 0).astype(np.float32),
        observed=observed,
        actions=codes,
        rewards=np.where(codes >= 0, 1.0, np.nan) if rewards is None else np.asarray(rewards, np.float64),
        action_labels=tuple(labels or range(int(codes.max()) + 1)),
    )


MODELS = ("causal", "similarity", "conditional")
COMPLETIONS = 64


@pytest.fixture(autouse=True, scope="session")
def haste() -> Iterator[None]:
    """The flags above also where the library itself asks for a little optimisation."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("prudent.networks.training.RUN_ONCE", {})
        yield


def _many_maps() -> bool:
    """Whether this process has used up half of the memory maps that Linux grants it; elsewhere nothing is counted."""
    limit, own = Path("/proc/sys/vm/max_map_count"), Path("/proc/self/maps")
    return limit.exists() and own.read_text().count("\n") > int(limit.read_text()) // 2


@pytest.fixture(autouse=True, scope="module")
def forget_programs() -> Iterator[None]:
    """Every compiled program holds mapped memory, and a process may have only so many maps; they are on disk anyway."""
    yield
    if _many_maps():
        jax.clear_caches()


@pytest.fixture(scope="module")
def one_chunk() -> Iterator[None]:
    """Long tables in chunks as small as those of short ones: half the programs, where length is beside the point."""
    from prudent.decide import FEW_ROWS

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("prudent.decide.pricing.MANY_ROWS", FEW_ROWS)
        yield


@pytest.fixture(scope="session")
def frame() -> pd.DataFrame:
    return visits()


@pytest.fixture(scope="session")
def log(frame: pd.DataFrame) -> Any:
    return read(frame)


@pytest.fixture(scope="session")
def cases() -> pd.DataFrame:
    """New cases with gaps, without action and outcome; the first row is complete, the second empty."""
    table = visits(40, seed=1).drop(columns=["dose", "outcome"])
    complete = visits(1, seed=2, gaps=0.0).drop(columns=["dose", "outcome"])
    table.iloc[0] = complete.iloc[0]
    table.iloc[1] = None
    return table


@pytest.fixture(scope="session")
def shared_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder for all workers of a run."""
    own = tmp_path_factory.getbasetemp()
    return own.parent if _WORKER else own


PATIENCE = 600.0


def fit_once(folder: Path, fit: Callable[[], Any]) -> Any:
    """The model of that folder: the first worker that asks fits and saves it, the others load what it saved."""
    from prudent.models import load

    claim, until = folder.with_name(f"{folder.name}.claim"), time.monotonic() + PATIENCE
    while not folder.exists():
        try:
            claim.mkdir(parents=True)
        except FileExistsError:
            assert time.monotonic() < until, f"no other worker has fitted {folder.name}"
            time.sleep(0.1)
            continue
        try:
            return _fitted_and_saved(folder, fit)
        except BaseException:
            claim.rmdir()
            raise
    return load(folder)


def _fitted_and_saved(folder: Path, fit: Callable[[], Any]) -> Any:
    from prudent.models import load

    fitted, unfinished = fit(), folder.with_name(f"{folder.name}.part")
    fitted.save(unfinished)
    again = load(unfinished)
    assert jax.tree.structure(again.model) == jax.tree.structure(fitted.model)
    for one, other in zip(jax.tree.leaves(again.model), jax.tree.leaves(fitted.model), strict=True):
        np.testing.assert_array_equal(one, other)  # so what holds for the loaded model holds for the fitted one
    unfinished.rename(folder)
    return fitted


class SmallModels(Mapping[str, Any]):
    """The small models of the shared log, each fitted when a test first asks for it."""

    def __init__(self, log: Any, folder: Path):
        self._log, self._folder, self._found = log, folder, {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._found:
            settings = small_settings(name)
            self._found[name] = fit_once(self._folder / name, lambda: settings.fit(self._log, seed=0))
        return self._found[name]

    def __iter__(self) -> Iterator[str]:
        return iter(MODELS)

    def __len__(self) -> int:
        return len(MODELS)


@pytest.fixture(scope="session")
def fitted_models(log: Any, shared_folder: Path) -> Mapping[str, Any]:
    return SmallModels(log, shared_folder / "models")


@pytest.fixture(params=MODELS)
def fitted(request: pytest.FixtureRequest, fitted_models: Mapping[str, Any]) -> Any:
    return fitted_models[request.param]
