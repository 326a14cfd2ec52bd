"""Which documents the site has, in which order, and where each one's page is."""

from pathlib import Path, PurePosixPath

ROOT = Path(__file__).parent.parent.parent

CONTENTS: dict[str, tuple[tuple[str, str], ...]] = {
    "Start": (
        ("What it is", "README.md"),
        ("Tutorial: the first hour", "docs/tutorial.md"),
        ("Which strategy?", "docs/strategies.md"),
        ("Questions and answers", "docs/faq.md"),
        ("Glossary", "docs/glossary.md"),
    ),
    "How to": (
        ("Use your own table", "docs/guide.md"),
        ("Read and write where your data live", "docs/data.md"),
        ("Write a report", "docs/report.md"),
        ("Serve a web page and an API", "docs/web.md"),
        ("Handle several rows of one patient", "docs/groups.md"),
        ("Evaluate your own policy", "docs/own_policy.md"),
        ("Keep a journal of decisions", "docs/journal.md"),
        ("Connect a hospital's system", "docs/hospital.md"),
        ("Use a GPU", "docs/gpu.md"),
        ("Use a cluster", "docs/cluster.md"),
    ),
    "In depth": (
        ("Being careful", "docs/careful.md"),
        ("A guarantee for each case", "docs/guarantee.md"),
        ("What to measure next", "docs/measuring.md"),
        ("Evaluation", "docs/evaluation.md"),
        ("Sensitivity", "docs/sensitivity.md"),
        ("Effects of two actions", "docs/effects.md"),
        ("Reliability", "docs/reliability.md"),
        ("Security", "docs/security.md"),
    ),
    "Evidence": (
        ("Methods", "docs/methods.md"),
        ("Results", "docs/results.md"),
        ("Speed", "docs/speed.md"),
        ("The paper, and where it errs", "docs/paper.md"),
        ("Insulin", "experiments/t1d/README.md"),
        ("Insulin: every row", "experiments/t1d/DETAILS.md"),
        ("Digits", "experiments/mnist/README.md"),
        ("Digits: every row", "experiments/mnist/DETAILS.md"),
        ("Infant health", "experiments/ihdp/README.md"),
        ("Infant health: every row", "experiments/ihdp/DETAILS.md"),
        ("The field of problems", "benchmarks/field/README.md"),
    ),
    "Project": (
        ("Contributing", "CONTRIBUTING.md"),
        ("Changes", "CHANGELOG.md"),
        ("Examples", "examples/README.md"),
        ("The trial's data", "docs/data/README.md"),
        ("The data of the field", "benchmarks/field/data/README.md"),
    ),
}
"""Section by section: the title in the navigation, and the document, from the root of the repository."""

DOCUMENTS = tuple(document for pages in CONTENTS.values() for _, document in pages)
REFERENCE = "api/prudent.html"


def place_of(document: str) -> str:
    """Where a document or a file beside it lies on the site.

    >>> place_of("README.md"), place_of("docs/guide.md"), place_of("experiments/t1d/README.md")
    ('index.html', 'guide.html', 'experiments/t1d/index.html')
    >>> place_of("docs/pictures/case.svg"), place_of("CONTRIBUTING.md")
    ('pictures/case.svg', 'contributing.html')
    """
    path = PurePosixPath(document)
    if path.is_relative_to("docs"):
        path = path.relative_to("docs")
    if path.suffix != ".md":
        return str(path)
    name = "index" if path.stem == "README" else path.stem.lower()
    return str(path.with_name(f"{name}.html"))
