"""Labels that differ only in upper case, spaces or dashes are one label: `Yes`, `yes` and `YES`."""

from collections.abc import Mapping, Sequence

import polars as pl

from prudent.table.cells import as_labels, natural_order


def folded(labels: pl.Series) -> pl.Series:
    """Labels without what makes no difference.

    >>> folded(pl.Series(["Yes", "yes ", "20 – 29"])).to_list()
    ['yes', 'yes', '20-29']
    """
    plain = labels.str.to_lowercase().str.replace_all(r"\s+", " ").str.strip_chars()
    return plain.str.replace_all(r"\s*[-‐‑‒–—]\s*", "-")


def one_spelling(cells: pl.Series) -> tuple[pl.Series, dict[str, list[str]]]:
    """Cells with one spelling per label, the most frequent, and the other spellings of each label that had several."""
    if cells.dtype != pl.String:
        return cells, {}
    counts = as_labels(cells).drop_nulls().value_counts(name="rows")
    labels = counts[cells.name].to_list()
    groups: dict[str, list[tuple[int, str]]] = {}
    for fold, rows, label in zip(folded(counts[cells.name]), counts["rows"], labels, strict=True):
        groups.setdefault(fold, []).append((rows, label))
    several = [
        [label for _, label in sorted(group, key=lambda pair: (-pair[0], natural_order(pair[1]), pair[1]))]
        for _, group in sorted(groups.items())
        if len(group) > 1
    ]
    if not several:
        return cells, {}
    others = {kept: sorted(rest) for kept, *rest in several}
    instead = {other: kept for kept, rest in others.items() for other in rest}
    return as_labels(cells).replace(instead), others


def positions(labels: pl.Series, known: Sequence[str], spellings: Mapping[str, int] | None = None) -> pl.Series:
    """Where each label stands among the known ones, null where nowhere; a label in another spelling is recognised.

    spellings: of the known labels, with their positions; by default the known labels themselves.
    """
    exact = {label: index for index, label in enumerate(known)} if spellings is None else dict(spellings)
    index = labels.replace_strict(list(exact), list(exact.values()), default=None, return_dtype=pl.Int32)
    unknown = (labels.is_not_null() & index.is_null()).arg_true()
    folds = folded(pl.Series(known, dtype=pl.String)).to_list()
    if len(unknown) == 0 or len(set(folds)) < len(folds):
        return index
    tried = folded(labels.gather(unknown))
    return index.scatter(unknown, tried.replace_strict(folds, range(len(folds)), default=None, return_dtype=pl.Int32))


def by_number(labels: pl.Series, known: Sequence[str]) -> pl.Series:
    """Where the one known label stands that is the same number, null where there is none or several.

    For cells that lost their spelling, since they were read as numbers: 7 for 007, 1.1 for 1.10.

    >>> by_number(pl.Series(["7", "1.1", "2", "x"]), ["007", "1.10", "2.0", "02"]).to_list()
    [0, 1, None, None]
    """
    numbers = pl.Series(known, dtype=pl.String).cast(pl.Float64, strict=False)
    once = numbers.is_not_null() & numbers.is_unique()
    places = once.arg_true().cast(pl.Int32)
    wanted = labels.cast(pl.Float64, strict=False)
    return wanted.replace_strict(numbers.filter(once), places, default=None, return_dtype=pl.Int32)
