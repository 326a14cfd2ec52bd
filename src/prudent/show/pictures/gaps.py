"""The gaps of a table: how often each column is empty, and which columns are empty together."""

from collections.abc import Sequence

from prudent.show.numbers import percent
from prudent.show.pictures.axes import MARGIN
from prudent.show.pictures.palette import CHOSEN, INK, RULE, SOFT, WARNING
from prudent.show.pictures.picture import Area, Box, Element, Line, Picture, Text

WIDTH, NAMES, ROW, TOP = 720.0, 190.0, 19.0, 92.0
BARS, STEP = (200.0, 330.0), 31.0
MOST_COLUMNS = 30
TITLE = "Where the gaps are"


def gaps_picture(
    columns: Sequence[tuple[str, float]], patterns: Sequence[tuple[Sequence[str], int]], rows: int
) -> Picture:
    """columns: with the share of their cells that are empty. patterns: columns that are empty together, and in how many
    rows; the most frequent first."""
    gappy = sorted((one for one in columns if one[1] > 0), key=lambda one: -one[1])
    shown, left_out = gappy[:MOST_COLUMNS], len(gappy) - MOST_COLUMNS
    elements: list[Element] = [Text(MARGIN, MARGIN + 10, TITLE, 16, bold=True)]
    room = int((WIDTH - MARGIN - BARS[1] - 70) // STEP)
    left = BARS[1] + 70
    bottom = TOP + ROW * len(shown)
    elements.append(Text(BARS[0], TOP - 12, "empty cells", 11, colour=SOFT))
    elements.append(Text(left, TOP - 32, "empty together, and in how many of the rows", 11, colour=SOFT))
    for at, (name, share) in enumerate(shown):
        y = TOP + ROW * at
        elements.append(Line(((MARGIN, y + ROW), (WIDTH - MARGIN, y + ROW)), RULE))
        elements.append(Text.fitted(MARGIN, y + 14, name, NAMES - MARGIN - 6))
        end = BARS[0] + share * (BARS[1] - BARS[0])
        elements.append(Area(Box(BARS[0], y + 4, max(end, BARS[0] + 1), y + ROW - 4), CHOSEN))
        elements.append(Text(end + 6, y + 14, percent(share), 11, colour=INK))
    places = {name: at for at, (name, _) in enumerate(shown)}
    for at, (missing, count) in enumerate(patterns[:room]):
        x = left + STEP * (at + 0.5)
        elements.append(Text(x, TOP - 12, percent(count / rows), 11, "middle", SOFT))
        elements.append(Line(((x, TOP), (x, bottom)), RULE))
        for name in missing:
            if name in places:
                y = TOP + ROW * places[name]
                elements.append(Area(Box(x - 8, y + 4, x + 8, y + ROW - 4), WARNING, rounded=2))
    if left_out > 0:
        elements.append(
            Text(MARGIN, bottom + 18, f"{left_out} more columns with fewer gaps are not shown.", colour=SOFT)
        )
    described = "Empty cells: " + ", ".join(f"{name} {percent(share)}" for name, share in shown)
    together = "; ".join(
        f"{', '.join(missing) or 'nothing'} in {percent(count / rows)} of the rows"
        for missing, count in patterns[:room]
    )
    return Picture(WIDTH, bottom + 30, tuple(elements), TITLE, f"{described}. Empty together: {together}.")
