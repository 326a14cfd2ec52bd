"""What fitting and using a model will cost, before it is done: about how long, and how much memory.

Processor seconds were measured on tables of six shapes (benchmarks/cost.py, which prints them beside these
estimates) and are scaled to this machine by a moment of arithmetic (`machine_speed`). An estimate is meant to be right
within a factor of two on a machine without an accelerator; with one it is far too high for wide tables.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any

import equinox as eqx
import jax

from prudent.decide import Search
from prudent.errors import check, instance, whole
from prudent.models.fitting import Settings
from prudent.models.machine_speed import slowness
from prudent.models.settings import WIDE_TABLE
from prudent.networks import MANY_ATTRIBUTES, bucket, layout_of
from prudent.propensity import Known
from prudent.show import about_memory, about_time
from prudent.table import Log

# --- measured by benchmarks/cost.py: processor seconds on the reference machine ---

COMPILE_FIT, COMPILE_ADVICE, COMPILE_SEARCH = 23.0, 6.0, 9.0
"""Programs are compiled the first time that a table of this shape is seen; later they are read from the cache."""
LEARN_WEIGHT, FINISH_WEIGHT = 3.0e-10, 3.0e-10
"""Per weight, sample, record and step of training; and where the uncertainty of prices is learnt."""
DRAW, DRAW_WEIGHT = 1e-6, 2.1e-10
"""Per completion of a record, and per weight of the networks that make and price it."""
WIDE = 0.4
"""A weight of the broad networks of wide tables costs this share: large matrices are multiplied faster."""
LOOK, SWITCH, SWITCH_CELL = 4e-6, 5e-7, 2.4e-8
"""Per record that the search for worst cases looks at; per level that it tries, and per number of a record then."""
LEARNERS, LEARNERS_ACTION, LEARNERS_COLUMN, LEARNERS_LEVEL = 2.0, 0.4, 0.06, 0.01
"""Propensities and prices learnt from few rows: in all, per action, per column and per level of the labels."""
LEARNERS_ROWS = 5000
"""With so many rows they take twice as long."""
LOGGING_POLICY, IMPUTED = 0.1, 0.5
"""The same for what a fit learns of the logged actions, and for a propensity that weights its rows, as shares."""
CORES_USED = 1.5
"""Processor seconds per second: most programs keep a core and a half busy."""

BASE_MEMORY, ADVICE_MEMORY = 800e6, 300e6
CELL_BYTES, ROW_CELL_BYTES = 60.0, 60.0
"""Per number of a record in one batch of training, and in the table."""

THOUSAND = 1000
FINISH_SAMPLES, FINISH_ROWS, COMPLETIONS, LOOKS = 16, 20_000, 256, 13


@dataclass(frozen=True)
class Cost:
    """About so many seconds, and so many bytes of memory at the peak."""

    seconds: float
    memory: float

    def __str__(self) -> str:
        return f"{about_time(self.seconds)}, {about_memory(self.memory)}"


@dataclass(frozen=True)
class Costs:
    """Of the fit; and for a thousand rows, of advice, of advice whose worst cases are searched, and of an evaluation
    with every strategy of the command line."""

    fit: Cost
    recommend: Cost
    search: Cost
    evaluate: Cost


@dataclass(frozen=True)
class _Size:
    """What the cost depends on.

    weights: of one member's networks, in units of those of narrow tables; without the encoder, which reads a record
        once.
    cells: numbers in a complete record as the networks see it.
    looks, switches: records that a search for worst cases looks at, and levels that it tries, in one case.
    """

    rows: int
    columns: int
    actions: int
    weights: float
    cells: int
    looks: int
    switches: int


_RULES = {
    "settings": instance(Settings, "a CausalPVAE, SPVAE or CPVAE, e.g. CausalPVAE()"),
    "log": instance(Log, "a Log, e.g. from read_log"),
    "rows": whole(1),
}


def estimate_costs(settings: Any, log: Log, rows: int = THOUSAND) -> Costs:
    """What a fit of these settings to the log would cost here and now, and using the model for so many rows."""
    check("estimate_costs", _RULES, locals())
    size = _size(settings, log)
    return Costs(_fit(settings, size), *_use(size, rows))


def _size(settings: Settings, log: Log) -> _Size:
    layout, actions = layout_of(log.schema), len(log.action_labels)
    make = partial(settings.network, log.schema, actions)
    network = eqx.filter_eval_shape(make, jax.random.key(0))
    leaves = jax.tree_util.tree_leaves_with_path(network)
    weights = sum(leaf.size for path, leaf in leaves if hasattr(leaf, "size") and "encoder" not in str(path))
    search = Search()
    walkers = actions * search.starts * search.steps
    levels = sum(len(group.switches) for group in layout.groups)
    walkers = walkers if len(log.schema) <= MANY_ATTRIBUTES else 0  # a policy does not search wide tables
    weights = weights * (WIDE if len(log.schema) > WIDE_TABLE else 1.0)
    return _Size(len(log), len(log.schema), actions, weights, layout.width, walkers * LOOKS, walkers * levels)


def _cost(seconds: float, memory: float) -> Cost:
    return Cost(seconds / CORES_USED * slowness(), memory)


def _fit(settings: Settings, size: _Size) -> Cost:
    training, members = settings.training, settings.members
    judged = bucket(min(size.rows // 7, 2000)) / 3  # forwards only
    records = training.rounds * (training.steps_per_round * training.batch + judged)
    finish = FINISH_SAMPLES * bucket(min(size.rows, FINISH_ROWS)) * FINISH_WEIGHT
    seconds = COMPILE_FIT + members * size.weights * (records * settings.samples * LEARN_WEIGHT + finish)
    propensity = getattr(settings, "propensity", None)
    estimated = propensity is not None and not isinstance(propensity, Known)
    seconds += (LOGGING_POLICY + (IMPUTED if estimated else 0.0)) * _learners(size, size.rows)
    held = members * training.batch * settings.samples * size.cells * CELL_BYTES
    cost = _cost(seconds, BASE_MEMORY + held + size.rows * size.columns * ROW_CELL_BYTES)
    return cost if training.seconds is None else Cost(min(cost.seconds, training.seconds), cost.memory)


def _learners(size: _Size, rows: int) -> float:
    """The learners of propensities and prices, cross-fitted."""
    each = LEARNERS + LEARNERS_ACTION * size.actions + LEARNERS_COLUMN * size.columns + LEARNERS_LEVEL * size.cells
    return each * (1 + rows / LEARNERS_ROWS)


def _use(size: _Size, rows: int) -> tuple[Cost, Cost, Cost]:
    priced = COMPLETIONS * (DRAW + DRAW_WEIGHT * size.weights)
    searched = priced + LOOK * size.looks + (SWITCH + SWITCH_CELL * size.cells) * size.switches
    memory = BASE_MEMORY + ADVICE_MEMORY
    learnt = memory + rows * size.cells * ROW_CELL_BYTES
    compiled = COMPILE_ADVICE + (COMPILE_SEARCH if size.looks else 0.0)
    return (
        _cost(COMPILE_ADVICE + rows * priced, memory),
        _cost(compiled + rows * searched, memory),
        _cost(compiled + _learners(size, rows) + rows * searched, learnt),
    )
