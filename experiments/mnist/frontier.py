"""The picture of mean reward against the worst rewards: all rows, what the paper prints, and the aim."""

from collections.abc import Sequence

from experiments.frontier import Aim, Axis, Frontier
from experiments.mnist.settings import CAREFUL_AIM, PRINTED
from experiments.pages import Results
from prudent.show import Picture

FRONTIER = Frontier(
    "Mean reward against rewards below −7",
    threshold="−7",
    of="in 1000",
    means=Axis(0.2, (-9, -6, -4, -3, -2, -1.5, -1, -0.7, -0.5, -0.4, -0.3, -0.2, -0.1, 0)),
    belows=Axis(0.05, (0, 0.1, 0.3, 1, 3, 10, 30, 100, 300, 1000)),
    aim=Aim(CAREFUL_AIM, 0.0, f"aim: none below −7, mean −{-CAREFUL_AIM:g} or better"),
    printed={name: (mean, below) for name, (mean, _, below, _) in PRINTED.items()},
)


def by_model(rows: Sequence[Results]) -> dict[str, list[Results]]:
    """The rows of each model in the order of their caution; what needs no model stands together."""
    return FRONTIER.by_model(rows)


def frontier_picture(rows: Sequence[Results]) -> Picture:
    return FRONTIER.picture(rows)
