"""Advice goes into the journal before it is answered: what somebody has seen is never lost."""

import threading
from collections.abc import Sequence
from concurrent.futures import Future
from queue import SimpleQueue

from prudent.decide import Advice
from prudent.journal import Entry, Journal
from prudent.web.service import Case, plain_cell


class Recorder:
    """Writes entries of many requests in one transaction: a disk takes as long for a hundred as for one.

    A thread of its own writes; `record` returns once the entries are durable.
    """

    def __init__(self, journal: Journal):
        self.journal = journal
        self._queue: SimpleQueue[tuple[Sequence[Entry], Future[None]] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._write, name="prudent-journal", daemon=True)
        self._thread.start()

    def record(self, entries: Sequence[Entry]) -> None:
        written: Future[None] = Future()
        self._queue.put((entries, written))
        written.result()

    def close(self) -> None:
        """Write what waits, and close the journal."""
        self._queue.put(None)
        self._thread.join()
        self.journal.close()

    def _write(self) -> None:
        while True:
            first = self._queue.get()
            if first is None:
                return
            together, ended = [first], False
            while not self._queue.empty() and not ended:
                following = self._queue.get()
                if following is None:
                    ended = True
                else:
                    together.append(following)
            self._write_together(together)
            if ended:
                return

    def _write_together(self, together: list[tuple[Sequence[Entry], "Future[None]"]]) -> None:
        try:
            self.journal.record([entry for entries, _ in together for entry in entries])
        except BaseException as problem:  # whoever waits must hear of it
            if len(together) == 1:
                together[0][1].set_exception(problem)
                return
            for one in together:  # what is wrong with one of them is no matter of the others
                self._write_together([one])
            return
        for _, written in together:
            written.set_result(None)


def entries_of(advice: Advice, cases: Sequence[Case], model: str, source: str) -> list[Entry]:
    """One entry per case, with the cells as they were given."""
    columns, chances = advice.columns(), advice.probabilities
    return [
        Entry.new(
            model,
            {name: plain_cell(cell) for name, cell in case.items()},
            {name: values[row] for name, values in columns.items()},
            float(chances[row]),
            source,
        )
        for row, case in enumerate(cases)
    ]
