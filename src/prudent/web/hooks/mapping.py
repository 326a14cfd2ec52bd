"""The mapping file of a CDS Hooks service: from a hospital's records to the model's columns, and back to its orders."""

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

from prudent.errors import InputProblem
from prudent.table import ActionLabel, Schema, did_you_mean, label_text
from prudent.web.hooks.sections import Section
from prudent.web.hooks.sources import PatientSource, Source, read_source

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_HOOK = re.compile(r"[a-z][a-z0-9-]{0,63}")
_CONTEXT = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")
TABLES = ("service", "strategy", "columns", "actions", "keep")
PATIENT = "patient"
"""The key of the prefetch with the patient's own record."""


@dataclass(frozen=True)
class ActionWords:
    """How an action is called on a card, and what ordering it means: a FHIR resource to be created."""

    action: ActionLabel
    label: str
    description: str
    resource: Mapping[str, Any] | None


@dataclass(frozen=True)
class HookMapping:
    """One service. outcome: what the reward is called on cards. keep: fields of the hook's context that the journal
    keeps with a case, by the name of their column. unmapped: columns of the model that are always gaps. strategy: how
    to choose, as `prudent recommend` says it: name, risk, c, below, floor, fallback."""

    id: str
    hook: str
    title: str
    description: str
    source: Mapping[str, str]
    outcome: str
    suggest_all: bool
    sources: tuple[Source, ...]
    actions: tuple[ActionWords, ...]
    keep: Mapping[str, str] = field(default_factory=dict)
    unmapped: tuple[str, ...] = ()
    strategy: Mapping[str, Any] = field(default_factory=dict)

    def words(self, action: ActionLabel) -> ActionWords:
        """Also of a fallback that the log never had."""
        known = (one for one in self.actions if label_text(one.action) == label_text(action))
        return next(known, ActionWords(action, str(action), str(action), None))

    @property
    def prefetch(self) -> dict[str, str]:
        """What the hospital's system is asked to send, as queries by key."""
        queries = {}
        for source in self.sources:
            if isinstance(source, PatientSource):
                queries[PATIENT] = "Patient/{{context.patientId}}"
                continue
            coded = source.coded
            codes = ",".join(f"{coded.system}|{code}" for code in coded.codes)
            query = f"{coded.resource}?patient={{{{context.patientId}}}}&code={codes}"
            newest_first = "&_sort=-date" if coded.resource in ("Observation", "Procedure") else ""
            queries[self.key(source)] = f"{query}{newest_first}&_count={source.count}"
        return queries

    def key(self, source: Source) -> str:
        """Of the prefetch that a column is read from."""
        if isinstance(source, PatientSource):
            return PATIENT
        slugs = [PATIENT, *(_slug(one.column.name) for one in self.sources)]
        number = self.sources.index(source) + 1
        slug = slugs[number]
        return slug if slug and slugs.count(slug) == 1 else f"{slug or 'column'}-{number}"

    @staticmethod
    def read(path: str | PathLike[str], schema: Schema, labels: Sequence[ActionLabel]) -> "HookMapping":
        """Read and check a mapping file against what a model knows."""
        file = Path(path)
        try:
            content = tomllib.loads(file.read_text(encoding="utf-8"))
        except OSError as problem:
            raise InputProblem(
                f"The mapping '{file}' cannot be read ({problem.strerror}); check the path."
            ) from problem
        except (ValueError, RecursionError) as problem:  # no TOML, or no UTF-8
            raise InputProblem(f"The mapping '{file}' is no TOML: {problem}.") from problem
        whole = Section(str(file), "", content)
        for name in content:
            if name not in TABLES:
                raise InputProblem(f"'{file}' has no use for [{name}]. {did_you_mean(name, TABLES)}")
        sources = _sources(whole.section("columns"), schema)
        mapped = {source.column.name for source in sources}
        return HookMapping(
            **_service(whole.section("service")),
            sources=sources,
            actions=_actions(whole.section("actions"), labels),
            keep=_keep(whole.section("keep"), schema),
            unmapped=tuple(name for name in schema.names if name not in mapped),
            strategy=_strategy(whole.section("strategy")),
        )


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.casefold()).strip("-")


def _service(section: Section) -> dict[str, Any]:
    section.only("id", "hook", "title", "description", "source", "url", "outcome", "suggest")
    id, hook = section.text("id"), section.text("hook", "patient-view")
    if not _ID.fullmatch(id):
        section.fail(f"'id' is a part of an address: letters, digits, '.', '_' and '-' only. Got {id!r:.80} instead.")
    if not _HOOK.fullmatch(hook):
        section.fail(f"'hook' must be the name of a hook, such as 'patient-view'. Got {hook!r:.80} instead.")
    url = section.text("url", None)
    if url is not None and not re.fullmatch(r"https?://\S+", url):
        section.fail(f"'url' must begin with https:// or http://. Got {url!r:.80} instead.")
    return {
        "id": id,
        "hook": hook,
        "title": section.text("title"),
        "description": section.text("description"),
        "source": {"label": section.text("source", "prudent")} | ({} if url is None else {"url": url}),
        "outcome": section.text("outcome", "outcome"),
        "suggest_all": section.choice("suggest", ("recommended", "all"), "recommended") == "all",
    }


def _strategy(section: Section) -> dict[str, Any]:
    numbers = ("risk", "c", "below", "floor")
    section.only("name", "fallback", *numbers)
    found = {"strategy": section.text("name", "expected"), "fallback": section.entries.get("fallback")}
    return found | {name: section.number(name, None) for name in numbers}


def _sources(section: Section, schema: Schema) -> tuple[Source, ...]:
    columns = {column.name: column for column in schema.columns}
    for name in section.entries:
        if name not in columns:
            section.fail(f"the model has no column '{name}'. {did_you_mean(name, schema.names)}")
    if not section.entries:
        section.fail("no column is mapped, so there would be nothing to decide by; map at least one.")
    return tuple(read_source(section.section(name), columns[name]) for name in section.entries)


def _actions(section: Section, labels: Sequence[ActionLabel]) -> tuple[ActionWords, ...]:
    known = {label_text(label): label for label in labels}
    for name in section.entries:
        if label_text(name) not in known:
            section.fail(f"the model has no action '{name}'. {did_you_mean(name, list(known))}")
    named = {label_text(name): section.section(name) for name in section.entries}
    return tuple(_words(named.get(text), label) for text, label in known.items())


def _words(section: Section | None, action: ActionLabel) -> ActionWords:
    if section is None:
        return ActionWords(action, str(action), str(action), None)
    section.only("label", "description", "resource")
    label = section.text("label", str(action))
    resource = section.mapping("resource", None)
    if resource is not None and not _is_resource(resource):
        section.fail(
            "'resource' must be a FHIR resource, as { resourceType = 'ServiceRequest', … }, its dates as texts."
        )
    return ActionWords(action, label, section.text("description", label), resource)


def _is_resource(resource: Mapping[str, Any]) -> bool:
    try:
        json.dumps(resource, allow_nan=False)
    except (TypeError, ValueError):
        return False
    return isinstance(resource.get("resourceType"), str) and bool(resource["resourceType"])


def _keep(section: Section, schema: Schema) -> dict[str, str]:
    for column, name in section.entries.items():
        if column in schema.names:
            section.fail(f"'{column}' is a column that the model decides by; give it another name.")
        if not isinstance(name, str) or not _CONTEXT.fullmatch(name):
            section.fail(f"'{column}' must name a field of the context, as 'encounterId'. Got {name!r:.80} instead.")
    return dict(section.entries)
