"""What notebooks display: one page part each, with every text escaped and nothing from outside."""

from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

import prudent
from prudent import Log
from tests.conftest import COMPLETIONS

EVIL = "<script>alert('x')</script>"


class Reader(HTMLParser):
    """Checks that what is opened is closed, and keeps names and texts."""

    def __init__(self, html: str):
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.texts: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append(tag)
        self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data.strip())


def displayed(shown: Any) -> Reader:
    reader = Reader(shown._repr_html_())
    assert not reader.open
    assert not {"script", "link", "img", "iframe"} & set(reader.tags)
    assert "prefers-color-scheme:dark" in "".join(reader.texts)
    return reader


def hostile_log(rows: int = 60) -> Log:
    random = np.random.default_rng(0)
    frame = {
        EVIL: random.choice([EVIL, "b"], rows),
        "age": random.normal(60, 9, rows),
        "dose": random.choice([EVIL, "none"], rows),
        "outcome": random.normal(size=rows),
    }
    return Log.from_frame(frame, action="dose", reward="outcome")


def test_a_log_and_its_evaluation_escape_every_text():
    log = hostile_log()
    page = displayed(log)
    assert {EVIL, "age", "none"} <= set(page.texts)
    evaluation = prudent.evaluate({EVIL: lambda frame: ["none"] * len(frame)}, log)
    assert page.tags.count("h2") >= 2
    page = displayed(evaluation)
    assert "Bottom line" in page.texts
    assert any(EVIL in text for text in page.texts)


@pytest.mark.parametrize("kind", ["fitted", "policy", "advice", "explanation"])
def test_models_and_what_they_say_are_displayed(kind: str, fitted_models: Any, cases: Any):
    fitted = fitted_models["causal"]
    policy = fitted.policy(prudent.TailAverse(0.2), completions=COMPLETIONS, costs={"low": 0.25})
    make = {
        "fitted": lambda: fitted,
        "policy": lambda: policy,
        "advice": lambda: policy.recommend(cases),
        "explanation": lambda: policy.recommend(cases)[2].explain(),
    }
    page = displayed(make[kind]())
    expected = {"fitted": "pressure", "policy": "low: 0.25", "advice": "dose", "explanation": "pressure"}
    assert expected[kind] in page.texts
