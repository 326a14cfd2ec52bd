"""Laws of a strategy, tested on made-up price tables: no model is needed."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from prudent.checks.law import close, hold
from prudent.decide import Conservative, Imputation, PriceTable, Strategy

COMPLETIONS, ACTIONS = 12, 3


def price_tables(count: int = 12, seed: int = 0) -> Iterator[PriceTable]:
    """Various tables: equal and very unequal weights, equally dense completions, completions with no weight.

    x̂ comes first; it is the densest and has no weight, as in the tables that models make.
    """
    random = np.random.default_rng(seed)
    for number in range(count):
        prices = random.normal(size=(COMPLETIONS, ACTIONS)) * 10.0 ** (number % 3 - 1)
        spread = (0.0, 1.0, 5.0)[number % 3]
        log_weights = spread * random.normal(size=COMPLETIONS)
        log_density = np.round(random.normal(size=COMPLETIONS), 1 if number % 2 else 6)
        if number % 4 == 3:
            log_weights[random.integers(1, COMPLETIONS, size=3)] = -np.inf
        yield _table(prices, log_weights, log_density)


def _table(prices: np.ndarray, log_weights: np.ndarray, log_density: np.ndarray) -> PriceTable:
    log_weights, log_density = log_weights.copy(), log_density.copy()
    log_weights[0], log_density[0] = -np.inf, log_density.max()
    log_weights -= np.logaddexp.reduce(log_weights)
    arrays = [jnp.asarray(array, jnp.float32) for array in (prices, log_weights, log_density)]
    return PriceTable(arrays[0], arrays[1], arrays[2])


@eqx.filter_jit
def _scores(strategy: Strategy, table: PriceTable) -> Array:
    """Compiled, as policies do: op by op, every operation would be a program."""
    return strategy.scores(table)


def check_strategy(strategy: Strategy) -> None:
    """Run every law that any strategy must keep; for a `Conservative` one also those of its plausible set."""
    for law in STRATEGY_LAWS:
        law(strategy)
    if isinstance(strategy, Conservative):
        plausible_set_holds_its_mass(strategy)


def complete_records_leave_no_choice(strategy: Strategy) -> None:
    """Law 1: when all completions are the same, every strategy takes the action with the highest price."""
    for table in price_tables():
        same = jnp.broadcast_to(table.prices[:1], table.prices.shape)
        scores = _scores(strategy, PriceTable(same, table.log_weights, jnp.zeros(len(same))))
        hold(
            int(jnp.argmax(scores)) == int(jnp.argmax(same[0])),
            1,
            f"with nothing missing {strategy} chose action {int(jnp.argmax(scores))} at prices {same[0].tolist()}.",
        )


def scores_are_finite(strategy: Strategy) -> None:
    """Law 2: x̂ is always among the completions, so there is always a finite score for every action."""
    for table in (*price_tables(), *_lonely_tables()):
        scores = _scores(strategy, table)
        hold(scores.shape == (table.prices.shape[1],), 2, f"{strategy} gave scores of shape {scores.shape}.")
        hold(jnp.isfinite(scores).all(), 2, f"{strategy} gave the scores {scores.tolist()}.")


def _lonely_tables() -> Iterator[PriceTable]:
    """Nothing but x̂ plausible; and all the weight on one completion."""
    for table in price_tables(3, seed=1):
        far = jnp.full(len(table.log_density), -1e9).at[0].set(0.0)
        yield PriceTable(table.prices, table.log_weights, far)
        single = jnp.full(len(table.log_weights), -jnp.inf).at[5].set(0.0)
        yield PriceTable(table.prices, single, table.log_density)


def order_does_not_matter(strategy: Strategy) -> None:
    """Law 4: completions other than x̂, which is first, may come in any order."""
    random = np.random.default_rng(0)
    for table in price_tables():
        order = np.concatenate([[0], 1 + random.permutation(COMPLETIONS - 1)])
        scores, shuffled = (
            _scores(strategy, table),
            _scores(strategy, jax.tree.map(lambda array, o=order: array[o], table)),
        )
        hold(
            close(scores, shuffled),
            4,
            f"{strategy} scored {scores.tolist()}, and {shuffled.tolist()} with the completions in another order.",
        )


def batch_is_row(strategy: Strategy) -> None:
    """Law 4: a table has the same scores alone and in a batch."""
    tables = list(price_tables())
    together = jax.vmap(partial(_scores, strategy))(jax.tree.map(lambda *arrays: jnp.stack(arrays), *tables))
    for table, scores in zip(tables, together, strict=True):
        alone = _scores(strategy, table)
        hold(close(alone, scores), 4, f"{strategy} scored {alone.tolist()} alone, {scores.tolist()} in a batch.")


def same_table_same_scores(strategy: Strategy) -> None:
    """Law 5: a strategy is a pure function of the table."""
    for table in price_tables(3):
        first, second = strategy.scores(table), strategy.scores(table)  # not compiled: that would hide a state
        hold(jnp.array_equal(first, second), 5, f"{strategy} scored {first.tolist()}, then {second.tolist()}.")


def lottery_is_a_distribution(strategy: Strategy) -> None:
    """Law 7: the scores of a stochastic strategy are probabilities, and sum to one."""
    for table in price_tables() if strategy.stochastic else ():
        scores = _scores(strategy, table)
        hold((scores >= 0).all() and close(scores.sum(), 1.0), 7, f"{strategy} gave {scores.tolist()} to draw from.")


STRATEGY_LAWS: tuple[Callable[[Strategy], None], ...] = (
    complete_records_leave_no_choice,
    scores_are_finite,
    order_does_not_matter,
    batch_is_row,
    same_table_same_scores,
    lottery_is_a_distribution,
)


def weightless_completions_do_not_count(strategy: Strategy) -> None:
    """Law 2: x̂ is a point and not a draw; a strategy that averages over completions ignores those without weight."""
    for table in price_tables():
        weightless = jnp.isneginf(table.log_weights)
        other = PriceTable(jnp.where(weightless[:, None], 1e3, table.prices), table.log_weights, table.log_density)
        scores, changed = _scores(strategy, table), _scores(strategy, other)
        hold(close(scores, changed), 2, f"weightless completions moved {strategy} by {(changed - scores).tolist()}.")


def never_claims_more_when_careful(bold_to_careful: Sequence[Strategy]) -> None:
    """Law 3: on the same completions the claimed reward never rises as c falls or risk shrinks."""
    for table in price_tables():
        claims = [_scores(strategy, table) for strategy in bold_to_careful]
        for bold, careful, strategy in zip(claims, claims[1:], bold_to_careful[1:], strict=False):
            slack = 1e-5 * jnp.max(jnp.abs(table.prices))
            hold(
                (careful <= bold + slack).all(),
                3,
                f"{strategy} claims {careful.tolist()}, more than the bolder {bold.tolist()}.",
            )


def c_near_one_is_imputation() -> None:
    """Law 3: as c → 1 only x̂ remains, so the conservative action is the imputation action (x̂ the only densest)."""
    for table in price_tables():
        density = table.log_density.at[0].add(0.01)
        alone = PriceTable(table.prices, table.log_weights, density)
        hold(
            jnp.array_equal(_scores(Conservative(c=0.9999), alone), _scores(Imputation(), alone)),
            3,
            "Conservative(c=0.9999) does not score as Imputation() does.",
        )


def plausible_set_holds_its_mass(strategy: Conservative) -> None:
    """Law 2 and eq 7: the set has x̂, is made of the densest completions, and with `risk` holds mass 1 − risk."""
    for table in price_tables():
        inside = strategy.plausible_set.inside(table)
        hold(inside[0], 2, f"{strategy} left out x̂.")
        lowest = jnp.min(jnp.where(inside, table.log_density, jnp.inf))
        denser = table.log_density > lowest
        hold(inside[denser].all(), 2, f"{strategy} left out a completion denser than one it kept.")
        mass = float(jnp.sum(table.weights * inside))
        enough = strategy.risk is None or mass >= 1 - strategy.risk - 1e-4
        hold(enough, 2, f"the set of {strategy} holds mass {mass:.4f} only.")
