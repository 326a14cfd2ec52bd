"""A table of texts that fits any width: where it is too wide it becomes several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

NAME_WIDTH = 28  # a longer name is wrapped, so that it leaves room for the numbers
BETWEEN_COLUMNS = 3


@dataclass(frozen=True)
class Columns:
    """A table of texts; its first column names the rows. A head may have several lines."""

    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def parts(self, width: int) -> list[Columns]:
        """As many tables as it takes for each to be at most so wide; every one begins with the names.

        >>> table = Columns(("policy", "value", "gain"), (("a", "1.25", "0.50"),))
        >>> [part.heads for part in table.parts(16)]
        [('policy', 'value'), ('policy', 'gain')]
        """
        columns = range(1, len(self.heads))
        groups = self._packed(width, most=len(columns))
        # as even as they may be: the last table should not be left with a single column
        even = self._packed(width, most=-(-len(columns) // len(groups)))
        return [self._only(group) for group in (even if len(even) == len(groups) else groups)]

    def _packed(self, width: int, most: int) -> list[list[int]]:
        """The numbers of the columns of each table, at most `most` beside the names."""
        widths = [max(map(len, "\n".join(column).split("\n"))) for column in zip(self.heads, *self.rows, strict=True)]
        names = min(widths[0], NAME_WIDTH)
        groups, used = [[0]], names
        for at, own in enumerate(widths[1:], 1):
            full = used + BETWEEN_COLUMNS + own > width or len(groups[-1]) > most
            if full and len(groups[-1]) > 1:
                groups.append([0])
                used = names
            groups[-1].append(at)
            used += BETWEEN_COLUMNS + own
        return groups

    def _only(self, chosen: Sequence[int]) -> Columns:
        return Columns(
            tuple(self.heads[at] for at in chosen), tuple(tuple(row[at] for at in chosen) for row in self.rows)
        )

    def lines(self) -> list[str]:
        """Aligned: names to the left, numbers to the right."""
        heads = [head.split("\n") for head in self.heads]
        tallest = max(map(len, heads))
        padded = [[*[""] * (tallest - len(head)), *head] for head in heads]
        rows = [*zip(*padded, strict=True), *self.rows]
        widths = [max(len(row[at]) for row in rows) for at in range(len(self.heads))]
        gap = " " * BETWEEN_COLUMNS
        return [
            gap.join([f"{row[0]:<{widths[0]}}", *(f"{c:>{w}}" for c, w in zip(row[1:], widths[1:], strict=True))])
            for row in rows
        ]
