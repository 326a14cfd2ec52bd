"""The card that a clinician sees: what is advised, how sure that is, and what could not be read."""

import re
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import NAMESPACE_OID, UUID, uuid5

from prudent.errors import is_number
from prudent.show import one_line, significant
from prudent.table import label_text
from prudent.web.hooks.mapping import ActionWords, HookMapping

LONGEST_SUMMARY = 139
MOST_REMARKS, MOST_REASONS = 12, 20
_SPECIAL = re.compile(r"([\\`*_{}\[\]()#+!|~])")
_TEMPLATE = re.compile(r"\{\{\s*context\.([A-Za-z][A-Za-z0-9_]*)\s*\}\}")
_SAFE = re.compile(r"[A-Za-z0-9\-./]{1,128}")
OTHER = "other"
"""The code of a reason without an action."""


def card_of(
    mapping: HookMapping, id: str, advice: Mapping[str, Any], remarks: Sequence[str], context: Mapping[str, Any]
) -> dict[str, Any]:
    """id: of the entry in the journal, which the card's uuid carries. remarks: what could not be read. context: of the
    hook, for references in the resources to be ordered."""
    action, status = advice.get("action"), str(advice.get("status") or "ok")
    card: dict[str, Any] = {
        "uuid": str(UUID(hex=id)),
        "summary": _summary(mapping, advice),
        "indicator": "info" if status == "ok" else "warning",
        "source": dict(mapping.source),
        "detail": _detail(mapping, advice, status, remarks),
    }
    if action is None:
        return card
    others = [one for one in mapping.actions if not _is(one, action)]
    suggested = [mapping.words(action), *(others if mapping.suggest_all else ())]
    card["suggestions"] = [_suggestion(id, one, _is(one, action), context) for one in suggested]
    card["selectionBehavior"] = "at-most-one"
    reasons = [{"code": label_text(one.action), "display": f"{one_line(one.label)} instead"} for one in others]
    card["overrideReasons"] = [*reasons[:MOST_REASONS], {"code": OTHER, "display": "Another reason"}]
    return card


def suggestion_id(id: str, action: object) -> str:
    """The same for the same advice and action, so that feedback needs nothing but the journal."""
    return str(uuid5(uuid5(NAMESPACE_OID, id), label_text(action)))


def _is(words: ActionWords, action: object) -> bool:
    return label_text(words.action) == label_text(action)


def _summary(mapping: HookMapping, advice: Mapping[str, Any]) -> str:
    action, expected = advice.get("action"), advice.get("expected_reward")
    if action is None:
        return "No action is recommended for this case; whoever may decide should."
    price = f" (expected {mapping.outcome} {_number(expected)})" if is_number(expected) else ""
    label = one_line(mapping.words(action).label)
    room = LONGEST_SUMMARY - len(price)
    if room < LONGEST_SUMMARY // 2:  # a long name of the outcome
        price, room = "", LONGEST_SUMMARY
    return (label if len(label) <= room else f"{label[: room - 1]}…") + price


def _detail(mapping: HookMapping, advice: Mapping[str, Any], status: str, remarks: Sequence[str]) -> str:
    lines = []
    outcome = plain(mapping.outcome)
    named = {"expected_reward": f"Expected {outcome}", "worst_reward": f"Worst plausible mean {outcome}"}
    facts = [(words, _number(advice[name])) for name, words in named.items() if is_number(advice.get(name))]
    low, high = advice.get("outcome_low"), advice.get("outcome_high")
    if is_number(low) and is_number(high):
        facts.append(("Nine in ten single outcomes", f"{_number(low)} to {_number(high)}"))
    if is_number(advice.get("guaranteed_reward")):
        facts.append(("Guaranteed bound", _number(advice["guaranteed_reward"])))
    if facts:
        lines += ["| | |", "| --- | --- |", *(f"| {words} | {value} |" for words, value in facts), ""]
    if status != "ok":
        lines += [f"**Status**: {plain(status)}", ""]
    flags = [flag for flag in str(advice.get("flags") or "").split("; ") if flag]
    said = [*remarks, *flags]
    said = [*said[:MOST_REMARKS], *([f"{len(said) - MOST_REMARKS} more."] if len(said) > MOST_REMARKS else [])]
    lines += [f"- {plain(sentence)}" for sentence in said] + [""] * bool(said)
    lines.append("This is advice from past decisions. Whoever decides stays responsible.")
    return "\n".join(lines)


def _number(value: Any) -> str:
    return significant(float(value))


def plain(text: str) -> str:
    """Text without any meaning in Markdown or HTML, since a part of it comes with the request.

    >>> plain("category '<b>*x*</b>' never seen")
    "category '&lt;b&gt;\\\\*x\\\\*&lt;/b&gt;' never seen"
    """
    text = one_line(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _SPECIAL.sub(r"\\\1", text)


def _suggestion(id: str, words: ActionWords, recommended: bool, context: Mapping[str, Any]) -> dict[str, Any]:
    suggestion: dict[str, Any] = {"label": one_line(words.label), "uuid": suggestion_id(id, words.action)}
    suggestion["isRecommended"] = recommended
    resource = None if words.resource is None else _filled(words.resource, context)
    if resource is not None:
        suggestion["actions"] = [{"type": "create", "description": one_line(words.description), "resource": resource}]
    return suggestion


class _Lacking(Exception):
    """The context has no such field, so nothing can be ordered."""


def _filled(resource: Mapping[str, Any], context: Mapping[str, Any]) -> dict[str, Any] | None:
    """The resource with {{context.patientId}} and the like replaced; None where the context lacks one."""

    def fill(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {name: fill(one) for name, one in value.items()}
        if isinstance(value, list):
            return [fill(one) for one in value]
        return _TEMPLATE.sub(field, value) if isinstance(value, str) else value

    def field(match: re.Match[str]) -> str:
        found = context.get(match[1])
        if not isinstance(found, str) or not _SAFE.fullmatch(found):
            raise _Lacking
        return found

    try:
        return fill(resource)
    except _Lacking:
        return None
