"""Answers about cases from one fitted model: what the JSON API and the pages have in common."""

import math
import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from os import PathLike
from typing import Any

import numpy as np

from prudent.decide import Advice, Explanation, Policy
from prudent.errors import InputProblem
from prudent.models import Fitted, load
from prudent.networks import release_programs
from prudent.promise import Guarantee, guarantee
from prudent.table import ActionLabel, Log, did_you_mean
from prudent.web.choices import CAUTION, Choice
from prudent.web.columns import column_facts

MOST_POLICIES = 64
"""Kept ready; beyond that, those that were not used for longest go."""
LARGEST_WHOLE = 2**63 - 1
"""Beyond it a whole number is a floating-point one, as in a table."""

LARGEST_FLOAT = 10**308

Cell = str | int | float | bool | None
Case = Mapping[str, Cell]
Allowed = Sequence[ActionLabel] | Sequence[Sequence[ActionLabel] | None] | None


class Service:
    """Thread-safe: any number of threads may ask at once.

    model: the hash of the model's folder, which journals name. later: decisions that the model has not seen, for a
    guaranteed bound on every recommended action. units: of columns, to be shown beside their fields.
    """

    def __init__(
        self,
        fitted: Fitted,
        model: str = "",
        later: Log | None = None,
        confidence: float = 0.95,
        units: Mapping[str, str] | None = None,
    ):
        self.fitted, self.model = fitted, model
        self.columns = _columns(fitted, {} if units is None else units)
        self._later, self._confidence = later, confidence
        self._policies: OrderedDict[Choice, tuple[Policy, Guarantee | None]] = OrderedDict()
        self._lock = threading.Lock()

    @classmethod
    def load(cls, folder: str | PathLike[str]) -> "Service":
        return cls(load(folder))

    @property
    def has_guarantee(self) -> bool:
        return self._later is not None

    def warm_up(self) -> Iterator[int]:
        """Answer everything once at every step of the slider, so that nobody waits for programs to be compiled: as many
        cells as there are, none, and tables of several sizes. Counts the steps that are done."""
        columns = self.fitted.schema.columns
        full = {column.name: _usual_cell(column) for column in columns}
        half = {name: cell if at % 2 else None for at, (name, cell) in enumerate(full.items())}
        for done, step in enumerate(CAUTION, 1):
            for case in (full, half, dict.fromkeys(full)):
                self.explain(case, step.choice)
            self.recommend([half] * 40, step.choice, measure=True)
            self.recommend([half], step.choice, measure=True)
            yield done

    def recommend(
        self, cases: Sequence[Case], choice: Choice = Choice(), allowed: Allowed = None, measure: bool = False
    ) -> Advice:
        """Advice for cases given as mappings of cells; a column that a case lacks is a gap."""
        if not cases:
            raise InputProblem("There is no case to recommend for; give at least one.")
        for case in cases:
            for name, cell in case.items():
                _require_text(name)
                _require_text(cell)
        names = self.fitted.schema.names
        frame = {name: [plain_cell(case.get(name)) for case in cases] for name in names}
        return self.recommend_table(frame, choice, _by_case(allowed, len(cases)), measure)

    def recommend_table(self, frame: Any, choice: Choice, allowed: Any = None, measure: bool = False) -> Advice:
        """Advice for a table. allowed: as `Policy.recommend` takes it."""
        policy, bounds = self.ready(choice)
        return policy.recommend(frame, allowed=allowed, guarantee=bounds, measure=measure)

    def explain(self, case: Case, choice: Choice = Choice(), allowed: Allowed = None) -> tuple[Advice, Explanation]:
        advice = self.recommend([case], choice, allowed)
        return advice, advice[0].explain()

    def ready(self, choice: Choice) -> tuple[Policy, Guarantee | None]:
        """The policy, made when it is first asked for."""
        with self._lock:
            if choice in self._policies:
                self._policies.move_to_end(choice)
                return self._policies[choice]
        release_programs()  # settings of all kinds, each with programs of its own, must not fill the memory
        policy = choice.policy(self.fitted)
        bounds = None if self._later is None else guarantee(policy, self._later, confidence=self._confidence)
        with self._lock:
            self._policies[choice] = policy, bounds
            if len(self._policies) > MOST_POLICIES:
                self._policies.popitem(last=False)
            return self._policies[choice]

    def ignored(self, case: Case) -> list[str]:
        """A sentence for every cell that no column of the model has: a slip of the pen would be a gap unnoticed."""
        names, roles = self.fitted.schema.names, self.fitted.roles
        known = {*names, roles.action, roles.reward, roles.propensity, roles.group, roles.censored}
        return [
            f"'{name}' is no column of the model and was ignored. {did_you_mean(name, names)}"
            for name in case
            if name not in known
        ]


def _columns(fitted: Fitted, units: Mapping[str, str]) -> list[dict[str, Any]]:
    """The columns as a form asks for them."""
    names = fitted.schema.names
    for name in units:
        if name not in names:
            raise InputProblem(f"The unit of '{name}' is of no column of the model. {did_you_mean(name, names)}")
    return [column_facts(column, units.get(column.name)) for column in fitted.schema.columns]


def plain_cell(cell: Cell) -> Cell:
    """A cell as a table may hold it: NaN is a gap."""
    if isinstance(cell, float) and math.isnan(cell):
        return None
    if isinstance(cell, int) and not isinstance(cell, bool) and abs(cell) > LARGEST_WHOLE:
        return float(cell) if abs(cell) < LARGEST_FLOAT else math.inf if cell > 0 else -math.inf
    return cell


def _require_text(cell: object) -> None:
    """Half of a pair of UTF-16 is no text: no file, and no journal, could hold it."""
    if isinstance(cell, str) and not cell.isascii():
        try:
            cell.encode()
        except UnicodeEncodeError:
            raise InputProblem(f"{cell!r:.80} of a case is no text: send it in UTF-8.") from None


def _by_case(allowed: Allowed, cases: int) -> list[Any] | None:
    """One list of labels is meant for every case."""
    if allowed is None:
        return None
    labels = [entry for entry in allowed if isinstance(entry, str | int | float)]
    if len(labels) == len(allowed):
        return [labels] * cases
    return [[entry] if isinstance(entry, str | int | float) else entry and [*entry] for entry in allowed]


def _usual_cell(column: Any) -> Cell:
    """A cell in the middle of what the log has."""
    return column.categories[0] if column.categories else column.decode(np.zeros(1))[0]
