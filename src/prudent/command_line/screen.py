"""What people see: sober tables and sentences that look right on a terminal and in a pipe."""

from collections.abc import Iterable

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
