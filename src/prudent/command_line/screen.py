"""Printing for people: tables and sentences that look right on a terminal and in a pipe."""

from collections.abc import Iterable

from rich.padding import Padding
from rich.table import Table

from prudent.show import PlainConsole, Section, printable


def screen(stderr: bool = False) -> PlainConsole:
    return PlainConsole(stderr=stderr)


def show(sections: Iterable[Section], stderr: bool = False) -> None:
    console = screen(stderr)
    for section in sections:
        if section.title:
            heading(console, section.title)
        for text in section.introduction:
            sentence(console, text)
        if section.table is not None:
            section.table.draw(console)
        for text in section.sentences:
            sentence(console, text)
        bullets(console, section.points)


def heading(console: PlainConsole, text: str) -> None:
    console.print()
    console.print(printable(text, kept=""), style="bold", soft_wrap=True)


def sentence(console: PlainConsole, text: str, indent: int = 0) -> None:
    """One sentence; in a pipe it stays one line, so that it can be searched."""
    text = printable(text, kept="")
    if console.is_terminal:
        console.print(Padding(text, (0, 0, 0, indent)))
    else:
        console.print(" " * indent + text, soft_wrap=True)


def bullets(console: PlainConsole, sentences: Iterable[str]) -> None:
    for text in (printable(text, kept="") for text in sentences):
        if not console.is_terminal:
            console.print(f"- {text}", soft_wrap=True)
            continue
        grid = Table.grid(padding=(0, 1, 0, 0))
        grid.add_row("-", text)
        console.print(grid)


def announce(text: str) -> None:
    """What takes long, on a terminal only: scripts stay quiet."""
    console = screen(stderr=True)
    if console.is_terminal:
        sentence(console, text)
