"""The picture of an explanation."""

from prudent.show.explanation.text import action_name, barred
from prudent.show.json_types import Facts
from prudent.show.pictures.picture import Picture
from prudent.show.pictures.prices import PriceRow, price_rows

MOST_ROWS = 12


def explanation_picture(case: Facts) -> Picture:
    """A row per action of the facts of an explanation (`Explanation.to_dict`)."""
    prices, left_out = _drawn_prices(case)
    rows = [
        PriceRow(
            action_name(price),
            price["expected_reward"],
            price["low_reward"],
            price["high_reward"],
            price["worst_reward"],
            price["guaranteed_reward"],
            chosen=price["action"] == case["action"],
            allowed=not barred(price),
            outcome=None if price["outcome_low"] is None else (price["outcome_low"], price["outcome_high"]),
        )
        for price in prices
    ]
    note = f"{left_out} more actions, which the strategy ranks lower, are not shown." if left_out else ""
    better = "lower" if case["minimize"] else "higher"
    return price_rows(
        rows,
        title=f"{case['reward_name']} by {case['action_name']}",
        name=case["action_name"],
        axis=f"{case['reward_name']} ({better} is better)",
        floor=case["floor"],
        note=note,
        origin=case["origin"],
    )


def _drawn_prices(case: Facts) -> tuple[list[Facts], int]:
    """The actions in the log's order, and how many are left out: with too many, the one in question and those that
    rank highest are drawn."""
    prices = case["prices"]
    if len(prices) <= MOST_ROWS:
        return prices, 0
    ranked = sorted(prices, key=lambda price: (price["action"] != case["about"], price["rank"]))
    drawn = {price["rank"] for price in ranked[:MOST_ROWS]}
    return [price for price in prices if price["rank"] in drawn], len(prices) - MOST_ROWS
