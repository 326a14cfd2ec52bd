"""A progress bar on a terminal, silence elsewhere."""

import sys
from collections.abc import Callable, Iterator

Progress = Callable[[int, int], None] | bool | None
"""A function that is called with (done, total); or whether to draw a bar, where None draws it on a terminal only."""


def tracked(total: int, label: str, progress: Progress) -> Iterator[int]:
    """Count from 0 to `total`, calling `progress(done, total)` after each step or drawing a bar.

    None draws the bar only when standard error is a terminal, so that scripts and logs stay quiet.
    """
    if callable(progress):
        for done in range(total):
            yield done
            progress(done + 1, total)
        return
    shown = sys.stderr.isatty() if progress is None else progress
    if not shown:
        yield from range(total)
        return
    from rich.console import Console
    from rich.progress import track

    yield from track(range(total), description=label, console=Console(stderr=True), transient=True)
