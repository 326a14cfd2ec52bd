"""Progress of long work: named steps with a bar, elapsed time and time left on a terminal; silence elsewhere.

Loops say what they do (`tracked`, `working`); whoever starts the work says where it is reported (`reporting`). So no
function in between has to hand a parameter on.
"""

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from rich.console import Console
from rich.progress import BarColumn, ProgressColumn, SpinnerColumn, Task, TaskID, TextColumn
from rich.progress import Progress as Bars
from rich.text import Text

Progress = Callable[[int, int], None] | bool | None
"""A function that is called with (done, total) of each step; or whether to draw bars, where None draws them on a
terminal only."""

DELAY = 1.0
"""Seconds before bars appear: what is done sooner leaves no trace."""

SPEED_WINDOW = 300.0
"""Seconds over which the speed is averaged."""

_chosen: ContextVar[Progress] = ContextVar("progress", default=None)


@contextmanager
def reporting(progress: Progress) -> Iterator[None]:
    """Report the steps of the work inside in this way. None keeps what was chosen outside, if anything was.

    >>> seen = []
    >>> with reporting(lambda done, total: seen.append(f"{done}/{total}")):
    ...     sum(tracked(3, "counting"))
    3
    >>> seen
    ['1/3', '2/3', '3/3']
    """
    token = _chosen.set(_chosen.get() if progress is None else progress)
    try:
        yield
    finally:
        _chosen.reset(token)


def tracked(total: int, label: str) -> Iterator[int]:
    """Count from 0 to `total`, reporting each step when it is done."""
    progress = _chosen.get()
    if callable(progress):
        for done in range(total):
            yield done
            progress(done + 1, total)
        return
    with _shown(label, total) as advance:
        for done in range(total):
            yield done
            advance()


@contextmanager
def working(label: str) -> Iterator[None]:
    """Show that something runs that cannot be divided into steps, and for how long already."""
    with _shown(label, None):
        yield


@contextmanager
def _shown(label: str, total: int | None) -> Iterator[Callable[[], None]]:
    """One bar among those shown now; hands over the function that moves it by one."""
    chosen = _chosen.get()
    if not (sys.stderr.isatty() if chosen is None else chosen is True):
        yield lambda: None
        return
    bar = _display.add(label, total)
    try:
        yield lambda: _display.advance(bar)
    finally:
        _display.remove(bar)


class _Display:
    """All bars of the process, one below the other: a terminal has room for one display at a time."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._bars: Bars | None = None
        self._open: list[TaskID] = []
        self._timer: threading.Timer | None = None

    def add(self, label: str, total: int | None) -> TaskID:
        with self._lock:
            if self._bars is None:
                self._bars = _new_bars()
                self._timer = threading.Timer(DELAY, self._appear, [self._bars])
                self._timer.daemon = True
                self._timer.start()
            self._open.append(self._bars.add_task(label, total=total))
            return self._open[-1]

    def advance(self, bar: TaskID) -> None:
        with self._lock:
            if self._bars is not None and bar in self._open:
                self._bars.advance(bar)

    def remove(self, bar: TaskID) -> None:
        with self._lock:
            if self._bars is None or bar not in self._open:
                return
            self._open.remove(bar)
            self._bars.remove_task(bar)
            if self._open:
                return
            bars, self._bars = self._bars, None
            if self._timer is not None:
                self._timer.cancel()
        if bars.live.is_started:
            bars.stop()

    def _appear(self, bars: Bars) -> None:
        with self._lock:
            if self._bars is bars:
                bars.start()


class _Times(ProgressColumn):
    """What is done, the time since the step began, and the time left at the speed so far."""

    def render(self, task: Task) -> Text:
        elapsed = task.elapsed or 0.0
        if task.total is None:
            return Text(_clock(elapsed))
        left = task.time_remaining
        if left is None and task.completed:  # after one part, which may have been slower than those to come
            left = elapsed * (task.total / task.completed - 1)
        words = "" if left is None else f", {_clock(left)} left"
        return Text(f"{task.completed:.0f} of {task.total:.0f}, {_clock(elapsed)}{words}")


def _clock(seconds: float) -> str:
    """As on a stopwatch.

    >>> _clock(75), _clock(3675)
    ('1:15', '1:01:15')
    """
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02d}:{rest:02d}" if minutes >= 60 else f"{minutes}:{rest:02d}"


def _new_bars() -> Bars:
    return Bars(
        *(SpinnerColumn(), TextColumn("{task.description}", markup=False), BarColumn(bar_width=24), _Times()),
        console=Console(stderr=True),
        transient=True,
        speed_estimate_period=SPEED_WINDOW,
    )


_display = _Display()
