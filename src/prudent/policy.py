"""Policy: a fitted model and a strategy, ready to be asked about new cases."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from prudent.advice import Advice
from prudent.caution import Caution, action_costs
from prudent.completions import Completions, PriceTable
from prudent.errors import InputProblem, is_number, is_whole, require
from prudent.log import ActionLabel
from prudent.models.fitted import Fitted
from prudent.models.model import HasDensity, HasTypes, Model, price_completions, price_table
from prudent.networks.draws import quasi_random
from prudent.networks.layout import layout_of
from prudent.networks.set_encoder import MANY_ATTRIBUTES
from prudent.networks.training import use_compilation_cache
from prudent.permission import Allowed, allowed_actions
from prudent.progress import tracked
from prudent.schema import Encoded
from prudent.search import Cells, Search, movable_cells, search_worst
from prudent.strategies import Conservative, Strategy, worst_over

FEW_ROWS, MANY_ROWS = 8, 128
CHUNK_CELLS = 2_000_000
"""Completed cells held at once: the number of rows per chunk follows, so memory does not grow with the table."""
ACCELERATED = 16
"""An accelerator has the memory for so many times as much, and needs it to be busy."""


class Judged(NamedTuple):
    """What a strategy makes of the tables of many records: arrays with a leading row axis."""

    scores: np.ndarray
    expected: np.ndarray
    worst: np.ndarray
    entropy: np.ndarray
    plausible: np.ndarray
    effective: np.ndarray


@eqx.filter_jit
def _completed(
    model: Model, values: Array, observed: Array, uniforms: Array, literal: bool, doubt: bool
) -> tuple[Completions, PriceTable]:
    """Completions and price tables of many records."""

    def one(values: Array, observed: Array) -> tuple[Completions, PriceTable]:
        completions, table = price_table(model, values, observed, uniforms, literal)
        # the doubt of every price is dear to compute; where nobody asks the compiler leaves it out
        if doubt or isinstance(model, HasTypes):
            return completions, table
        return completions, eqx.tree_at(lambda t: t.doubt, table, None, is_leaf=_absent)

    return jax.vmap(one)(values, observed)


@eqx.filter_jit
def _doubts(model: Model, completions: Completions) -> Any:
    return price_completions(model, completions.values, completions.log_weights, completions.log_density).doubt


def _absent(leaf: object) -> bool:
    return leaf is None


@eqx.filter_jit
def _plausible(plausible: Conservative, tables: PriceTable) -> tuple[Array, Array]:
    return jax.vmap(lambda table: (plausible.plausible(table), plausible.edge(table)))(tables)


@eqx.filter_jit
def _searched(
    model: Model, search: Search, cells: Cells, caution: Caution, observed: Array, *found: Any
) -> tuple[Completions, PriceTable]:
    return jax.vmap(lambda *own: search_worst(model, search, cells, caution, *own))(observed, *found)


@eqx.filter_jit
def _judge(strategy: Strategy, plausible: Conservative, caution: Caution, tables: PriceTable) -> tuple[Array, ...]:
    def one(table: PriceTable) -> tuple[Array, ...]:
        inside = plausible.plausible(table)
        count = jnp.sum(inside & (table.log_density < table.log_density[0]))  # a draw may be x̂ itself
        net = caution.net(table)
        return (
            strategy.scores(net),
            table.expected,
            worst_over(caution.outcome(table), inside),
            net.action_entropy,
            count,
            table.effective_completions,
        )

    return jax.vmap(one)(tables)


class Policy:
    """Recommends an action for every row of a table.

    strategy: how to choose from the prices.
    completions: how many plausible records each case is completed into.
    floor: refuse actions whose worst plausible reward is below this (with a minimised reward: above it); when none is
        left the row is referred (no action) or gets `fallback`.
    doubt: take this many standard deviations of every price's own uncertainty off it before choosing (0: none). It
        also lowers the reported worst reward.
    noise: the same for the scatter of single outcomes around their price.
    costs: what taking an action costs, in reward units, by label. They weigh in the choice; rewards are reported
        without them.
    search: how hard to look for the worst plausible case. By default it is searched for where it decides (with a
        `Conservative` strategy, or a floor) and the table has at most 64 attributes: hundreds of cells that move freely
        add up to a record that no case resembles. `Search(steps=0)` only looks among the completions drawn.
    seed: of the shared quasi-random draws. The same for all rows, so a row's advice does not depend on its neighbours.
    """

    def __init__(
        self,
        fitted: Fitted,
        strategy: Strategy,
        *,
        completions: int = 256,
        floor: float | None = None,
        fallback: ActionLabel | None = None,
        doubt: float = 0.0,
        noise: float = 0.0,
        costs: Mapping[ActionLabel, float] | None = None,
        search: Search | None = None,
        seed: int = 0,
    ):
        require(isinstance(fitted, Fitted), "Policy", "fitted", "be a fitted model, see CausalPVAE.fit", fitted)
        require(isinstance(strategy, Strategy), "policy", "strategy", "be a Strategy, e.g. Conservative()", strategy)
        require(is_whole(completions, 2), "policy", "completions", "be a whole number of at least 2", completions)
        require(floor is None or is_number(floor), "policy", "floor", "be a number", floor)
        label = fallback is None or isinstance(fallback, str | int | float | bool)
        require(label, "policy", "fallback", "be the label of an action", fallback)
        require(is_whole(seed), "policy", "seed", "be a whole number of at least 0", seed)
        require(fallback is None or floor is not None, "policy", "fallback", "come with a 'floor'", fallback)
        for name, value in (("doubt", doubt), ("noise", noise)):
            require(is_number(value) and value >= 0, "policy", name, "be a number of at least 0", value)
        self.fitted, self.strategy, self.completions = fitted, strategy, completions
        self.caution = Caution(doubt, noise, jnp.asarray(action_costs(costs, fitted.action_labels)))
        self.floor, self.fallback, self.seed = floor, fallback, seed
        self.search = self._search_or_default(search)
        self.plausible = strategy if isinstance(strategy, Conservative) else Conservative(risk=0.05)

    def _search_or_default(self, search: Search | None) -> Search:
        require(search is None or isinstance(search, Search), "policy", "search", "be a Search, e.g. Search()", search)
        able = isinstance(self.fitted.model, HasDensity) and not self.literal
        if search is None:
            decides = isinstance(self.strategy, Conservative) or self.floor is not None
            narrow = len(self.fitted.schema) <= MANY_ATTRIBUTES
            return Search() if able and decides and narrow else Search(steps=0)
        if search.steps and not able:
            raise InputProblem(
                "This model, or the paper's literal candidates, cannot be searched for a worst case; "
                "leave 'search' out, or give Search(steps=0)."
            )
        return search

    def __repr__(self) -> str:
        return f"<policy {self.strategy} of {self.fitted!r}>"

    @property
    def literal(self) -> bool:
        return bool(getattr(self.strategy, "paper_literal", False))

    @property
    def searched(self) -> bool:
        """Whether the worst case is searched for, or only looked up among the draws."""
        return self.search.steps > 0

    @cached_property
    def _cells(self) -> Cells:
        return movable_cells(layout_of(self.fitted.schema))

    @cached_property
    def uniforms(self) -> Array:
        members, size = self.fitted.model.members, self.fitted.model.draw_size
        each = -(-self.completions // members)
        points = quasi_random(each * members, size, self.seed).reshape(each, members, size)
        return jnp.asarray(points.transpose(1, 0, 2))

    def recommend(
        self,
        frame: Any,
        allowed: Allowed = None,
        guarantee: Any = None,
        measure: bool | Mapping[str, float] = False,
    ) -> Advice:
        """Advice for every row of a frame of any common kind, in order.

        allowed: restricts the actions per row: the name of a column that lists labels separated by ';' (empty: any),
            one collection of labels per row, or a function from a row (column names to cells) to such a collection.
        guarantee: adds a lower bound on the reward of each recommended action, see `prudent.Guarantee`.
        measure: adds which gap is most worth filling before deciding, and its value in reward units; a mapping gives
            what measuring a column costs.
        """
        encoded = self.fitted.schema.encode(frame)
        if not len(encoded.flags):
            raise InputProblem("The table of cases has no rows; give at least one case to recommend for.")
        permitted = allowed_actions(frame, allowed, self.fitted.action_labels, len(encoded.flags))
        judged = self.judge(encoded)
        advice = Advice.of(self, frame, encoded, judged, permitted, *self._choose(judged, encoded, permitted))
        if guarantee is not None:
            own = getattr(guarantee, "policy", None) is self
            require(own, "recommend", "guarantee", "be made for this policy: Guarantee.of(policy, log)", guarantee)
            advice = advice.with_guarantee(guarantee)
        if measure is not False:
            from prudent.measuring import value_of_measuring

            costs = measure if isinstance(measure, Mapping) else None
            advice = replace(advice, measuring=value_of_measuring(self, encoded, costs))
        return advice

    def judge(self, encoded: Encoded) -> Judged:
        """Scores, expected and worst rewards for all rows, chunk by chunk (internal sign: higher is better)."""
        return judge_together([self], encoded)[0]

    def probabilities(self, judged: Judged, encoded: Encoded) -> np.ndarray:
        """How likely each action is to be chosen, [row, action]; NaN where the row is referred to a person."""
        labels = self.fitted.action_labels
        permitted = np.ones(judged.scores.shape, bool)
        chosen, reason = self._choose(judged, encoded, permitted)
        if self.fallback is not None and self.fallback in labels:
            chosen = np.where(reason == 2, labels.index(self.fallback), chosen)
        certain = np.where((chosen < 0)[:, None], np.nan, np.eye(len(labels))[chosen])
        if not self.strategy.stochastic:
            return certain
        weights = np.where(self._open(judged, permitted), judged.scores, 0.0)
        total = weights.sum(axis=1, keepdims=True)
        return np.where((total > 0) & (reason == 0)[:, None], weights / np.where(total > 0, total, 1.0), certain)

    def tables(self, encoded: Encoded) -> Iterator[PriceTable]:
        """Price tables, chunk by chunk; the last chunk is padded."""
        for values, observed in self.chunks(encoded):
            yield self._complete(values, observed)[1]

    def _complete(self, values: Array, observed: Array) -> tuple[Completions, PriceTable]:
        """Completions and price tables of a chunk, with what a search adds to them."""
        model, doubt = self.fitted.model, self.caution.doubt
        found = _completed(model, values, observed, self.uniforms, self.literal, doubt > 0)
        if not self.searched:
            return found
        # what does not move the worst case of an action is left out, so that policies share one program
        caution = Caution(doubt, 0.0, jnp.zeros(0))
        return _searched(
            model, self.search, self._cells, caution, observed, *found, *_plausible(self.plausible, found[1])
        )

    def chunks(self, encoded: Encoded) -> Iterator[tuple[Array, Array]]:
        """Encoded values and what is observed, in chunks of fixed size; the last one is padded with its last row."""
        use_compilation_cache()
        cells = self.uniforms.shape[0] * self.uniforms.shape[1] * encoded.values.shape[1]
        rows = len(encoded.flags)
        # two sizes only, so that at most two programs are compiled: a few cases should not cost as much as many
        held = CHUNK_CELLS * (1 if jax.default_backend() == "cpu" else ACCELERATED)
        chunk = min(FEW_ROWS if rows <= FEW_ROWS else MANY_ROWS, 1 << max(int(held / cells), 1).bit_length() - 1)
        for part in tracked(-(-rows // chunk), "recommending", None if rows > 20 * chunk else False):
            index = np.minimum(np.arange(part * chunk, (part + 1) * chunk), rows - 1)
            yield jnp.asarray(encoded.values[index]), jnp.asarray(encoded.observed[index])

    def detail(self, values: np.ndarray, observed: np.ndarray) -> tuple[Completions, PriceTable]:
        """Everything about one encoded record: its completions and all prices."""
        use_compilation_cache()
        # as many rows as a small table has, so that its program serves here too
        many = (np.broadcast_to(part, (FEW_ROWS, *part.shape)) for part in (values, observed))
        completions, table = jax.tree.map(lambda own: own[0], self._complete(*map(jnp.asarray, many)))
        if table.doubt is not None:
            return completions, table
        return completions, eqx.tree_at(
            lambda t: t.doubt, table, _doubts(self.fitted.model, completions), is_leaf=_absent
        )

    def _choose(self, judged: Judged, encoded: Encoded, permitted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The chosen action's number (-1: none), and why there is none (0 chosen, 1 not allowed, 2 below floor)."""
        open_ = self._open(judged, permitted)
        scores = np.where(open_, judged.scores, -np.inf)
        chosen = np.argmax(scores, axis=1)
        if self.strategy.stochastic:
            chosen = self._drawn(np.where(open_, judged.scores, 0.0), encoded, chosen)
        reason = np.where(~permitted.any(axis=1), 1, np.where(~open_.any(axis=1), 2, 0))
        return np.where(reason == 0, chosen, -1), reason

    def _open(self, judged: Judged, permitted: np.ndarray) -> np.ndarray:
        """The permitted actions whose worst plausible reward reaches the floor, [row, action]."""
        if self.floor is None:
            return permitted
        return permitted & (judged.worst >= (-self.floor if self.fitted.minimize else self.floor))

    def _drawn(self, weights: np.ndarray, encoded: Encoded, otherwise: np.ndarray) -> np.ndarray:
        """A draw per row from its own bytes and the seed: the same record always gets the same answer."""
        uniform = (
            np.array(
                [
                    int.from_bytes(
                        hashlib.blake2b(v.tobytes() + o.tobytes() + str(self.seed).encode(), digest_size=6).digest()
                    )
                    for v, o in zip(encoded.values, encoded.observed, strict=True)
                ]
            )
            / 2.0**48
        )
        total = weights.sum(axis=1)
        drawn = (np.cumsum(weights, axis=1) <= (uniform * total)[:, None]).sum(axis=1)
        return np.where(total > 0, np.minimum(drawn, weights.shape[1] - 1), otherwise)


def judge_together(policies: Sequence[Policy], encoded: Encoded) -> list[Judged]:
    """What each policy makes of the same rows; those that complete and price alike share that work."""
    rows, found = len(encoded.flags), {}
    for alike in _alike(policies):
        parts: dict[int, list[tuple[Array, ...]]] = {index: [] for index in alike}
        for tables in policies[alike[0]].tables(encoded):
            for index, own in parts.items():
                policy = policies[index]
                own.append(_judge(policy.strategy, policy.plausible, policy.caution, tables))
        for index, own in parts.items():
            arrays = ([np.asarray(part[field], np.float64) for part in own] for field in range(len(Judged._fields)))
            found[index] = Judged(*(np.concatenate(array)[:rows] for array in arrays))
    return [found[index] for index in range(len(policies))]


def _alike(policies: Sequence[Policy]) -> list[list[int]]:
    """The policies by number, grouped by what their price tables depend on."""
    groups: dict[tuple[object, ...], list[int]] = {}
    for index, policy in enumerate(policies):
        doubted = policy.caution.doubt if policy.searched else policy.caution.doubt > 0
        key = (id(policy.fitted.model), policy.completions, policy.seed, policy.literal, policy.search, doubted)
        groups.setdefault((*key, index) if policy.searched else key, []).append(index)
    return list(groups.values())
