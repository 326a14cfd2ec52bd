"""Pictures of the results: mean against tail for all rows, which actions are taken, and how rewards fall."""

import json
import math
from collections.abc import Sequence
from pathlib import Path

from experiments.command import Files
from experiments.frontier_picture import Aim, Axis, Frontier
from experiments.histogram_picture import Histograms, bars, colour_of, described
from experiments.mnist.aims import failures_picture
from experiments.mnist.cases import Showcase
from experiments.mnist.data import DIGITS
from experiments.mnist.page import page
from experiments.mnist.settings import CAREFUL_AIM, DRAWN, PAPER, PRINTED
from experiments.mnist.showcase import sheet
from experiments.results import Results
from experiments.strategy_order import family, representatives
from prudent.show import MARGIN, SOFT, WARNING, Area, Box, Element, Picture, Scale, Text, upwards

REWARD_PANEL, REWARD_GAP, REWARD_HEIGHT, LABELS = 204.0, 24.0, 120.0, 52.0
RAREST = 1e-5
"""The least share that is drawn: one test image in 100 000."""
FRONTIER = Frontier(
    "Mean reward against rewards below −7",
    threshold="−7",
    of="in 1000",
    means=Axis(0.2, (-9, -6, -4, -3, -2, -1.5, -1, -0.7, -0.5, -0.4, -0.3, -0.2, -0.1, 0)),
    belows=Axis(0.05, (0, 0.1, 0.3, 1, 3, 10, 30, 100, 300, 1000)),
    aim=Aim(CAREFUL_AIM, 0.0, f"aim: none below −7, mean −{-CAREFUL_AIM:g} or better"),
    printed={name: (mean, below) for name, (mean, _, below, _) in PRINTED.items()},
)


def files(out: Path) -> Files:
    """All pictures of the stored results, and the page of ten images where there is a showcase."""
    results = json.loads((out / "mnist.json").read_text(encoding="utf-8"))
    rows = [row for row in results["rows"] if row["model"] == DRAWN or not row["model"].startswith(f"{PAPER}, ")]
    pictures = {"frontier": FRONTIER.picture(rows)}
    models = compared(rows)
    if models:
        pictures |= {"actions": actions_picture(models), "rewards": rewards_picture(models)}
    if results["left"]:
        pictures["left"] = failures_picture(results)
    pages: Files = {}
    if (out / "showcase.npz").exists():
        showcase = Showcase.read(out / "showcase.npz").few()
        pictures["ten-images"] = sheet(showcase)
        pages = {"page.html": page(showcase)}
    return {f"pictures/{name}.svg": picture.svg() for name, picture in pictures.items()} | pages


def compared(rows: Sequence[Results]) -> dict[str, list[Results]]:
    """The paper's model as it is and the best of ours, whose caution is set by risk."""
    theirs = FRONTIER.by_model([row for row in rows if row["group"] == "paper"])
    ours = FRONTIER.by_model(
        [row for row in rows if row["group"] == "ours" and not family(row["strategy"]).endswith("(c)")]
    )
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
    words = "; ".join(described(row, "rewards") for rows in shown.values() for row in rows)
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
        *bars(
            [max(share, RAREST) if share > 0 else 0.0 for share in row["rewards"]], panel, scale, colour_of(row), labels
        ),
    ]
