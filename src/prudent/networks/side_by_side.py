"""Work on several cores: one program alone leaves some of them idle, since its parts are too small to divide."""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

import jax

Item = TypeVar("Item")
Result = TypeVar("Result")


def workers() -> int:
    """How many programs to run at once: one for every core that this process may use; an accelerator takes one."""
    if jax.default_backend() != "cpu":
        return 1
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def side_by_side(work: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
    """The results in the order of the items; as many as there are workers are under way at a time.

    The first is finished before others begin, so that a program is compiled once.

    >>> list(side_by_side(lambda number: number**2, range(5)))
    [0, 1, 4, 9, 16]
    """
    remaining = iter(items)
    for first in remaining:
        yield work(first)
        break
    most = workers()
    with ThreadPoolExecutor(most) as pool:
        running: deque[Future[Result]] = deque()
        for item in remaining:
            running.append(pool.submit(work, item))
            if len(running) > most:
                yield running.popleft().result()
        while running:
            yield running.popleft().result()
