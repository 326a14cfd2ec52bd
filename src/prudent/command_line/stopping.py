"""Ctrl-C and its like: the command stops at once, says so in a line, and leaves nothing half-written.

An exception raised wherever the program happens to be does not do that: SciPy and JAX swallow it in their callbacks,
and native code that is torn down while its threads run crashes. So a signal writes a byte to a pipe, in C and whatever
runs, and a thread that waits for it tidies up and ends the process.
"""

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from prudent.writing import remove_unfinished

SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
SHOW_CURSOR = b"\r\x1b[2K\x1b[?25h"
"""A progress bar hides it."""


@contextmanager
def stopping_at_once() -> Iterator[None]:
    """Within the block, such a signal ends the process with 128 + its number, as shells expect: 130 for Ctrl-C."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    watcher = threading.Thread(target=_wait, args=[reader], daemon=True, name="stopping")
    watcher.start()
    heard = [number for number in SIGNALS if not (number != signal.SIGINT and _is_ignored(number))]
    before = {number: signal.signal(number, _left_to_the_watcher) for number in heard}
    woken = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    try:
        yield
    finally:
        signal.set_wakeup_fd(woken)
        for number, handler in before.items():
            signal.signal(number, handler)
        os.close(writer)
        watcher.join()
        os.close(reader)


def _is_ignored(number: int) -> bool:
    """Whether whoever started the process wants it to go on, as nohup does."""
    return signal.getsignal(number) == signal.SIG_IGN


def _left_to_the_watcher(*_: object) -> None:
    """A handler must be there, so that the signal does not do what it does by default."""


def _wait(reader: int) -> None:
    while byte := os.read(reader, 1):
        if byte[0] in SIGNALS:
            _stop(byte[0])


def _stop(number: int) -> None:
    remove_unfinished()
    words = "Interrupted" if number == signal.SIGINT else "Stopped"
    with contextlib.suppress(OSError):
        start = SHOW_CURSOR if os.isatty(2) else b""
        os.write(2, start + f"{words}: every file is as it was before, or whole.\n".encode())
    # not sys.exit: native threads still run, and would crash where their memory is taken away
    os._exit(128 + number)


def drop_streams() -> None:
    """Send what is still to be printed nowhere: its reader is gone, or there is no room for it."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno())
            os.close(nowhere)
