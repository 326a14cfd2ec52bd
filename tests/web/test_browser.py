"""The pages in a real browser: every control, the keyboard alone, tables, bad input, narrow, wide and dark."""

import re
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest
from playwright.sync_api import Page, expect

from prudent.journal import Journal
from prudent.web import Access, Service, create_app
from prudent.web.choices import CAUTION
from tests.web.chromium import Open
from tests.web.chromium import browser as browser
from tests.web.chromium import open_page as open_page
from tests.web.live import in_a_thread
from tests.web.test_pages import EVIL
from tests.web.test_pages import hostile as hostile

COLOURS = """(name) => {
  const style = getComputedStyle(document.querySelector(name));
  return [style.backgroundColor, style.color, style.fill];
}"""


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("browser") / "journal.sqlite"


@pytest.fixture(scope="module")
def address(service: Service, kept: Path) -> Iterator[str]:
    with in_a_thread(create_app(service, journal=Journal.open(kept))) as address:
        yield f"{address}/"


def action_of(page: Page) -> str | None:
    return page.locator(".answer").get_attribute("data-action")


def answered(page: Page) -> None:
    expect(page.locator("#answer[aria-busy]")).to_have_count(0)
    expect(page.locator(".answer")).to_have_count(1)


def test_the_answer_follows_every_edit(open_page: Open, address: str, service: Service):
    page = open_page(address)
    page.get_by_label("pressure").fill("150")
    expect(page.locator(".answer h2")).to_have_text("high")
    assert action_of(page) == service.fitted.policy().recommend([{"pressure": 150}]).actions[0]
    for part in ("What to measure next", "What mattered", "All actions in numbers"):
        expect(page.get_by_text(part)).to_be_visible()
    expect(page.get_by_role("img", name=re.compile("outcome"))).to_be_visible()
    page.get_by_label("grade").focus()
    page.get_by_label("grade").select_option("mild")
    expect(page.locator(".against")).to_contain_text("grade: not known → mild")
    page.get_by_label("pressure").fill("95")
    expect(page.locator(".against")).to_contain_text("pressure: 150 → 95")
    expect(page.locator(".against")).not_to_contain_text("grade")
    page.get_by_label("admitted").fill("2023-05-04")
    page.get_by_label("smoker").focus()
    page.get_by_label("smoker").select_option("yes")
    expect(page.locator(".against")).to_contain_text("smoker: not known → yes")
    page.get_by_text("All actions in numbers").click()
    page.get_by_label("visits").fill("3")
    expect(page.locator(".against")).to_contain_text("visits")
    expect(page.get_by_role("columnheader", name="worst plausible")).to_be_visible()  # what was unfolded stays so


def test_what_may_not_be_done(open_page: Open, address: str):
    page = open_page(address)
    page.get_by_label("pressure").fill("150")
    expect(page.locator(".answer h2")).to_have_text("high")
    page.get_by_text("What may not be done").click()
    page.get_by_role("checkbox", name="high").check()
    expect(page.locator(".answer h2")).not_to_have_text("high")
    page.get_by_label("worst plausible mean").fill("1000")
    expect(page.locator(".answer h2")).to_have_text("A person has to decide")
    page.get_by_label("or recommend this instead").select_option("none")
    expect(page.locator(".answer h2")).to_have_text("none")
    page.get_by_role("button", name="Empty all fields").click()
    expect(page.get_by_label("pressure")).to_have_value("")
    expect(page.get_by_role("checkbox", name="high")).not_to_be_checked()
    expect(page.locator(".remarks")).to_contain_text("average case")


def test_the_keyboard_alone_is_enough(open_page: Open, address: str):
    page = open_page(address)
    page.keyboard.press("Tab")
    expect(page.get_by_text("Skip to the content")).to_be_focused()
    for _ in range(4):
        page.keyboard.press("Tab")
    slider = page.get_by_role("slider")
    expect(slider).to_be_focused()
    spoken = slider.get_attribute("aria-valuetext")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert slider.get_attribute("aria-valuetext") != spoken
    assert page.locator("#caution-name").inner_text() in (slider.get_attribute("aria-valuetext") or "")
    page.keyboard.press("Tab")
    expect(page.get_by_label("pressure")).to_be_focused()
    page.keyboard.type("131")
    for _ in range(3):
        page.keyboard.press("Tab")
    expect(page.get_by_label("ward")).to_be_focused()
    page.keyboard.type("north")
    expect(page.get_by_label("ward")).to_have_value("north")
    page.keyboard.press("Enter")
    answered(page)
    page.get_by_text("What may not be done").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    expect(page.get_by_role("checkbox", name="high")).to_be_focused()
    page.keyboard.press("Space")
    expect(page.locator(".against")).to_contain_text("not allowed: nothing → high")


def test_bad_input_is_a_sentence_beside_the_form(open_page: Open, address: str):
    page = open_page(address)
    page.get_by_label("pressure").fill("high")
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text("'pressure'")
    expect(alert).to_contain_text("'high'")
    page.get_by_label("pressure").fill("1000")
    expect(alert).to_have_count(0)
    expect(page.locator(".hint.outside")).to_have_count(1)
    expect(page.locator(".remarks")).to_contain_text("pressure: 1000")


def test_a_field_is_found_by_its_name(open_page: Open, address: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("prudent.web.pages.case_form.MANY_FIELDS", 3)
    page = open_page(address)
    page.get_by_label("Find a field").fill("WAR")
    expect(page.get_by_label("ward")).to_be_visible()
    expect(page.get_by_label("pressure")).to_be_hidden()


def test_what_became_of_an_advice_is_added(open_page: Open, address: str, kept: Path):
    page = open_page(address)
    page.get_by_label("pressure").fill("140")
    page.get_by_label("action taken").select_option("low")
    page.locator(".later").get_by_label("outcome").fill("-0.25")
    page.get_by_role("button", name="Add to the journal").click()
    expect(page.locator(".said")).to_contain_text("Added")
    id = page.locator(".journal code").inner_text()
    with Journal.open(kept) as journal:
        (one,) = [one for one in journal.recorded() if one.entry.id == id]
    assert (one.took, one.reward) == ("low", -0.25)


def test_a_table_is_uploaded_and_its_advice_downloaded(open_page: Open, address: str, tmp_path: Path, service: Service):
    cases = pl.DataFrame({"patient": ["01", "02", "03"], "pressure": [95.0, None, 150.0]})
    cases.write_csv(tmp_path / "cases.csv")
    page = open_page(address)
    page.get_by_role("link", name="A table").click()
    page.get_by_label("Table").set_input_files(tmp_path / "cases.csv")
    page.get_by_label("Columns to copy").fill("patient")
    page.get_by_label("How careful?").select_option("2")
    with page.expect_download() as started:
        page.get_by_role("button", name="Get advice").click()
    assert started.value.suggested_filename == "advice.csv"
    started.value.save_as(tmp_path / "advice.csv")
    advice = pl.read_csv(tmp_path / "advice.csv", schema_overrides={"patient": pl.String})
    assert advice["patient"].to_list() == ["01", "02", "03"]
    assert advice["action"].to_list() == [
        service.recommend([{"pressure": pressure}], CAUTION[2].choice).actions[0] for pressure in cases["pressure"]
    ]
    expect(page.locator("#uploaded")).to_contain_text("Done")
    (tmp_path / "broken.xlsx").write_bytes(b"no workbook")
    page.get_by_label("Table").set_input_files(tmp_path / "broken.xlsx")
    page.get_by_role("button", name="Get advice").click()
    expect(page.get_by_role("alert")).to_contain_text("'broken.xlsx'")


def test_the_page_on_the_model(open_page: Open, address: str):
    page = open_page(address)
    page.get_by_role("link", name="The model").click()
    expect(page.get_by_role("row", name="grade ordinal")).to_be_visible()
    assert page.get_by_role("link", name="openapi.json").get_attribute("href") == "openapi.json"


@pytest.mark.parametrize("width", [320, 390, 768, 1280, 1900])
def test_nothing_is_wider_than_the_window(open_page: Open, address: str, width: int):
    page = open_page(address, width=width)
    page.get_by_label("pressure").fill("140")
    answered(page)
    for path in ("", "table", "model"):
        if path:
            page.goto(f"{address}{path}")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.goto(address)
    page.get_by_label("pressure").fill("140")
    answered(page)
    form, answer = page.locator("#case").bounding_box(), page.locator("#answer").bounding_box()
    assert form is not None
    assert answer is not None
    side_by_side = answer["x"] >= form["x"] + form["width"]
    assert side_by_side == (width > 900)
    expect(page.locator("#bar")).to_be_visible(visible=width <= 900)


def test_a_dark_screen_gets_dark_pages(open_page: Open, address: str):
    colours = {}
    for scheme in ("light", "dark"):
        page = open_page(address, color_scheme=scheme)
        page.get_by_label("pressure").fill("140")
        answered(page)
        names = ("#answer", "#x0", "svg .fill-ink")
        colours[scheme] = [page.evaluate(COLOURS, name) for name in names]
    for light, dark in zip(colours["light"], colours["dark"], strict=True):
        assert light != dark
    (paper, ink, _), *_ = colours["dark"]
    assert sum(map(int, re.findall(r"\d+", paper)[:3])) < 150 < sum(map(int, re.findall(r"\d+", ink)[:3]))


def test_without_scripts_the_form_is_sent(open_page: Open, address: str):
    page = open_page(address, java_script_enabled=False)
    page.get_by_label("pressure").fill("150")
    page.get_by_role("button", name="Recommend").click()
    expect(page.locator(".answer h2")).to_have_text("high")
    expect(page.get_by_label("pressure")).to_have_value("150")


def test_a_token_is_asked_for_once(open_page: Open, service: Service):
    token = "correct-horse-battery-staple"
    with in_a_thread(create_app(service, access=Access.of(token, ()))) as address:
        page = open_page(f"{address}/login")
        page.get_by_label("Token").fill(token)
        page.get_by_role("button", name="Enter").click()
        page.get_by_label("pressure").fill("140")
        answered(page)
        page.get_by_role("button", name="Leave").click()
        expect(page.get_by_label("Token")).to_be_visible()


def test_markup_in_names_and_labels_is_shown_as_it_is(open_page: Open, hostile: Service):
    with in_a_thread(create_app(hostile)) as address:
        page = open_page(f"{address}/")
        page.get_by_label(f"{EVIL} 0").fill("140")
        answered(page)
        page.get_by_label(f"{EVIL} 0").fill("<img src=x onerror=alert(1)>")
        expect(page.get_by_role("alert")).to_contain_text("<img src=x onerror=alert(1)>")
        page.goto(f"{address}/model")
        expect(page.get_by_role("row", name=f"{EVIL} 0")).to_be_visible()


def test_a_server_that_is_gone_is_said(open_page: Open, service: Service):
    with in_a_thread(create_app(service)) as address:
        page = open_page(f"{address}/")
    page.get_by_label("pressure").fill("140")
    expect(page.get_by_role("alert")).to_contain_text("cannot be reached")
