"""The options of `inspect` and `fit` that say how to read the table of logged decisions."""

import shlex
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from prudent.table import KindOverride, Log, Part, Place, TextFormat, parse_kind, parse_missing, read_kinds, read_log


@dataclass(frozen=True)
class LogOptions:
    """The table, the roles of its columns, and their kinds."""

    table: Place
    action: str
    reward: str
    propensity: str | None
    minimize: bool
    ignore: tuple[str, ...]
    kind: tuple[str, ...]
    kinds_file: Path | None = None
    missing: tuple[str, ...] = ()
    written: TextFormat = TextFormat()
    not_missing: tuple[str, ...] = ()
    group: str | None = None
    censored: str | None = None
    part: Part = Part()

    @property
    def files(self) -> tuple[Path | None, ...]:
        """The files that are read."""
        return self.table.path, self.kinds_file

    def kinds(self) -> dict[str, KindOverride]:
        """Those of the file; those on the command line take precedence."""
        named = {} if self.kinds_file is None else read_kinds(self.kinds_file)
        return named | dict(parse_kind(text) for text in self.kind)

    def log(self) -> Log:
        return read_log(
            self.table,
            action=self.action,
            reward=self.reward,
            propensity=self.propensity,
            group=self.group,
            censored=self.censored,
            kinds=self.kinds(),
            ignore=self.ignore,
            missing=parse_missing(self.missing),
            not_missing=parse_missing(self.not_missing),
            minimize=self.minimize,
            **asdict(self.written),
            **asdict(self.part),
        )

    def with_options(self, options: Iterable[tuple[str, str]]) -> "LogOptions":
        """The same with more of --ignore, --kind and --missing, and with --group, given by name and value."""
        added: dict[str, list[str]] = {"--ignore": [], "--kind": [], "--missing": [], "--group": []}
        for name, value in options:
            added[name].append(value)
        return replace(
            self,
            ignore=tuple(dict.fromkeys((*self.ignore, *added["--ignore"]))),
            kind=(*self.kind, *added["--kind"]),
            missing=(*self.missing, *added["--missing"]),
            group=next(iter(added["--group"]), self.group),
        )

    def as_command(self) -> str:
        """The same options, to be typed after the name of another command."""
        parts = [str(self.table), "--action", self.action, "--reward", self.reward]
        parts += [] if self.propensity is None else ["--propensity", self.propensity]
        parts += [] if self.group is None else ["--group", self.group]
        parts += [] if self.censored is None else ["--censored", self.censored]
        parts += ["--minimize"] if self.minimize else []
        parts += [part for name in self.ignore for part in ("--ignore", name)]
        parts += [part for text in self.kind for part in ("--kind", text)]
        parts += [] if self.kinds_file is None else ["--kinds", str(self.kinds_file)]
        parts += [part for text in self.missing for part in ("--missing", text)]
        parts += [part for text in self.not_missing for part in ("--not-missing", text)]
        read_with = {**asdict(self.written), **asdict(self.part)}
        parts += [part for name, value in read_with.items() if value is not None for part in (f"--{name}", value)]
        return shell_words(*parts)


def shell_words(*parts: str | Path) -> str:
    """A part of a command line that a shell reads back as these parts."""
    return shlex.join(str(part) for part in parts)
