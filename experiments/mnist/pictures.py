"""Pictures of the results: mean against tail for all rows, which actions are taken, and how rewards fall."""

import math
from collections.abc import Sequence
from pathlib import Path

from experiments.bars import Histograms, bars, colour_of, told
from experiments.mnist.data import DIGITS
from experiments.mnist.frontier import by_model, frontier_picture
from experiments.order import family, representatives
from experiments.pages import Results
from prudent.show import MARGIN, SOFT, WARNING, Area, Box, Element, Picture, Scale, Text, upwards

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
    note = "Share of the test images, in %, for actions 0 to 9. Each digit is a tenth of them (dashed line)."
    digits = [str(digit) for digit in range(DIGITS)]
    return Histograms("Which actions are taken", note, "actions", digits, [1 / DIGITS] * DIGITS).picture(models)


def rewards_picture(models: dict[str, list[Results]]) -> Picture:
    """How rewards fall, on a logarithmic axis, so that one in 100 000 can be seen beside a half."""
    title = "How rewards fall: the tail on a logarithmic axis"
    shown = {
        model: [rows[at] for at in representatives([row["strategy"] for row in rows])] for model, rows in models.items()
    }
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
    words = "; ".join(told(row, "rewards") for rows in shown.values() for row in rows)
    return Picture(width, y - 20, tuple(elements), title, words)


def _rewards(row: Results, panel: Box) -> list[Element]:
    ticks = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0)
    labels = ("0.001 %", "0.01 %", "0.1 %", "1 %", "10 %", "100 %")
    scale = Scale(math.log10(RAREST) - 0.15, 0.0, panel.bottom, panel.top, ticks, labels, "", logarithmic=True)
    step = (panel.right - panel.left) / len(row["rewards"])
    tail = Box(panel.left + 7.5 * step, panel.top, panel.right, panel.bottom)
    labels = [f"−{digit}" if digit else "0" for digit in range(DIGITS)]
    mean = f"mean {row['mean']:.2f} · {row['below']:.2f} in 1000 below −7".replace("-", "−")
    return [
        Text.fitted(panel.left - LABELS, panel.top - 26, row["strategy"], REWARD_PANEL, 11),
        Text.fitted(panel.left - LABELS, panel.top - 11, mean, REWARD_PANEL, 10, colour=SOFT),
        Area(tail, WARNING, opacity=0.12),
        *upwards(scale, panel),
        *bars([max(own, RAREST) if own > 0 else 0.0 for own in row["rewards"]], panel, scale, colour_of(row), labels),
    ]
