"""Looking into FHIR resources that may be damaged: whatever is not as it should be is not there."""

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any

UCUM = "http://unitsofmeasure.org"
ID = re.compile(r"[A-Za-z0-9\-.]{1,64}")
_PATIENT = re.compile(r"(?:^|/)Patient/([A-Za-z0-9\-.]{1,64})(?:/_history/[A-Za-z0-9\-.]{1,64})?$")
MOST_ENTRIES = 10_000


def items(value: Any) -> Iterator[Mapping[str, Any]]:
    """The objects of a list."""
    yield from (one for one in value if isinstance(one, Mapping)) if isinstance(value, list) else ()


def inner(value: Any, name: str) -> Mapping[str, Any]:
    found = value.get(name) if isinstance(value, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def delivered(prefetched: Any) -> bool:
    """Whether a prefetch is an answer at all: neither missing, nor null, nor a failure."""
    return isinstance(prefetched, Mapping) and prefetched.get("resourceType") not in (None, "OperationOutcome")


def resources(prefetched: Any, kind: str) -> list[Mapping[str, Any]]:
    """Resources of one type: those of a Bundle, or the one itself."""
    if not delivered(prefetched):
        return []
    if prefetched.get("resourceType") != "Bundle":
        return [prefetched] if prefetched.get("resourceType") == kind else []
    found = [inner(entry, "resource") for entry in items(prefetched.get("entry"))]
    return [one for one in found if one.get("resourceType") == kind][:MOST_ENTRIES]


def has_more(prefetched: Any, asked_for: int) -> bool:
    """Whether a Bundle may be only the first part of what there is."""
    entries, total = prefetched.get("entry"), prefetched.get("total")
    count = len(entries) if isinstance(entries, list) else 0
    next_page = any(link.get("relation") == "next" for link in items(prefetched.get("link")))
    return next_page or count >= asked_for or (isinstance(total, int) and not isinstance(total, bool) and total > count)


def is_coded(concept: Any, system: str, codes: tuple[str, ...]) -> bool:
    return any(one.get("system") == system and one.get("code") in codes for one in items(_of(concept, "coding")))


def codes_of(concept: Any) -> list[str]:
    found = [one.get("code") for one in items(_of(concept, "coding"))]
    return [code for code in found if isinstance(code, str)]


def _of(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, Mapping) else None


def is_of(resource: Mapping[str, Any], patient: str) -> bool:
    """Whether a resource may be of this patient: it names nobody else."""
    for name in ("subject", "patient"):
        reference = inner(resource, name).get("reference")
        named = _PATIENT.search(reference) if isinstance(reference, str) else None
        if named is not None and named[1] != patient:
            return False
    return True


def moment(value: Any) -> datetime | None:
    """A date or a moment of FHIR, of which parts may be missing, at its beginning and in UTC.

    >>> moment("2024-03").isoformat(), moment("2024-03-01T12:00:00+02:00").isoformat(), moment("soon")
    ('2024-03-01T00:00:00+00:00', '2024-03-01T10:00:00+00:00', None)
    """
    if not isinstance(value, str):
        return None
    for pattern, rest in ((r"\d{4}", "-01-01"), (r"\d{4}-\d{2}", "-01"), (r"\d{4}-\d{2}-\d{2}(T.+)?", "")):
        if re.fullmatch(pattern, value):
            try:
                found = datetime.fromisoformat(value + rest)
                return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
            except (ValueError, OverflowError):
                return None
    return None


def when(resource: Mapping[str, Any], names: tuple[str, ...]) -> datetime | None:
    """The first of these times that there is; of a period its end, or else its start."""
    for name in names:
        value = resource.get(name)
        period = inner(resource, name)
        found = moment(value) or moment(period.get("end")) or moment(period.get("start"))
        if found is not None:
            return found
    return None


def age(born: str, today: date, unit: str) -> int | None:
    """Completed years (a), months (mo), weeks (wk) or days (d) since a birth date; None where it is too vague.

    >>> age("1980-05-17", date(2024, 5, 16), "a"), age("2024-01-31", date(2024, 2, 29), "mo")
    (43, 0)
    """
    at = moment(born)
    needed = r"\d{4}-\d{2}(-\d{2})?" if unit == "a" else r"\d{4}-\d{2}-\d{2}"
    if at is None or not re.fullmatch(needed, born) or at.date() > today:
        return None
    birth = at.date()
    months = 12 * (today.year - birth.year) + today.month - birth.month - (today.day < birth.day)
    days = (today - birth) // timedelta(days=1)
    return {"a": months // 12, "mo": months, "wk": days // 7, "d": days}[unit]
