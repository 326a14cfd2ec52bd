"""Write the API reference to docs/_site: python -m docs.reference."""

from pathlib import Path

import pdoc

import prudent


def main() -> None:
    # public names are looked up lazily; pdoc lists only those that were looked up
    for name in prudent.__all__:
        getattr(prudent, name)
    pdoc.render.configure(docformat="restructuredtext")
    pdoc.pdoc("prudent", "prudent.checks", "prudent.evaluation", output_directory=Path(__file__).parent / "_site")


if __name__ == "__main__":
    main()
