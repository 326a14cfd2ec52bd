"""The versions that a report of a fault should name, read from package metadata: nothing heavy is imported."""

import platform
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distributions, version

SHOWN = ("jax", "jaxlib", "equinox", "numpy", "scikit-learn", "polars")
ACCELERATORS = ("jax-cuda", "jax-rocm", "libtpu")
"""What begins like this lets JAX use more than the processor."""


def version_lines(own: str) -> Iterator[str]:
    """prudent's version first, alone on its line."""
    yield f"prudent {own}"
    yield f"python {platform.python_version()} on {platform.system()} {platform.machine()}"
    for name in SHOWN:
        try:
            yield f"{name} {version(name)}"
        except PackageNotFoundError:
            yield f"{name} is not installed"
    found = {one.metadata["Name"]: one.version for one in distributions() if one.metadata["Name"]}
    for name in sorted(found):
        if name.lower().replace("_", "-").startswith(ACCELERATORS):
            yield f"{name} {found[name]}"
