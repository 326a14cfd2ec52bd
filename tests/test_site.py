"""The site: every document is on it, every link leads somewhere, nothing comes from elsewhere."""

import json
import re

import pytest

from docs.site.building import build
from docs.site.contents import DOCUMENTS, ROOT, place_of
from docs.site.rendering import rendered
from docs.site.template import page


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    (folder / "api").mkdir()
    (folder / "api" / "prudent.html").write_text("the reference")
    assert build(folder) == []
    return folder


def test_every_document_has_a_page_and_a_place_in_the_contents(site):
    documents = {path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").glob("*.md")}
    assert documents <= set(DOCUMENTS)
    assert len(set(DOCUMENTS)) == len(DOCUMENTS)
    for document in DOCUMENTS:
        assert (site / place_of(document)).read_text().count("<h1") == 1


def test_pages_load_nothing_from_elsewhere_and_have_alternatives_to_pictures(site):
    for document in DOCUMENTS:
        text = (site / place_of(document)).read_text()
        assert not re.findall(r'(?:src|<link[^>]* href)="(?:https?:)?//', text)
        assert all(re.search(r'alt="[^"]+"', picture) for picture in re.findall(r"<img[^>]*>", text))


def test_navigation_leads_to_pages_that_exist(site):
    for document in DOCUMENTS:
        here = (site / place_of(document)).parent
        for target in re.findall(r'<a [^>]*href="([^"#]+)', (site / place_of(document)).read_text()):
            if not target.startswith(("https:", "http:", "mailto:")):
                assert (here / target).resolve().is_file(), f"{document}: {target}"


def test_the_search_finds_headings_by_their_anchors(site):
    text = (site / "search-index.js").read_text().removeprefix("const SEARCH_INDEX = ").rstrip(";\n")
    entry = next(entry for entry in json.loads(text) if entry["title"] == "The frontier")
    place, anchor = entry["place"].split("#")
    assert f'id="{anchor}"' in (site / place).read_text()
    assert "costs mean reward" in entry["words"]


def test_links_that_lead_nowhere_are_named(tmp_path, monkeypatch):
    (tmp_path / "docs").mkdir()
    (tmp_path / "README.md").write_text(
        "# One\n\n[gone](docs/gone.md) [no heading](docs/faq.md#nothing) [fine](docs/faq.md#two)"
    )
    (tmp_path / "docs" / "faq.md").write_text("# Two\n\n![](missing.svg)")
    for module in ("building", "contents"):
        monkeypatch.setattr(f"docs.site.{module}.ROOT", tmp_path)
    for module in ("building", "template"):
        monkeypatch.setattr(f"docs.site.{module}.DOCUMENTS", ("README.md", "docs/faq.md"))
    broken = build(tmp_path / "site")
    assert [re.search(r"links to (\S+?),", sentence)[1] for sentence in broken] == [  # type: ignore[index]
        "gone.html",
        "faq.html#nothing",
        "missing.svg",
    ]


def test_raw_html_is_shown_and_not_used():
    content = rendered("# <script>alert(1)</script>\n\n<img src=x onerror=alert(1)>\n\n```x<y\n<b>\n```\n", str)
    for text in (content.html, page("README.md", content)):
        assert "<script>alert" not in text
        assert "<img" not in text
        assert "<b>" not in text


def test_headings_of_one_name_have_anchors_of_their_own():
    content = rendered("# a\n\n## Same\n\n## Same\n\n[to](#same-1)", str)
    assert [section.anchor for section in content.sections] == ["a", "same", "same-1"]
    assert content.links == ["#same-1"]
