"""What caution costs, and what it gains."""

import math

from prudent.show.frontier import frontier_picture
from prudent.show.json_types import Facts
from prudent.show.numbers import Figures
from prudent.show.report.parts import Part, figure, folded, said, unanswered, words_and_numbers
from prudent.show.text import one_line

TITLE = "Caution: the mean against bad outcomes"


def caution_part(report: Facts) -> Part:
    frontier = report["frontier"]
    if unanswered(frontier):
        return Part("caution", TITLE, said(frontier["sentence"]))
    given = (
        "as asked" if report["below_given"] else "the worst tenth of the logged outcomes; --below sets another limit"
    )
    evaluation = report["values"]["evaluation"]
    reward, better = one_line(evaluation["reward"]), "lower" if evaluation["minimize"] else "higher"
    drawable = any(point["tail_share"] is not None and point["mean_reward"] is not None for point in frontier["points"])
    return Part(
        "caution",
        TITLE,
        [
            said(
                f"Bad outcomes are those {frontier['tail']} ({given}). Every point is a degree of caution on the same "
                f"decisions: to the left are fewer bad outcomes, and a {better} mean is better. A setting is worth "
                "choosing where no other is better in both. Points that are close together are not told apart by this "
                "log.",
                _none_bad(frontier),
            ),
            figure(frontier_picture(frontier)) if drawable else None,
            folded("The numbers of the picture", _table(frontier, reward)),
        ],
    )


def _none_bad(frontier: Facts) -> str | None:
    if any(point["tail_share"] for point in frontier["points"]):
        return None
    return f"Where the advice was followed, no outcome was {frontier['tail']}: caution has nothing left to gain here."


def _table(frontier: Facts, reward: str):
    first = [point for point in frontier["points"] if point["alike"][0] == point["strategy"]]
    write = Figures.of(point[key] for point in first for key in ("mean_reward", "worst_mean"))
    rows = [
        (
            ", ".join(map(one_line, point["alike"])),
            f"{write(point['mean_reward'])} ± {write(point['mean_reward_error'])}",
            f"{_share(point['tail_share'])} ± {_share(point['tail_share_error'])}",
            write(point["worst_mean"]),
            "–" if point["effective_sample_size"] is None else f"{point['effective_sample_size']:,.0f}",
        )
        for point in first
    ]
    headings = ("setting", f"mean {reward} ± standard error", f"share {frontier['tail']}", "mean of the worst 5%")
    return words_and_numbers((*headings, "effective sample size"), rows)


def _share(share: float | None) -> str:
    return "–" if share is None or math.isnan(share) else f"{share:.1%}"
