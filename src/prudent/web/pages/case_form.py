"""The form for one case: how careful to be, what is known, and what may not be done."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import htpy
from htpy import Element, Node

from prudent.show import one_line, significant

MOST_IN_LIST = 60
"""Levels beyond that are typed, with proposals."""
MANY_FIELDS = 14
"""From so many on, one can be searched for."""


@dataclass(frozen=True)
class Filled:
    """What a form holds: texts by the number of their column, the step of caution, actions that are not allowed."""

    cells: Mapping[int, str] = field(default_factory=dict)
    step: int = 0
    barred: frozenset[int] = frozenset()
    floor: str = ""
    fallback: str = ""


def case_form(
    columns: Sequence[Mapping[str, Any]],
    actions: Sequence[str],
    steps: Sequence[tuple[str, str]],
    filled: Filled,
    reward: str,
    minimize: bool,
) -> Element:
    """columns: as the API gives them. steps: the name and the sentence of each step of caution."""
    return htpy.form("#case", method="post", action=".", autocomplete="off", novalidate=True)[
        _caution(steps, filled.step),
        htpy.fieldset(".fields")[
            htpy.legend["What is known"],
            htpy.p(".soft")["Leave empty what is not known."],
            _search(len(columns)),
            htpy.div(".grid")[
                (_field(number, column, filled.cells.get(number, "")) for number, column in enumerate(columns))
            ],
        ],
        _restrictions(actions, filled, reward, minimize),
        htpy.div(".buttons")[
            htpy.button(".main", type="submit")["Recommend"],
            htpy.button("#clear.plain", type="reset")["Empty all fields"],
        ],
    ]


def _caution(steps: Sequence[tuple[str, str]], step: int) -> Element:
    name, sentence = steps[step]
    return htpy.fieldset(".caution")[
        htpy.legend[htpy.label(for_="caution")["How careful?"]],
        htpy.output("#caution-name", for_="caution")[name],
        htpy.input(
            "#caution",
            type="range",
            name="caution",
            min="0",
            max=str(len(steps) - 1),
            step="1",
            value=str(step),
            aria_valuetext=f"{name}: {sentence}",
            aria_describedby="caution-does",
            data_names="\n".join(name for name, _ in steps),
            data_sentences="\n".join(sentence for _, sentence in steps),
        ),
        htpy.div(".ends", aria_hidden="true")[htpy.span["expected outcome"], htpy.span["worst case"]],
        htpy.p("#caution-does.soft")[sentence],
    ]


def _search(fields: int) -> Node:
    if fields < MANY_FIELDS:
        return None
    return htpy.p(".search.scripted")[
        htpy.label(for_="search")["Find a field"], htpy.input("#search", type="search", autocomplete="off")
    ]


def _field(number: int, column: Mapping[str, Any], text: str) -> Element:
    name, label = f"x{number}", one_line(column["name"])
    hint = _hint(column)
    return htpy.div(".field", data_name=label.casefold())[
        htpy.label(for_=name)[label],
        _control(name, column, text, described=f"{name}-hint" if hint else None),
        hint and htpy.span(".hint", id=f"{name}-hint")[hint],
    ]


def _hint(column: Mapping[str, Any]) -> str:
    if column["levels"] is not None:
        return ""
    whole = "whole, " if column["whole"] and column["kind"] != "date" else ""
    unit = f" {one_line(column['unit'])}" if column["unit"] else ""
    low, high = (end if isinstance(end, str) else significant(end) for end in (column["low"], column["high"]))
    return (
        f"between {low} and {high}{unit}" if column["kind"] == "bounded" else f"{whole}{low} to {high}{unit} in the log"
    )


def _control(name: str, column: Mapping[str, Any], text: str, described: str | None) -> Node:
    levels = column["levels"]
    if levels is None:
        is_day = column["kind"] == "date" and column["whole"]
        return htpy.input(
            id=name,
            name=name,
            type="date" if is_day else "text",
            inputmode=None if column["kind"] == "date" else "decimal",
            value=text or None,
            placeholder=None if is_day else "not known",
            aria_describedby=described,
            autocomplete="off",
            data_low=None if column["kind"] == "date" else f"{column['low']:.12g}",
            data_high=None if column["kind"] == "date" else f"{column['high']:.12g}",
        )
    if len(levels) > MOST_IN_LIST:
        return [
            htpy.input(
                id=name, name=name, type="text", list=f"{name}-levels", value=text or None, placeholder="not known"
            ),
            htpy.datalist(id=f"{name}-levels")[(htpy.option(value=level) for level in levels)],
        ]
    return htpy.select(id=name, name=name)[
        htpy.option(value="")["not known"],
        (htpy.option(value=level, selected=level == text)[one_line(level) or "(blank)"] for level in levels),
    ]


def _restrictions(actions: Sequence[str], filled: Filled, reward: str, minimize: bool) -> Element:
    worse = "above" if minimize else "below"
    return htpy.details(".restrictions", open=bool(filled.barred or filled.floor or filled.fallback))[
        htpy.summary["What may not be done, and when a person decides"],
        htpy.fieldset(".barred")[
            htpy.legend["Not allowed for this case"],
            (
                htpy.label(".check")[
                    htpy.input(type="checkbox", name="barred", value=str(number), checked=number in filled.barred),
                    one_line(action),
                ]
                for number, action in enumerate(actions)
            ),
        ],
        htpy.div(".grid")[
            htpy.div(".field")[
                htpy.label(for_="floor")["Leave it to a person if the worst plausible mean is " + worse],
                htpy.input("#floor", name="floor", type="text", inputmode="decimal", value=filled.floor or None),
                htpy.span(".hint")[f"in units of {one_line(reward)}"],
            ],
            htpy.div(".field")[
                htpy.label(for_="fallback")["or recommend this instead"],
                htpy.select("#fallback", name="fallback")[
                    htpy.option(value="")["nothing: a person decides"],
                    (
                        htpy.option(value=str(number), selected=str(number) == filled.fallback)[one_line(action)]
                        for number, action in enumerate(actions)
                    ),
                ],
            ],
        ],
    ]
