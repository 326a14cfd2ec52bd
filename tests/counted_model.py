"""A model that counts the records it completes, to show what is done twice."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import equinox as eqx
import jax

from prudent.decide import Completions, Model
from prudent.models import Fitted


class Counted(Model):
    """Completes and prices as `inner` does, and reports every record that it completes."""

    inner: Any
    report: Callable[[Any], None] = eqx.field(static=True)

    @property
    def members(self) -> int:
        return self.inner.members

    @property
    def draw_size(self) -> int:
        return self.inner.draw_size

    def complete(self, values: jax.Array, observed: jax.Array, uniforms: jax.Array, literal: bool) -> Completions:
        jax.debug.callback(self.report, values)
        return self.inner.complete(values, observed, uniforms, literal)

    def price(self, values: jax.Array) -> jax.Array:
        return self.inner.price(values)

    def log_density(self, values: jax.Array, evidence: jax.Array) -> jax.Array:
        return self.inner.log_density(values, evidence)

    def own_doubt(self, values: jax.Array) -> jax.Array:
        return self.inner.own_doubt(values)

    def noise(self, values: jax.Array) -> jax.Array:
        return self.inner.noise(values)


class Counter:
    """Counts what the models that it made have completed."""

    def __init__(self) -> None:
        self._records: list[Any] = []

    def model(self, fitted: Any) -> Fitted:
        """The same fitted model, counted."""
        return replace(fitted, model=Counted(fitted.model, self._records.append))

    def rows(self) -> int:
        """Rows completed since the last time."""
        jax.effects_barrier()
        count = sum(1 if record.ndim == 1 else len(record) for record in self._records)
        self._records.clear()
        return count
