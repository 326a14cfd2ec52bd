"""The words and figures of an explanation, the same in text and on the page."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from prudent.show.numbers import Figures, percent
from prudent.show.pictures.text import plain

if TYPE_CHECKING:
    from prudent.decide import ActionPrice, Change, Explanation

NOT_ALLOWED = " (not allowed)"


def explanation_text(told: Explanation) -> str:
    lines = [headline(told) + ("" if told.status.name == "OK" else f" ({told.status})"), f"Why: {told.reason}"]
    if told.flags:
        lines.append(f"Note: {told.flags}")
    lines += _aligned(told)
    if told.observed:
        lines.append(f"Known: {_listed(told.observed, known_cell)}")
    if told.most_likely:
        lines.append(f"Most likely values of what is missing: {_listed(told.most_likely, guessed_cell)}")
        lines.append(f"Worst plausible values for {told.about}: {_listed(told.worst_case, guessed_cell)}")
    return "\n".join([*lines, *certainty(told), *change_sentences(told), *measuring_sentences(told)])


def headline(told: Explanation) -> str:
    if told.action is None:
        return "No action is recommended"
    return f"{'Fallback' if told.status.name == 'FALLBACK' else 'Recommended'}: {plain(told.action)}"


def figures(told: Explanation) -> Figures:
    """One way of writing all rewards of the case."""
    return Figures.of(n for price in told.prices for n in (price.expected_reward, price.worst_reward))


def price_columns(told: Explanation) -> tuple[list[str], list[list[str]]]:
    """Heads and one row of text per action; columns that say nothing for any action are left out."""
    figure = figures(told)
    always: list[tuple[str, Callable[[ActionPrice], str]]] = [
        ("expected", lambda price: figure(price.expected_reward)),
        ("5 % to 95 %", lambda price: f"{figure(price.low_reward)} to {figure(price.high_reward)}"),
        ("worst plausible", lambda price: figure(price.worst_reward)),
        ("chance best", lambda price: percent(price.chance_best)),
    ]
    sometimes: list[tuple[str, Callable[[ActionPrice], float | None]]] = [
        ("guaranteed", lambda price: price.guaranteed_reward),
        ("doubt", lambda price: price.doubt),
        ("noise", lambda price: price.noise),
        ("cost", lambda price: price.cost),
    ]
    extra = [(name, own) for name, own in sometimes if any(own(price) for price in told.prices)]
    heads = [plain(told.action_name), *(name for name, _ in always), *(name for name, _ in extra)]
    rows = [
        [action_name(price), *(write(price) for _, write in always), *(figure(own(price)) for _, own in extra)]
        for price in told.prices
    ]
    return heads, rows


def action_name(price: ActionPrice) -> str:
    return plain(price.action) + ("" if price.allowed else NOT_ALLOWED)


def _aligned(told: Explanation) -> list[str]:
    heads, rows = price_columns(told)
    widths = [max(len(row[at]) for row in [heads, *rows]) for at in range(len(heads))]

    def line(mark: str, cells: list[str]) -> str:
        padded = [f"{cell:>{width}}" for cell, width in zip(cells[1:], widths[1:], strict=True)]
        return "  ".join([f"{mark} {cells[0]:<{widths[0]}}", *padded])

    marks = ["→" if price.action == told.about else " " for price in told.prices]
    return [line(" ", heads), *(line(mark, row) for mark, row in zip(marks, rows, strict=True))]


def certainty(told: Explanation) -> list[str]:
    """How much was weighed, and how sure the best action is."""
    if not told.most_likely:
        return ["Nothing is missing in this record."]
    bits = f"{told.action_entropy:.2f} bits"
    return [
        f"The cases counted as plausible hold {percent(told.plausible_share)} of the probability.",
        f"How unsure the best action is, given the gaps: {bits} (0: the same action is best whatever is missing)",
    ]


def change_sentences(told: Explanation) -> list[str]:
    return [_change(change) for change in told.changes]


def _change(change: Change) -> str:
    return (
        f"If {plain(change.attribute)} turned out {plain(change.values)} (chance {percent(change.chance)}), "
        f"{plain(change.action)} would be recommended instead."
    )


def measuring_sentences(told: Explanation) -> list[str]:
    if not told.measurements:
        return []
    if told.measure_next is None:
        return ["No missing cell is worth measuring for this decision alone."]
    best = next(own for own in told.measurements if own.attribute == told.measure_next)
    after = ", after its cost" if best.cost else ""
    worth = f"{gain(told, best.gain)} {plain(told.reward_name)} {told.gain_measure}{after}"
    return [f"Most worth measuring first: {plain(best.attribute)} ({worth})"]


def gain(told: Explanation, number: float) -> str:
    """A gain with the sign it has for the user: less, where the reward is to be small."""
    written = figures(told)(abs(number))
    if number == 0:
        return written
    return ("−" if (number < 0) != told.minimize else "+") + written


def known_cell(value: Any) -> str:
    return f"{value:.7g}" if isinstance(value, float) else plain(value)


def guessed_cell(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else plain(value)


def _listed(values: dict[str, Any], write: Callable[[Any], str]) -> str:
    return ", ".join(f"{plain(name)} = {write(value)}" for name, value in values.items())
