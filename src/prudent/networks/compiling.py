"""How programs are compiled, and where they are kept between runs."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import equinox as eqx
import jax

from prudent.networks.program_folder import private_folder, tidy

# On a GPU, trying out the kernels of a program takes half of the time until its first result, and gains little later.
QUICK = {"xla_gpu_autotune_level": 0}

MEMORY_MAPS = Path("/proc/self/maps")
MOST_MEMORY_MAPS = 30_000
"""Linux allows a process 65 530 of them. Compiled programs of a log of a new shape take about 2000, and the process
dies when there are no more."""

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """As `equinox.filter_jit`, for a first result soon."""
    return cast("Function", cast("Any", eqx.filter_jit)(function, compiler_options=QUICK))


def use_compilation_cache() -> None:
    """Keep compiled programs between runs, unless the user has already chosen a place for them (or none)."""
    if jax.config.values["jax_compilation_cache_dir"] is None and "JAX_COMPILATION_CACHE_DIR" not in os.environ:
        folder = _usual_folder()
        if folder is not None and private_folder(folder):
            tidy(folder)
            jax.config.update("jax_compilation_cache_dir", str(folder))
            jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.1)


def _usual_folder() -> Path | None:
    """None where there is no home, as for a user that the system does not know."""
    try:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    except RuntimeError:
        return None
    return base / "prudent" / "xla" if base.is_absolute() else None


def release_programs() -> None:
    """Forget compiled programs where they use up what the system allows; those needed again come from the cache."""
    if MEMORY_MAPS.exists() and MEMORY_MAPS.read_bytes().count(b"\n") > MOST_MEMORY_MAPS:
        jax.clear_caches()
