"""Build the site: every document to a page, the files they show beside them, the index of the search, links checked."""

import json
import posixpath
import shutil
from pathlib import Path

from docs.site.contents import DOCUMENTS, ROOT, place_of
from docs.site.rendering import Rendered, rendered, style_of_code
from docs.site.template import page

HERE = Path(__file__).parent
ELSEWHERE = ("https:", "http:", "mailto:")
SHOWN = (".svg", ".png", ".html", ".csv", ".toml", ".json", ".py", ".ipynb")


def build(folder: Path) -> list[str]:
    """Write the site into a folder; a sentence for each link that leads nowhere."""
    pages = {document: _rendered(document) for document in DOCUMENTS}
    for document, content in pages.items():
        place = folder / place_of(document)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(page(document, content))
    _copy_files(folder)
    index = json.dumps(_search_index(pages), ensure_ascii=False, separators=(",", ":"))
    (folder / "search-index.js").write_text(f"const SEARCH_INDEX = {index};\n")
    return broken_links(pages, folder)


def broken_links(pages: dict[str, Rendered], folder: Path) -> list[str]:
    """Links within the site whose page, file or heading does not exist."""
    by_place = {place_of(document): content for document, content in pages.items()}
    problems = []
    for document, content in pages.items():
        for link in content.links:
            if link.startswith(ELSEWHERE):
                continue
            path, _, anchor = link.partition("#")
            here = place_of(document)
            place = posixpath.normpath(posixpath.join(posixpath.dirname(here), path)) if path else here
            if not (folder / place).is_file():
                problems.append(f"{document} links to {link}, which does not exist.")
            elif anchor and place in by_place and anchor not in by_place[place].anchors:
                problems.append(f"{document} links to {link}, a page that has no such heading.")
    return problems


def _rendered(document: str) -> Rendered:
    folder, here = posixpath.dirname(document), posixpath.dirname(place_of(document))

    def moved(target: str) -> str:
        if target.startswith((*ELSEWHERE, "#")):
            return target
        path, mark, anchor = target.partition("#")
        file = posixpath.normpath(posixpath.join(folder, path))
        if (ROOT / file).is_dir():
            file = posixpath.join(file, "README.md")
        return posixpath.relpath(place_of(file), here or ".") + mark + anchor

    return rendered((ROOT / document).read_text(), moved)


def _copy_files(folder: Path) -> None:
    """Whatever lies beside the documents and may be linked to, and the style and the search."""
    folders = {(ROOT / document).parent for document in DOCUMENTS} - {ROOT}
    for file in (file for beside in folders for file in [*beside.iterdir(), *beside.glob("pictures/*")]):
        if file.suffix in SHOWN:
            place = folder / place_of(file.relative_to(ROOT).as_posix())
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, place)
    style = (HERE / "site.css").read_text() + style_of_code(dark=False)
    dark = f"@media screen and (prefers-color-scheme: dark) {{\n{style_of_code(dark=True)}\n}}\n"
    (folder / "site.css").write_text(f"{style}\n{dark}")
    shutil.copyfile(HERE / "search.js", folder / "search.js")


def _search_index(pages: dict[str, Rendered]) -> list[dict[str, str]]:
    return [
        {
            "page": content.title,
            "title": section.title,
            "place": f"{place_of(document)}#{section.anchor}",
            "words": " ".join(section.words),
        }
        for document, content in pages.items()
        if "DETAILS" not in document
        for section in content.sections
    ]
