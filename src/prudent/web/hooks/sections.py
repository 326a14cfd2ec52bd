"""Reading the tables of a TOML file: every wrong entry is one sentence that names where it stands."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from prudent.errors import InputProblem, is_number
from prudent.table import did_you_mean

_MISSING = object()


@dataclass(frozen=True)
class Section:
    """One table of the file. name: as it stands there, such as columns.lactate."""

    file: str
    name: str
    entries: Mapping[str, Any]

    def fail(self, sentence: str) -> NoReturn:
        raise InputProblem(f"[{self.name}] of '{self.file}': {sentence}")

    def only(self, *known: str) -> None:
        for name in self.entries:
            if name not in known:
                self.fail(f"there is no setting '{name}'. {did_you_mean(name, known)}")

    def section(self, name: str) -> "Section":
        inner = self.entries.get(name, {})
        if not isinstance(inner, Mapping):
            self.fail(f"'{name}' must be a table of settings. Got {inner!r:.80} instead.")
        return Section(self.file, f"{self.name}.{name}" if self.name else name, inner)

    def text(self, name: str, default: Any = _MISSING) -> Any:
        return self._value(name, "text", lambda value: isinstance(value, str) and bool(value.strip()), default)

    def choice(self, name: str, choices: tuple[str, ...], default: Any = _MISSING) -> Any:
        words = ", ".join(map(repr, choices[:-1])) + f" or {choices[-1]!r}"
        return self._value(name, words, choices.__contains__, default)

    def texts(self, name: str) -> tuple[str, ...]:
        def good(value: Any) -> bool:
            return isinstance(value, list) and bool(value) and all(isinstance(one, str) and one for one in value)

        return tuple(self._value(name, 'a list of texts, as ["2524-7"]', good, _MISSING))

    def mapping(self, name: str, default: Any = _MISSING) -> Any:
        return self._value(name, "a table", lambda value: isinstance(value, Mapping), default)

    def number(self, name: str, default: Any = _MISSING) -> Any:
        return self._value(name, "a number", is_number, default)

    def _value(self, name: str, must: str, good: Callable[[Any], bool], default: Any) -> Any:
        if name not in self.entries:
            if default is _MISSING:
                self.fail(f"'{name}' is missing; it must be {must}.")
            return default
        if not good(self.entries[name]):
            self.fail(f"'{name}' must be {must}. Got {self.entries[name]!r:.80} instead.")
        return self.entries[name]
