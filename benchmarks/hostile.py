"""What hostile tables, damaged folders, kills and interrupts did: the counts of `make hostile`, as tables.

`python -m tests.hostile.run` measures; this file only shows what it stored.
"""

from typing import Any

from benchmarks.reporting import Benchmark
from experiments.tables import Table

RIVALS = ("scikit-learn", "EconML", "pandas")


def ours(stored: Any) -> Table:
    return _table("prudent", [one for one in stored if not one["hazard"].startswith(RIVALS)])


def rivals(stored: Any) -> Table:
    return _table("others", [one for one in stored if one["hazard"].startswith(RIVALS)])


def _table(title: str, hazards: list[dict]) -> Table:
    rows = [(one["hazard"], f"{one['tried']:,}", _ends(one["ends"])) for one in hazards]
    return Table(("hazard", "times", "how it ended"), rows, f"Hostile conditions, {title}")


def _ends(ends: dict[str, int]) -> str:
    common_first = sorted(ends.items(), key=lambda pair: -pair[1])
    return ", ".join(f"{end}: {times:,}" for end, times in common_first if times)


BENCHMARK = Benchmark("hostile", {"hostile": ours, "hostile rivals": rivals})
