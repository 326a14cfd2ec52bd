"""How an attempt ended, counted."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from prudent.errors import InputProblem

DONE, REFUSED = "done", "refused in a sentence"


@dataclass
class Counts:
    """What was tried, how it ended and, of what should not happen, the first examples."""

    hazard: str
    ends: Counter[str] = field(default_factory=Counter)
    examples: list[str] = field(default_factory=list)

    @property
    def tried(self) -> int:
        return sum(self.ends.values())

    def add(self, end: str, example: str = "", wrong: bool = False) -> None:
        self.ends[end] += 1
        if wrong and len(self.examples) < 5:
            self.examples.append(f"{end}: {example}"[:400])

    def attempt(self, what: str, work: Callable[[], object]) -> object:
        """Do it: it may work, or refuse in a sentence, and nothing else."""
        try:
            result = work()
        except InputProblem as problem:
            self.add(REFUSED if str(problem).strip() else "refused without a word")
            return None
        except BaseException as fault:
            if isinstance(fault, KeyboardInterrupt):
                raise
            self.add(f"traceback: {type(fault).__name__}", f"{what}: {fault}", wrong=True)
            return None
        self.add(DONE)
        return result

    def to_dict(self) -> dict[str, Any]:
        return {"hazard": self.hazard, "tried": self.tried, "ends": dict(self.ends), "examples": self.examples}
