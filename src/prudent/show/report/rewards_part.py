"""How well outcomes are predicted: calibration by action, as a picture with its numbers."""

import math

from htpy import Node

from prudent.show.json_types import Facts
from prudent.show.numbers import Figures, percent
from prudent.show.pictures.calibration import CalibrationSpot, calibration_panels
from prudent.show.pictures.picture import Picture
from prudent.show.report.parts import Part, figure, folded, said, unanswered, words_and_numbers
from prudent.show.text import one_line

MOST_ACTIONS = 6


def rewards_part(report: Facts) -> Part:
    rewards = report["rewards"]
    title = "How well outcomes are predicted"
    if unanswered(rewards):
        return Part("outcomes", title, said(rewards["sentence"]))
    return Part("outcomes", title, _body(rewards, one_line(report["values"]["evaluation"]["reward"])))


def _body(rewards: Facts, reward: str) -> Node:
    actions = rewards["actions"]
    write = Figures.of(number for one in actions for number in (one["predicted"], one["observed"], one["mean_error"]))
    rows = [
        (
            *(one_line(one["action"]), f"{one['rows']:,}", write(one["predicted"]), write(one["observed"])),
            *(write(one["mean_error"]), write(one["usual_error"]), _share(one["explained"])),
        )
        for one in actions
    ]
    most = sorted((one["rows"] for one in actions), reverse=True)[:MOST_ACTIONS]
    drawn = [one for one in actions if one["bins"] and one["rows"] >= most[-1]][:MOST_ACTIONS]
    bins = [
        (
            *(one_line(one["action"]), f"{part['rows']:,}", write(part["predicted"]), write(part["observed"])),
            "–" if part["error"] is None else write(part["error"]),
        )
        for one in actions
        for part in one["bins"]
    ]
    return [
        said(
            f"For every row the model predicted '{reward}' under the action that was taken, without knowing how it "
            "turned out. Each point is a group of rows with similar predictions. On the dashed line, predictions came "
            "true on average; where points lie flat, the model cannot tell who does well under that action.",
            explained_sentence(rewards),
        ),
        figure(_picture(drawn, reward)) if drawn else None,
        words_and_numbers(
            ("action", "rows", "mean predicted", "mean outcome", "typical error", "spread of outcomes", "explained"),
            rows,
        ),
        said(
            "typical error: the mean distance of single outcomes from their prediction. spread of outcomes: from the "
            "action's own mean, which is known only afterwards. explained: the share of the variance of outcomes that "
            "predictions explain; single outcomes always scatter, so a small share may still be all there is to know.",
            css="soft",
        ),
        folded(
            "The points of the picture",
            words_and_numbers(("action", "rows", "mean predicted", "mean outcome", "standard error"), bins),
        ),
    ]


def explained_sentence(rewards: Facts) -> str:
    """How much of the outcomes' variance is explained, and whether ranges of single outcomes hold."""
    sentence = f"Over all actions, predictions explain {_share(rewards['explained'])} of the variance of outcomes"
    if rewards["covered"] is None:
        return f"{sentence}."
    return (
        f"{sentence}; the ranges that should hold nine of ten single outcomes held {percent(rewards['covered'])} of "
        f"the {rewards['covered_rows']:,} where the advice happened to be followed."
    )


def _share(share: float | None) -> str:
    return "–" if share is None else "less than nothing" if share < 0 else percent(share)


def _picture(actions: list[Facts], reward: str) -> Picture:
    groups = [(one_line(one["action"]), [_spot(part) for part in one["bins"]]) for one in actions]
    title = "Predicted and actual outcomes by action"
    return calibration_panels(groups, title, f"predicted {reward}", f"{reward} as it turned out, on average")


def _spot(part: Facts) -> CalibrationSpot:
    return CalibrationSpot(part["predicted"], part["observed"], math.nan if part["error"] is None else part["error"])
