"""The aims, the rows that came nearest to them, and the images on which a careful row still failed."""

from collections.abc import Mapping, Sequence

import numpy as np

from experiments.mnist.data import IMAGES, Replication, images, pooled
from experiments.mnist.images import DarkImages, Frame, Image, image_uri
from experiments.mnist.settings import AIM, CAREFUL_AIM, PRINTED, THRESHOLD
from experiments.results import Results
from prudent.show import MARGIN, SOFT, Element, Picture, Text, wrapped

Row = Results
TITLE = "What remains below −7"
WIDTH, SIZE, STEP, EACH, MOST = 920.0, 88.0, 126.0, 7, 14


def boldest(rows: Sequence[Row]) -> Row | None:
    """Ours of the best mean."""
    return max((row for row in rows if row["group"] == "ours"), key=lambda row: row["mean"], default=None)


def most_careful(rows: Sequence[Row]) -> Row | None:
    """Of ours with the mean that was aimed at or a better one, the row with the fewest disasters."""
    able = [row for row in rows if row["group"] == "ours" and row["mean"] >= CAREFUL_AIM]
    return min(able, key=lambda row: (row["below"], -row["mean"]), default=None)


def aims(rows: Sequence[Row]) -> list[tuple[str, Row, bool]]:
    """Each aim in words, the row that came nearest, and whether that was near enough."""
    expected = "MaximumExpectedReward"
    printed = PRINTED[expected][0]
    theirs = min(
        (row for row in rows if row["group"] == "paper" and row["strategy"] == expected),
        key=lambda row: abs(row["mean"] - printed),
        default=None,
    )
    every_aim = (
        (f"a mean of {AIM:g} or better", boldest(rows), lambda row: row["mean"] >= AIM),
        (
            f"no R < {THRESHOLD:g} at a mean of {CAREFUL_AIM:g} or better",
            most_careful(rows),
            lambda row: row["below"] == 0,
        ),
        (
            f"the {printed:g} that the paper prints, in one of its readings",
            theirs,
            lambda row: abs(row["mean"] - printed) <= 2 * row["mean_error"],
        ),
    )
    return [(words.replace("-", "−"), row, near(row)) for words, row, near in every_aim if row is not None]


def failures(actions: Mapping[int, np.ndarray], truths: Mapping[int, Replication]) -> list[Results]:
    """The images with a reward below the threshold, those that fail most often first: in how many tests, and of how
    many, and what was answered then. `actions` are those of one strategy, by replication.
    """
    tested, below = np.zeros((2, IMAGES), int)
    answers: dict[int, set[int]] = {}
    for index, chosen in actions.items():
        part = truths[index].tested
        failed = part.rewards[np.arange(len(chosen)), chosen] < THRESHOLD
        tested[part.chosen] += 1
        below[part.chosen[failed]] += 1
        for image, answer in zip(part.chosen[failed], chosen[failed], strict=True):
            answers.setdefault(int(image), set()).add(int(answer))
    labels = images()[1]
    return [
        {
            "image": image,
            "digit": int(labels[image]),
            "answers": sorted(answers[image]),
            "below": int(below[image]),
            "tested": int(tested[image]),
        }
        for image in sorted(answers, key=lambda image: (-below[image], image))
    ]


def failures_picture(results: Results) -> Picture:
    """The images themselves, whole, as no model saw them."""
    left: Results = results["left"]
    elements: list[Element] = [DarkImages(), Text(MARGIN, MARGIN + 10, TITLE, 16, bold=True)]
    y = MARGIN + 32
    for line in wrapped(_note(results), WIDTH - 2 * MARGIN, 12):
        elements.append(Text(MARGIN, y, line, 12, colour=SOFT))
        y += 17
    shown = left["images"][:MOST]
    pixels = pooled(images()[0][[image["image"] for image in shown]], results["side"]) if shown else []
    for at, (image, ink) in enumerate(zip(shown, pixels, strict=True)):
        x, top = MARGIN + STEP * (at % EACH), y + (SIZE + 66) * (at // EACH)
        elements += [Image(x, top, SIZE, image_uri(ink), f"image {image['image']}"), Frame(x, top, SIZE)]
        elements += [
            Text(x, top + SIZE + 18, f"{_a(image['digit'])}, answered", 12),
            Text(x, top + SIZE + 34, _either(image["answers"]), 12, bold=True),
            Text(x, top + SIZE + 50, f"in {image['below']} of {image['tested']} tests", 11, colour=SOFT),
        ]
    rows = -(-len(shown) // EACH)
    words = "; ".join(f"{_a(image['digit'])} in {image['below']} of {image['tested']} tests" for image in shown)
    return Picture(WIDTH, y + (SIZE + 66) * rows, tuple(elements), TITLE, words)


def _note(results: Results) -> str:
    left: Results = results["left"]
    failed, below = len(left["images"]), sum(image["below"] for image in left["images"])
    decisions = f"{left['decisions']:,}".replace(",", " ")
    counted = f"Of {decisions} answers of {left['row']}, {below} earned less than −{-THRESHOLD:g}"
    if not failed:
        return f"{counted}."
    few = f", of which the first {MOST} are shown" if failed > MOST else ""
    return (
        f"{counted}, on {failed} of {results['images']} images{few}. Here they are whole; the model saw half of each."
    )


def _a(digit: int) -> str:
    return f"an {digit}" if digit == 8 else f"a {digit}"


def _either(answers: Sequence[int]) -> str:
    """
    >>> _either([0]), _either([0, 1, 2])
    ('0', '0, 1 or 2')
    """
    *others, last = map(str, answers)
    return f"{', '.join(others)} or {last}" if others else last
