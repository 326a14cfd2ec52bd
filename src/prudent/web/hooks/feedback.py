"""What a clinician did with a card, as the hospital's system reports it, into the journal."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from prudent.errors import InputProblem
from prudent.journal import Journal
from prudent.table import ActionLabel, label_text
from prudent.web.hooks.cards import suggestion_id
from prudent.web.hooks.fhir import inner, items
from prudent.web.hooks.mapping import HookMapping

MOST_REPORTS = 1000


def add_feedback(mapping: HookMapping, journal: Journal, body: Any) -> None:
    """Accepted: the suggestion's action was taken. Overridden with the reason that another action was taken instead:
    that one. Overridden otherwise: the advice was declined.

    Reports may come again, and in any order: the one of the latest moment holds, as a correction.
    """
    reports = list(items(body.get("feedback"))) if isinstance(body, Mapping) else []
    if not reports or len(reports) > MOST_REPORTS:
        raise InputProblem(f"The request must have a 'feedback' list with 1 to {MOST_REPORTS} reports.")
    read = [_report(mapping, report) for report in reports]  # all are right before any is written
    taken = {id: journal.find(id).took_at for id, _, _ in read}
    for id, action, at in sorted(read, key=lambda one: one[2]):
        known = taken[id]
        if action is None:
            journal.declined(id, at)
        elif known is None or known <= at:
            journal.took(id, action, at, correct=True)


def _report(mapping: HookMapping, report: Mapping[str, Any]) -> tuple[str, ActionLabel | None, datetime]:
    id, outcome = _card(report.get("card")), report.get("outcome")
    at = _moment(report.get("outcomeTimestamp"))
    if outcome == "accepted":
        accepted = [one.get("id") for one in items(report.get("acceptedSuggestions"))]
        actions = [one.action for one in mapping.actions if suggestion_id(id, one.action) in accepted]
        if len(accepted) != 1 or not actions:
            raise InputProblem(
                "A report with the outcome 'accepted' must name one suggestion of the card in 'acceptedSuggestions', "
                'as [{"id": "…"}].'
            )
        return id, actions[0], at
    if outcome != "overridden":
        raise InputProblem(
            f"The 'outcome' of a report must be 'accepted' or 'overridden'. Got {outcome!r:.80} instead."
        )
    code = inner(inner(report, "overrideReason"), "reason").get("code")
    instead = [one.action for one in mapping.actions if isinstance(code, str) and label_text(one.action) == code]
    return id, instead[0] if instead else None, at


def _card(given: Any) -> str:
    try:
        return UUID(given).hex
    except (ValueError, AttributeError, TypeError):
        raise InputProblem(f"The 'card' of a report must be the uuid of a card. Got {given!r:.80} instead.") from None


def _moment(given: Any) -> datetime:
    try:
        at = datetime.fromisoformat(given)
        return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    except (ValueError, TypeError, OverflowError):
        raise InputProblem(
            f"The 'outcomeTimestamp' of a report must be a moment, as 2026-03-01T12:00:00Z. Got {given!r:.80} instead."
        ) from None
