"""The picture of an explanation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prudent.show.pictures import Picture, PriceRow, price_rows

if TYPE_CHECKING:
    from prudent.decide import ActionPrice, Explanation

MOST_ROWS = 12


def explanation_picture(told: Explanation) -> Picture:
    shown, left_out = _shown(told)
    rows = [
        PriceRow(
            str(price.action),
            price.expected_reward,
            price.low_reward,
            price.high_reward,
            price.worst_reward,
            price.guaranteed_reward,
            chosen=price.action == told.action,
            allowed=price.allowed,
        )
        for price in shown
    ]
    note = f"{left_out} more actions, which the strategy ranks lower, are not shown." if left_out else ""
    better = "lower" if told.minimize else "higher"
    return price_rows(
        rows,
        title=f"{told.reward_name} by {told.action_name}",
        name=told.action_name,
        axis=f"{told.reward_name} ({better} is better)",
        floor=told.floor,
        note=note,
    )


def _shown(told: Explanation) -> tuple[list[ActionPrice], int]:
    """The actions in the log's order; where there are too many, those that rank highest and the one in question."""
    if len(told.prices) <= MOST_ROWS:
        return list(told.prices), 0
    ranked = sorted(told.prices, key=lambda price: (price.action != told.about, price.rank))
    kept = {id(price) for price in ranked[:MOST_ROWS]}
    return [price for price in told.prices if id(price) in kept], len(told.prices) - MOST_ROWS
