"""What people see: sober tables and sentences that look right on a terminal and in a pipe."""

from collections.abc import Iterable, Sequence

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table


def screen(stderr: bool = False) -> Console:
    """A console that takes texts as they are: a column named '[bold]' is shown as that."""
    return Console(stderr=stderr, markup=False, emoji=False, highlight=False)


def heading(console: Console, text: str) -> None:
    console.print()
    console.print(text, style="bold", soft_wrap=True)


def sentence(console: Console, text: str, indent: int = 0) -> None:
    """One sentence; in a pipe it stays one line, so that it can be searched."""
    if console.is_terminal:
        console.print(Padding(text, (0, 0, 0, indent)))
    else:
        console.print(" " * indent + text, soft_wrap=True)


def bullets(console: Console, sentences: Iterable[str]) -> None:
    for text in sentences:
        if not console.is_terminal:
            console.print(f"- {text}", soft_wrap=True)
            continue
        grid = Table.grid(padding=(0, 1, 0, 0))
        grid.add_row("-", text)
        console.print(grid)


def table(columns: Sequence[str], rows: Iterable[Sequence[str]], words: Sequence[str] = ()) -> Table:
    """A table whose columns in `words` are left-aligned and may wrap; the others are numbers."""
    result = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold")
    for name in columns:
        if name in words:
            result.add_column(name, overflow="fold")
        else:
            result.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        result.add_row(*row)
    return result


def counted(count: int, one: str, many: str | None = None) -> str:
    """A number with its noun.

    >>> counted(1, "row"), counted(3000, "row")
    ('1 row', '3,000 rows')
    """
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def share(part: float) -> str:
    """A share in percent; what is not nothing never reads as 0%.

    >>> share(0), share(0.0004), share(0.404), share(0.9999)
    ('0%', '<1%', '40%', '>99%')
    """
    if 0 < part < 0.005:
        return "<1%"
    return ">99%" if 0.995 <= part < 1 else f"{part:.0%}"
