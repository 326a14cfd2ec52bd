"""Write the API reference to docs/_site."""

from pathlib import Path

import pdoc

import prudent

# public names are looked up lazily; pdoc lists what it finds
for name in prudent.__all__:
    getattr(prudent, name)

pdoc.render.configure(docformat="restructuredtext")
pdoc.pdoc("prudent", "prudent.checks", "prudent.evaluation", output_directory=Path(__file__).parent / "_site")
