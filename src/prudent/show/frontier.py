"""The frontier of caution as a table of text and as a picture, from the facts of `Frontier.to_dict`."""

from collections.abc import Iterable, Sequence

from prudent.show.json_types import Facts
from prudent.show.pictures.charts import Series, scatter_lines
from prudent.show.pictures.picture import Picture
from prudent.show.tables import TextTable

TEXT_WIDTH = 120  # room for all columns side by side


def frontier_text(frontier: Facts) -> str:
    """One line per setting: mean ± standard error, and the upper end of the tail share's interval; then the notes.

    Settings that decide every row alike share a line.
    """
    headings = "setting", "mean reward", frontier["tail"], "at most", "worst 5 %", "effective\nsample size"
    first = [point for point in frontier["points"] if point["alike"][0] == point["strategy"]]
    table = TextTable(headings, [_cells(point) for point in first])
    return "\n".join([table.text(TEXT_WIDTH), *frontier["notes"]])


def _cells(point: Facts) -> tuple[str, ...]:
    return (
        ", ".join(point["alike"]),
        _with_error(point, "mean_reward", ".3f"),
        _with_error(point, "tail_share", ".2%"),
        _written(point["tail_share_high"], ".2%"),
        _with_error(point, "worst_mean", ".3f"),
        _written(point["effective_sample_size"], ".0f"),
    )


def _with_error(point: Facts, name: str, form: str) -> str:
    return f"{_written(point[name], form)} ± {_written(point[f'{name}_error'], form)}"


def _written(number: float | None, form: str) -> str:
    return "–" if number is None else format(number, form)


def frontier_picture(frontier: Facts) -> Picture:
    """Mean reward against tail share, one line per family of settings."""
    axes = f"outcomes {frontier['tail']}, in %", "mean reward"
    return scatter_lines(frontier_series(frontier["points"]), *axes, "What caution costs, and what it gains")


def frontier_series(points: Iterable[Facts], suffix: str = "") -> Sequence[Series]:
    """The lines of the picture, (tail share in %, mean reward) by family, each from most to least careful."""
    families: dict[str, list[Facts]] = {}
    for point in points:
        families.setdefault(point["family"], []).append(point)
    return [
        Series(family + suffix, [_spot(point) for point in sorted(members, key=lambda point: point["boldness"])])
        for family, members in families.items()
    ]


def _spot(point: Facts) -> tuple[float, float, str]:
    share, mean = (float("nan") if point[key] is None else point[key] for key in ("tail_share", "mean_reward"))
    return 100 * share, mean, point["setting"]
