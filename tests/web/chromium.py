"""Chromium as it is installed here, with a fresh profile for every page."""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from playwright.sync_api import Browser, Dialog, Page, expect, sync_playwright

_NEEDED = "PRUDENT_NEEDS_CHROMIUM"
"""Set where its absence is a failure: in CI, which installs it."""
_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")

Open = Callable[..., Page]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    found = next((path for path in map(shutil.which, _NAMES) if path is not None), None)
    if found is None:
        assert os.environ.get(_NEEDED, "") in ("", "0"), f"{_NEEDED} is set, and there is no Chromium"
        pytest.skip("no Chromium is installed here")
    expect.set_options(timeout=60_000)  # a first answer is compiled
    with sync_playwright() as playwright:
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        started = playwright.chromium.launch(executable_path=found, args=options, timeout=120_000)
        yield started
        started.close()


@pytest.fixture
def open_page(browser: Browser) -> Iterator[Open]:
    """Opens an address in a profile of its own; at the end nothing may have gone wrong in it, and nobody else may have
    been asked for anything."""
    with ExitStack() as closing:
        wrong: list[str] = []

        def shown(dialog: Dialog) -> None:
            wrong.append(f"dialog: {dialog.message}")
            dialog.dismiss()

        def opened(address: str, width: int = 1280, height: int = 900, **options: Any) -> Page:
            context = browser.new_context(viewport={"width": width, "height": height}, **options)
            closing.callback(context.close)
            page = context.new_page()
            page.set_default_timeout(60_000)
            page.on("pageerror", lambda error: wrong.append(f"error: {error}"))
            page.on("dialog", shown)
            page.on("console", lambda said: wrong.append(said.text) if _is_wrong(said) else None)
            page.on("request", lambda asked: None if _is_own(asked.url, address) else wrong.append(asked.url))
            page.goto(address)
            return page

        yield opened
        assert wrong == []


def _is_wrong(said: Any) -> bool:
    """Bad input is answered with 400, and a test may stop the server; whatever else the console says is wrong."""
    expected = ("status of 400", "net::ERR_CONNECTION_REFUSED")
    return said.type in ("error", "warning") and not any(words in said.text for words in expected)


def _is_own(url: str, address: str) -> bool:
    origin = "/".join(address.split("/", 3)[:3])
    return url.startswith((f"{origin}/", f"blob:{origin}/", "data:"))
