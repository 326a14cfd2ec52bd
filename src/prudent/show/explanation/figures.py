"""How the rewards of one explained case are written: all with the same decimals."""

from prudent.show.json_types import Facts
from prudent.show.numbers import Figures


def case_figures(case: Facts) -> Figures:
    """One way of writing all rewards of the case."""
    prices = (price[name] for price in case["prices"] for name in ("expected_reward", "worst_reward"))
    return Figures.of(prices, case["origin"])


def is_nothing(case: Facts, number: float) -> bool:
    """Whether a difference of rewards is zero as far as it is written."""
    write = case_figures(case)
    return write(abs(number)) == write(0.0)


def gain(case: Facts, number: float) -> str:
    """A gain with the sign it has for the user: negative if the reward is to be minimised."""
    written = case_figures(case)(abs(number))
    if number == 0:
        return written
    return ("−" if (number < 0) != case["minimize"] else "+") + written
