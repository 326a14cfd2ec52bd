"""Laws of a policy: what it says about the rows of a table must not depend on anything but each row."""

import copy
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from prudent.checks.law import close, hold
from prudent.decide import Advice, Conservative, Imputation, Policy, Search
from prudent.errors import InputProblem
from prudent.table import LABELLED, to_table

NEVER_SEEN = "a label that no log has ever had"

Columns = dict[str, list[Any]]


def check_policy(policy: Policy, frame: Any) -> None:
    """Run every law that a policy must keep, on a table of cases (a few rows are enough)."""
    frame_is_left_alone(policy, frame)
    table = to_table(frame)
    columns = {name: table.cells(name).to_list() for name in policy.fitted.schema.names}
    for law in POLICY_LAWS:
        law(policy, columns)


def frame_is_left_alone(policy: Policy, frame: Any) -> None:
    """Law 5: the input frame is not modified."""
    before = copy.deepcopy(frame)
    policy.recommend(frame)
    hold(_same_cells(before, frame), 5, "recommending modified the frame it was given.")


def one_row_or_many(policy: Policy, columns: Columns) -> None:
    """Law 4: the same advice alone, in any order, at any batch size, to float tolerance."""
    whole = policy.recommend(columns)
    rows = len(whole)
    order = np.random.default_rng(0).permutation(rows)
    many = np.arange(max(300, rows)) % rows
    for index in (order, order[: rows // 2 + 1], many, *(np.array([row]) for row in range(min(3, rows)))):
        _hold_same(whole, index, policy.recommend(_take(columns, index)), 4, f"{len(index)} of {rows} rows are given")


def same_question_same_answer(policy: Policy, columns: Columns) -> None:
    """Law 5: the same policy, and an equal one, give the same advice, bit by bit."""
    first = policy.recommend(columns)
    twin = replace(policy)
    for again in (policy.recommend(columns), twin.recommend(columns)):
        hold(first.columns() == again.columns(), 5, "the same question got two answers.")


def column_order_does_not_matter(policy: Policy, columns: Columns) -> None:
    """Law 5: columns are identified by name, so their order does not matter, and unknown columns change nothing."""
    advice = policy.recommend(columns).columns()
    turned = policy.recommend(dict(reversed(columns.items()))).columns()
    hold(advice == turned, 5, "the order of the columns changed the advice.")
    rows = len(next(iter(columns.values())))
    more = policy.recommend({"a column of no use": list(range(rows)), **columns}).columns()
    hold(advice == more, 5, "a column that the model does not know changed the advice.")


def only_logged_actions(policy: Policy, columns: Columns) -> None:
    """Law 9: an action the log never took is never recommended; only the named fallback may stand in."""
    known = {*policy.fitted.action_labels, policy.fallback, None}
    strange = [action for action in policy.recommend(columns).actions if action not in known]
    hold(not strange, 9, f"{strange[:1]} was recommended, and the log never took it.")
    referred = [case.status for case in policy.recommend(columns) if case.action is None]
    hold(all(status.refers for status in referred), 9, f"a row has no action and says {referred[:1]}.")


def unseen_category_is_a_flagged_gap(policy: Policy, columns: Columns) -> None:
    """Law 9: a category never seen is treated as missing, and flagged on its row only."""
    for column in policy.fitted.schema.columns:
        if column.kind not in LABELLED or "(other)" in column.categories:
            continue
        cells = list(columns[column.name])
        strange = policy.recommend({**columns, column.name: [NEVER_SEEN, *cells[1:]]})
        empty = policy.recommend({**columns, column.name: [None, *cells[1:]]})
        flags = strange.encoded.flags
        hold(NEVER_SEEN in flags[0] and column.name in flags[0], 9, f"'{column.name}' was not flagged: {flags[0]!r}.")
        hold(not any(NEVER_SEEN in flag for flag in flags[1:]), 9, "a row was flagged for its neighbour.")
        _hold_same(empty, np.arange(len(empty)), strange, 9, f"'{column.name}' held a category never seen")


def far_number_is_flagged(policy: Policy, columns: Columns) -> None:
    """Law 9: a number far outside the log's range is kept, and flagged on its row."""
    for column in policy.fitted.schema.columns:
        if column.kind not in ("real", "positive", "count") or column.high == column.low:
            continue
        cells = list(columns[column.name])
        far = column.high + 3 * (column.high - column.low)
        advice = policy.recommend({**columns, column.name: [float(round(far)), *cells[1:]]})
        position = policy.fitted.schema.names.index(column.name)
        hold(column.name in advice.encoded.flags[0], 9, f"'{column.name}' was not flagged at {far:g}.")
        hold(advice.encoded.observed[0, position], 9, f"'{column.name}' was dropped at {far:g}.")
        hold(np.isfinite(advice.scored.scores[0]).all(), 9, f"'{column.name}' at {far:g} has no finite score.")


def beyond_a_bound_is_the_bound(policy: Policy, columns: Columns) -> None:
    """Law 9: a number outside the bounds of a bounded column is read as the nearest bound, and flagged on its row."""
    for column in policy.fitted.schema.columns:
        if column.kind != "bounded":
            continue
        cells = list(columns[column.name])
        for bound, beyond in ((column.low, 2 * column.low - column.high), (column.high, 2 * column.high - column.low)):
            at, outside = (policy.recommend({**columns, column.name: [value, *cells[1:]]}) for value in (bound, beyond))
            hold(column.name in outside.encoded.flags[0], 9, f"'{column.name}' was not flagged at {beyond:g}.")
            hold(column.name not in at.encoded.flags[0], 9, f"'{column.name}' was flagged at its bound {bound:g}.")
            _hold_same(at, np.arange(len(at)), outside, 9, f"'{column.name}' held {beyond:g} and not {bound:g}")


def c_near_one_agrees_with_imputation(policy: Policy, columns: Columns) -> None:
    """Law 3: for a `Conservative(c=…)` near 1 the advice is that of x̂ alone; a careful one never claims more."""
    if not isinstance(policy.strategy, Conservative) or policy.strategy.paper_literal:
        return
    encoded = policy.fitted.schema.encode(columns)
    claims = [
        Policy(policy.fitted, strategy, completions=policy.completions, search=policy.search, seed=policy.seed)
        .chooser.score(encoded)
        .scores
        for strategy in (Conservative(c=0.999999), Conservative(c=0.1), Conservative(c=0.0))
    ]
    for bold, careful in pairwise(claims):
        hold((careful <= bold + 1e-5).all(), 3, "a smaller c claims a higher worst case.")
    imputing = Policy(policy.fitted, Imputation(), completions=policy.completions, seed=policy.seed)
    hold(
        close(claims[0], imputing.chooser.score(encoded).scores, 1e-3), 3, "c near 1 does not score as imputation does."
    )


def search_never_claims_more(policy: Policy, columns: Columns) -> None:
    """Law 3: a search only lowers the worst case that the draws alone show, and means do not change."""
    if not policy.searched:
        return
    encoded = policy.fitted.schema.encode(columns)
    drawn = replace(policy, search=Search(steps=0)).chooser.score(encoded)
    searched = policy.chooser.score(encoded)
    hold((searched.worst <= drawn.worst + 1e-5).all(), 3, "a search claims a better worst case than the draws.")
    hold(close(searched.expected, drawn.expected, 1e-5), 3, "a search changed an expected reward.")


def absent_column_is_a_column_of_gaps(policy: Policy, columns: Columns) -> None:
    """Law 9: without one of its columns a table gets the advice of a column of gaps, and a note that names it."""
    name, *others = policy.fitted.schema.names
    if not others:
        return
    without = policy.recommend({other: cells for other, cells in columns.items() if other != name})
    gaps = policy.recommend({**columns, name: [None] * len(without)})
    hold(any(name in note for note in without.notes), 9, f"no note says that column '{name}' is absent.")
    _hold_same(gaps, np.arange(len(gaps)), without, 9, f"column '{name}' was absent instead of empty")


def bad_tables_get_a_sentence(policy: Policy, columns: Columns) -> None:
    """Law 10: bad input is an InputProblem that names the column."""
    name = policy.fitted.schema.names[0]
    hold(name in _refusal(policy, {f"not {name}": [None]}), 10, "a table without any column of the model was accepted.")
    hold(_refusal(policy, {name: [] for name in columns}), 10, "a table without rows was accepted.")


POLICY_LAWS: tuple[Callable[[Policy, Columns], None], ...] = (
    one_row_or_many,
    same_question_same_answer,
    column_order_does_not_matter,
    only_logged_actions,
    unseen_category_is_a_flagged_gap,
    far_number_is_flagged,
    beyond_a_bound_is_the_bound,
    absent_column_is_a_column_of_gaps,
    c_near_one_agrees_with_imputation,
    search_never_claims_more,
    bad_tables_get_a_sentence,
)


def _refusal(policy: Policy, columns: Columns) -> str:
    try:
        policy.recommend(columns)
    except InputProblem as problem:
        return str(problem)
    return ""


def _take(columns: Columns, index: np.ndarray) -> Columns:
    return {name: [cells[row] for row in index] for name, cells in columns.items()}


def _hold_same(whole: Advice, index: np.ndarray, some: Advice, law: int, when: str) -> None:
    """The advice in `some` is that of the rows `index` of `whole`, to float tolerance."""
    for name in ("expected", "worst", "entropy", "scores"):
        same = close(getattr(whole.scored, name)[index], getattr(some.scored, name), 1e-3)
        hold(same, law, f"'{name}' differs when {when}.")
    for row, action in zip(index, some.actions, strict=True):
        scores = np.sort(whole.scored.scores[row])
        tied = scores[-1] - scores[-2] <= 1e-3 * max(1.0, abs(scores[-1]))
        hold(whole.actions[row] == action or tied, law, f"another action is recommended when {when}.")


def _same_cells(frame: Any, other: Any) -> bool:
    before, after = to_table(frame), to_table(other)
    return before.names == after.names and all(
        before.cells(name).equals(after.cells(name), null_equal=True) for name in before.names
    )
