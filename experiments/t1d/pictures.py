"""Pictures of the results: mean against tail for all rows, which doses are given, and glucose after a few meals."""

import json
from collections.abc import Sequence
from pathlib import Path

from experiments.command import Files, read_showcase
from experiments.frontier_picture import Aim, Axis, Frontier
from experiments.histogram_picture import Histograms
from experiments.results import Results
from experiments.t1d.curves import curves_picture
from experiments.t1d.settings import BEST
from experiments.t1d.verdict import best, rivals_of
from prudent.show import Picture

MEANS = Axis(0.3, (-9, -6, -4, -3, -2, -1.5, -1, -0.7, -0.4, -0.2, 0, 0.2, 0.4, 0.6, 0.7, 0.8, 0.9, 1), best=1.0)
SHARES = Axis(1.0, (0, 0.3, 1, 2, 3, 5, 10, 20, 30, 50, 100))
TOGETHER = {"trivial": "no model", "rival": "rivals", "limit": "what no log tells"}
MOST_RIVALS = 3


def files(out: Path) -> Files:
    """Two pictures of every clinic in the stored results, and the glucose curves where there is a showcase."""
    results = json.loads((out / "t1d.json").read_text(encoding="utf-8"))
    pictures = {}
    for name, clinic in results["clinics"].items():
        pictures |= {f"frontier-{name}": frontier_picture(clinic), f"doses-{name}": doses_picture(clinic)}
    showcase = read_showcase(out)
    if showcase:
        pictures["curves"] = curves_picture(showcase)
    return {f"pictures/{name}.svg": picture.svg() for name, picture in pictures.items()}


def frontier_picture(clinic: Results) -> Picture:
    rows: Sequence[Results] = clinic["rows"]
    rival = best(rivals_of(rows), "below")
    words = "aim: half of the lowest share of a rival, at its mean or better"
    aim = Aim(rival["mean"], 100 * rival["below"] / 2, words) if rival is not None else None
    frontier = Frontier(
        f"Mean reward against rewards below −2: {clinic['title']}",
        threshold="−2",
        of="in 100",
        means=MEANS,
        belows=SHARES,
        aim=aim,
        together=TOGETHER,
    )
    return frontier.picture([row | {"below": 100 * row["below"]} for row in rows])


def doses_picture(clinic: Results) -> Picture:
    """Our strategies, the rivals with the best means, the clinic; strokes say how often a dose is the best there is."""
    rows: Sequence[Results] = clinic["rows"]
    by_name = {row["name"]: row for row in rows}
    ordered = sorted(rivals_of(rows), key=lambda row: -row["mean"])[:MOST_RIVALS]
    others = [*ordered, *(by_name[name] for name in ("clinic's log",) if name in by_name)]
    frontier = Frontier("", "", "", MEANS, SHARES)
    models = frontier.by_model([row for row in rows if row["model"] == BEST])
    models |= {"rivals with the best means, and the clinic": others} if others else {}
    oracle = by_name.get("oracle", {"doses": [0.0] * len(clinic["units"])})
    labels = [f"{unit:g}" for unit in clinic["units"]]
    note = (
        f"Share of the test meals, in %, by units of insulin: {', '.join(labels)}. Strokes: how often a dose is the "
        "best, by the truth (of equals the lowest)."
    )
    return Histograms(
        f"Which doses are given: {clinic['title']}",
        note,
        "doses",
        labels,
        oracle["doses"],
        lambda row: row["strategy"] if row["model"] == BEST else row["name"],
    ).picture(models)
