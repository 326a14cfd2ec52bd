"""Pictures of the MNIST experiment: images decode to their pixels, pages escape and hold all, words stay clear."""

import base64
import json
import struct
import zlib
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from clear_words import assert_words_are_clear

from experiments.mnist.aims import failures_picture
from experiments.mnist.cases import MOST, Showcase
from experiments.mnist.images import ABSENT, image_uri
from experiments.mnist.page import page
from experiments.mnist.pictures import FRONTIER, actions_picture, compared, files, rewards_picture
from experiments.mnist.settings import OURS_STRATEGIES, PAPER_C, PRINTED
from experiments.mnist.showcase import sheet
from prudent.errors import InputProblem
from prudent.show import Picture

STRATEGIES = ("Imputation", "MaximumExpectedReward", "TailAverse(risk=0.05)", "Conservative(risk=0.05)")
HOSTILE = "<script>alert(1)</script> & \"quoted\" 'single'"
ACTIONS = 10
THEIRS = "theirs <1>"
NAMES = ("frontier", "actions", "rewards", "ten-images")


def decoded(uri: str) -> np.ndarray:
    """The pixels of a PNG without filters, [side, side] or [side, side, 3]."""
    data = base64.b64decode(uri.removeprefix("data:image/png;base64,"))
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    chunks, at = {}, 8
    while at < len(data):
        (length,) = struct.unpack(">I", data[at : at + 4])
        kind, body = data[at + 4 : at + 8], data[at + 8 : at + 8 + length]
        assert struct.unpack(">I", data[at + 8 + length : at + 12 + length]) == (zlib.crc32(kind + body),)
        chunks[kind], at = body, at + 12 + length
    width, height, depth, colours = struct.unpack(">IIBB", chunks[b"IHDR"][:10])
    lines = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), np.uint8).reshape(height, -1)
    assert depth == 8
    assert not lines[:, 0].any()
    assert list(chunks) == [b"IHDR", b"IDAT", b"IEND"]
    return lines[:, 1:].reshape((height, width, 3) if colours == 2 else (height, width))


@pytest.mark.parametrize("side", [1, 7, 28])
def test_an_image_decodes_to_its_pixels_as_ink_on_paper(side: int):
    random = np.random.default_rng(side)
    pixels = random.integers(0, 256, side * side).astype(np.uint8)
    observed = random.random(side * side) < 0.5
    before = pixels.copy()
    np.testing.assert_array_equal(255 - decoded(image_uri(pixels)).ravel(), pixels)
    seen = decoded(image_uri(pixels, observed)).reshape(-1, 3)
    np.testing.assert_array_equal(255 - seen[observed], np.repeat(pixels[observed, None], 3, axis=1))
    assert (seen[~observed] == ABSENT).all()
    np.testing.assert_array_equal(pixels, before)


def test_an_image_that_is_no_square_is_refused():
    with pytest.raises(InputProblem, match="square"):
        image_uri(np.zeros(48, np.uint8))


def archive(folder: Path, strategies: tuple[str, ...] = STRATEGIES, side: int = 7) -> Path:
    """Ten made-up cases: digits as bars of ink, between two of which each case cannot decide."""
    random = np.random.default_rng(0)
    label = np.arange(ACTIONS)
    pixels = np.zeros((ACTIONS, side * side), np.uint8)
    for digit in label:
        pixels[digit, : 4 * digit] = 255
    other = (label + 3) % ACTIONS
    guesses = np.stack([label if at % 2 == 0 else other for at in range(8)], axis=1)
    chance = np.zeros((ACTIONS, ACTIONS))
    chance[label, label], chance[label, other] = 0.7, 0.3
    prices = -np.abs(label[:, None] - label[None, :]).astype(float)
    worst = np.minimum(prices[label], prices[other])
    path = folder / "showcase.npz"
    np.savez(
        path,
        label=label,
        pixels=pixels,
        observed=random.random(pixels.shape) < 0.5,
        completions=pixels[guesses],
        completion_share=np.full((ACTIONS, 8), 0.12),
        completion_action=guesses,
        chance=chance,
        expected=0.7 * prices[label] + 0.3 * prices[other],
        worst=worst,
        tail=worst + 0.2,
        strategies=np.array(strategies),
        choice=np.stack([(label + at) % ACTIONS for at in range(len(strategies))], axis=1),
    )
    return path


@pytest.mark.parametrize("side", [7, 28])
def test_the_page_and_the_sheet_show_every_case_and_strategy(side: int, tmp_path: Path):
    showcase = Showcase.read(archive(tmp_path, side=side)).few()
    html, svg = page(showcase), sheet(showcase).svg()
    ElementTree.fromstring(svg)
    for name in STRATEGIES:
        assert html.count(f" {name}</th>") == ACTIONS
        assert svg.count(f">{name}</text>") == ACTIONS + 1
    assert html.count("<article>") == ACTIONS
    assert html.count("<img") == svg.count("<image ") == ACTIONS * (1 + 6 + 1)
    assert "<script" not in html
    assert "It was an 8." in html
    assert "It was a 7." in svg


def test_the_choices_are_judged_by_the_truth(tmp_path: Path):
    showcase = Showcase.read(archive(tmp_path))
    assert showcase.cases[4].rewards == [0, -1, -2, -3]
    assert showcase.cases[9].rewards == [0, -9, -8, -7]
    assert showcase.tally(1) == "these 10: −18 in all, worst −9"


def test_names_are_escaped(tmp_path: Path):
    showcase = Showcase.read(archive(tmp_path, (HOSTILE, "Imputation")))
    html = page(showcase)
    assert "<script" not in html
    assert "&lt;script&gt;alert(1)" in html
    ElementTree.fromstring(sheet(showcase).svg())


def test_of_many_strategies_those_are_shown_that_stand_for_all(tmp_path: Path):
    names = tuple(repr(strategy).removesuffix("()") for strategy in OURS_STRATEGIES)
    whole = Showcase.read(archive(tmp_path, names))
    few = whole.few()
    assert few.strategies[:2] == ("Imputation", "MaximumExpectedReward")
    assert [name.partition("(")[0] for name in few.strategies[2:]] == ["TailAverse", "Conservative"]
    assert len(few.strategies) == 4 <= MOST < len(names)
    for at, name in enumerate(few.strategies):
        assert [case.choice[at] for case in few.cases] == [case.choice[names.index(name)] for case in whole.cases]
    assert Showcase.read(archive(tmp_path)).few().strategies == STRATEGIES


def row(group: str, model: str, strategy: str, mean: float, below: float) -> dict[str, Any]:
    name = f"{model}, {strategy}" if strategy else model
    rewards = [0.7, 0.2, 0.05, 0.02, 0.01, 0.01, 0.005, 0.004, below / 1000, 0.0]
    actions = [0.05, 0.1, 0.2, 0.25, 0.2, 0.1, 0.05, 0.05, 0.0, 0.0]
    numbers = {"replications": 3, "mean": mean, "below": below, "actions": actions}
    return {"name": name, "group": group, "model": model, "strategy": strategy, "rewards": rewards} | numbers


def results() -> dict[str, Any]:
    rows = [
        row("trivial", "constant 4", "", -2.5, 0.0),
        row("trivial", "uniform", "", -3.3, 90.0),
        row("paper", THEIRS, "Imputation", -1.2, 2.8),
        row("paper", THEIRS, "MaximumExpectedReward", -1.2, 2.7),
        *(row("paper", THEIRS, f"PerAttribute(c={c})", -1.5 - at, 1.0 / (1 + at)) for at, c in enumerate(PAPER_C)),
    ]
    for at, model in enumerate(("ours", "ours, larger")):
        for step, strategy in enumerate(OURS_STRATEGIES):
            name = repr(strategy).removesuffix("()")
            rows.append(row("ours", model, name, -0.4 - 0.1 * at - 0.04 * step, 1.5 / (1 + step)))
    rows.append(row("limit", "full information", "MaximumExpectedReward", -0.01, 0.0))
    return {"rows": rows}


def words_of(svg: str) -> str:
    root = ElementTree.fromstring(svg)
    return " ".join("".join(element.itertext()) for element in root.iter())


def test_the_frontier_holds_every_row_and_what_the_paper_prints(tmp_path: Path):
    (tmp_path / "mnist.json").write_text(json.dumps(results() | {"left": None}))
    archive(tmp_path)
    drawn_files = files(tmp_path)
    assert set(drawn_files) == {"page.html", *(f"pictures/{name}.svg" for name in NAMES)}
    drawn = words_of(drawn_files["pictures/frontier.svg"])
    for shown in results()["rows"]:
        assert shown["name"] in drawn
    assert all(name in drawn for name in PRINTED)
    assert "mean −0.9 or better" in drawn
    for other in ("actions", "rewards"):
        assert "PerAttribute(c=0.1)" in words_of(drawn_files[f"pictures/{other}.svg"])


def test_the_best_of_ours_stands_beside_the_paper():
    models = compared(results()["rows"])
    assert list(models) == [THEIRS, "ours"]
    strategies = [shown["strategy"] for shown in models["ours"]]
    assert strategies[:4] == ["Imputation", "MaximumExpectedReward", "TailAverse(risk=0.5)", "TailAverse(risk=0.2)"]
    assert not any("c=" in name for name in strategies)
    assert compared(results()["rows"][:2]) == {}


def left(images: int) -> dict[str, Any]:
    """Results of which `images` images are left, each answered in three ways."""
    case = {"answers": [0, 1, 2], "below": 2, "tested": 21}
    failed = [case | {"image": 9 * at, "digit": at % 10} for at in range(images)]
    return {"images": 5000, "side": 14, "left": {"row": "ours, TailAverse", "decisions": 100_000, "images": failed}}


@pytest.mark.parametrize(("images", "note"), [(0, "0 earned"), (5, "on 5 of 5000 images."), (20, "first 14 are shown")])
def test_what_is_left_is_shown(images: int, note: str):
    svg = failures_picture(left(images)).svg()
    assert svg.count("<image ") == min(images, 14)
    assert "Of 100 000 answers" in words_of(svg)
    assert note in words_of(svg)
    assert ("an 8, answered" in words_of(svg)) == (images > 8)


def pictures(folder: Path) -> list[Picture]:
    rows = results()["rows"]
    models = compared(rows)
    showcase = Showcase.read(archive(folder, (*STRATEGIES, "TailAverse(risk=0.2)", "MostOftenBest")))
    alone = FRONTIER.picture(rows[:1])
    return [
        FRONTIER.picture(rows),
        alone,
        actions_picture(models),
        rewards_picture(models),
        sheet(showcase),
        failures_picture(left(14)),
    ]


def test_no_word_leaves_a_picture_or_covers_another(tmp_path: Path):
    for picture in pictures(tmp_path):
        assert_words_are_clear(picture)
