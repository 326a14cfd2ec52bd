"""Pictures of the results: mean against tail for all rows, which actions are taken, and how rewards fall."""

import math
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from experiments.mnist.frontier import by_model, frontier_picture
from experiments.mnist.order import family, representatives
from experiments.pages import Results
from prudent.pictures import Picture
from prudent.pictures.axes import MARGIN, Scale, nice_ticks, upwards
from prudent.pictures.palette import CHOSEN, OTHERS, SOFT, WARNING, Colour
from prudent.pictures.picture import Area, Box, Element, Line, Text

ACROSS, PANEL, GAP = 6, 130.0, 28.0
REWARD_PANEL, REWARD_GAP, REWARD_HEIGHT, LABELS = 204.0, 24.0, 120.0, 52.0
RAREST = 1e-5
"""The least share that is drawn: one test image in 100 000."""


def write_pictures(results: Results, folder: Path) -> None:
    """`frontier.svg`, and where the paper's model or ours was run `actions.svg` and `rewards.svg`."""
    folder.mkdir(parents=True, exist_ok=True)
    rows: list[Results] = results["rows"]
    (folder / "frontier.svg").write_text(frontier_picture(rows).svg(), encoding="utf-8")
    models = compared(rows)
    if models:
        (folder / "actions.svg").write_text(actions_picture(models).svg(), encoding="utf-8")
        (folder / "rewards.svg").write_text(rewards_picture(models).svg(), encoding="utf-8")


def compared(rows: Sequence[Results]) -> dict[str, list[Results]]:
    """The paper's model as it is and the best of ours, whose caution is set by risk."""
    theirs = by_model([row for row in rows if row["group"] == "paper"])
    ours = by_model([row for row in rows if row["group"] == "ours" and not family(row["strategy"]).endswith("(c)")])
    best = max(ours, key=lambda model: max(row["mean"] for row in ours[model]), default=None)
    return theirs | ({best: ours[best]} if best is not None else {})


def actions_picture(models: dict[str, list[Results]]) -> Picture:
    """How often each strategy takes each action, one panel each, from bold to careful."""
    title = "Which actions are taken"
    top = max([0.2, *(share for rows in models.values() for row in rows for share in row["actions"])])
    width = 2 * MARGIN + ACROSS * PANEL + (ACROSS - 1) * GAP
    elements: list[Element] = [Text(MARGIN, MARGIN + 10, title, 16, bold=True)]
    note = "Share of the test images, in %, for actions 0 to 9. Each digit is a tenth of them (dashed line)."
    elements.append(Text(MARGIN, MARGIN + 30, note, 11, colour=SOFT))
    y = MARGIN + 62
    for model, rows in models.items():
        elements.append(Text(MARGIN, y, model, 13, bold=True))
        for line in _lines(rows):
            for at, row in enumerate(line):
                left = MARGIN + at * (PANEL + GAP)
                elements += _actions(row, Box(left + 20, y + 38, left + PANEL, y + 114), top)
            y += 146
        y += 22
    told = "; ".join(_told(row, "actions") for rows in models.values() for row in rows)
    return Picture(width, y, tuple(elements), title, told)


def _lines(rows: Sequence[Results]) -> list[list[Results]]:
    """Panels in lines; a family of strategies is not broken where one line holds it."""
    lines: list[list[Results]] = [[]]
    for _, members in groupby(rows, key=lambda row: family(row["strategy"])):
        own = list(members)
        if lines[-1] and len(lines[-1]) + len(own) > ACROSS:
            lines.append([])
        for row in own:
            if len(lines[-1]) == ACROSS:
                lines.append([])
            lines[-1].append(row)
    return lines


def _strategies(rows: Sequence[Results]) -> list[str]:
    return [row["strategy"] for row in rows]


def _told(row: Results, what: str) -> str:
    return f"{row['name']}: " + ", ".join(f"{100 * share:.3g} %" for share in row[what])


def _colour(row: Results) -> Colour:
    return CHOSEN if row["group"] == "ours" else OTHERS


def _actions(row: Results, panel: Box, top: float) -> list[Element]:
    ticks = tuple(nice_ticks(0.0, top, 4))
    scale = Scale(0.0, top, panel.bottom, panel.top, ticks, tuple(f"{100 * tick:.0f}" for tick in ticks), "")
    tenth = scale(1 / len(row["actions"]))
    elements = [
        Text.fitted(panel.left - 20, panel.top - 14, row["strategy"], PANEL + GAP - 8, 11),
        *upwards(scale, panel),
    ]
    elements += _bars(row["actions"], panel, scale, _colour(row))
    elements.append(Line(((panel.left, tenth), (panel.right, tenth)), SOFT, 0.8, "3 3"))
    return elements


def _bars(shares: Sequence[float], panel: Box, scale: Scale, colour: Colour, sign: str = "") -> list[Element]:
    step = (panel.right - panel.left) / len(shares)
    elements: list[Element] = []
    for at, share in enumerate(shares):
        x = panel.left + (at + 0.5) * step
        if share > 0:
            top = min(scale(share), panel.bottom - 0.6)
            elements.append(Area(Box(x - 0.38 * step, top, x + 0.38 * step, panel.bottom), colour))
        elements.append(Text(x, panel.bottom + 13, f"{sign if at else ''}{at}", 9, "middle", SOFT))
    return elements


def rewards_picture(models: dict[str, list[Results]]) -> Picture:
    """How rewards fall, on a logarithmic axis, so that one in 100 000 can be seen beside a half."""
    title = "How rewards fall: the tail on a logarithmic axis"
    shown = {model: [rows[at] for at in representatives(_strategies(rows))] for model, rows in models.items()}
    width = 2 * MARGIN + max(map(len, shown.values())) * (REWARD_PANEL + REWARD_GAP) - REWARD_GAP
    elements: list[Element] = [Text(MARGIN, MARGIN + 10, title, 16, bold=True)]
    note = (
        "Share of the test images by rounded reward; shaded: below −7. Of several risks (or c) the middle one is shown."
    )
    elements.append(Text(MARGIN, MARGIN + 30, note, 11, colour=SOFT))
    y = MARGIN + 62
    for model, rows in shown.items():
        elements.append(Text(MARGIN, y, model, 13, bold=True))
        for at, row in enumerate(rows):
            left = MARGIN + at * (REWARD_PANEL + REWARD_GAP)
            elements += _rewards(row, Box(left + LABELS, y + 50, left + REWARD_PANEL, y + 50 + REWARD_HEIGHT))
        y += REWARD_HEIGHT + 104
    told = "; ".join(_told(row, "rewards") for rows in shown.values() for row in rows)
    return Picture(width, y - 20, tuple(elements), title, told)


def _rewards(row: Results, panel: Box) -> list[Element]:
    ticks = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0)
    labels = ("0.001 %", "0.01 %", "0.1 %", "1 %", "10 %", "100 %")
    scale = Scale(math.log10(RAREST) - 0.15, 0.0, panel.bottom, panel.top, ticks, labels, "", logarithmic=True)
    step = (panel.right - panel.left) / len(row["rewards"])
    tail = Box(panel.left + 7.5 * step, panel.top, panel.right, panel.bottom)
    mean = f"mean {row['mean']:.2f} · {row['below']:.2f} in 1000 below −7".replace("-", "−")
    return [
        Text.fitted(panel.left - LABELS, panel.top - 26, row["strategy"], REWARD_PANEL, 11),
        Text.fitted(panel.left - LABELS, panel.top - 11, mean, REWARD_PANEL, 10, colour=SOFT),
        Area(tail, WARNING, opacity=0.12),
        *upwards(scale, panel),
        *_bars([max(own, RAREST) if own > 0 else 0.0 for own in row["rewards"]], panel, scale, _colour(row), "−"),
    ]
