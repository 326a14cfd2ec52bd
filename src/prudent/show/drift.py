"""Drift as sentences and a table, from the facts of `Drift.to_dict`."""

from collections.abc import Sequence

from prudent.show.json_types import Facts
from prudent.show.numbers import counted
from prudent.show.sections import Section
from prudent.show.tables import TextTable

TEXT_WIDTH = 120


def drift_sections(drift: Facts) -> list[Section]:
    """What was compared, what has changed, and what to know about it."""
    found = [one for one in drift["comparisons"] if one["drifted"]]
    compared = (
        f"{counted(drift['cases'], 'case')} of {drift['first'][:10]} to {drift['last'][:10]}, "
        f"{counted(drift['outcomes'], 'outcome')}, against {counted(drift['rows'], 'logged row')}: "
        f"{counted(len(drift['comparisons']), 'comparison')}."
    )
    risk = f"{drift['risk']:.0%}" if drift["risk"] >= 0.01 else f"{drift['risk']:.2%}"
    if not found:
        verdict = f"No drift: nothing is beyond what chance explains ({risk} risk of any false alarm)."
        return [Section(introduction=(compared, verdict), points=tuple(drift["notes"]))]
    verdict = f"Drift in {_what(found)} ({risk} risk of any false alarm):"
    table = TextTable(("", "what", "then", "now", "p"), list(map(_cells, found)), words=("", "what", "then", "now"))
    return [Section(introduction=(compared, verdict), table=table, points=(*drift["notes"], *_ways_out(found)))]


def drift_text(drift: Facts) -> str:
    lines = []
    for section in drift_sections(drift):
        table = [] if section.table is None else [section.table.text(TEXT_WIDTH)]
        lines += [*section.introduction, *table, *section.sentences, *(f"- {point}" for point in section.points)]
    return "\n".join(lines)


def _what(found: Sequence[Facts]) -> str:
    columns = len({one["column"] for one in found if one["column"]})
    others = [one["subject"] for one in found if not one["column"]]
    return " and ".join([*([counted(columns, "column")] if columns else []), *dict.fromkeys(others)])


def _cells(one: Facts) -> tuple[str, ...]:
    p = "<0.0001" if one["adjusted"] < 0.0001 else f"{one['adjusted']:.2g}"
    return one["column"] or "–", one["subject"], one["then"], one["now"], p


def _ways_out(found: Sequence[Facts]) -> list[str]:
    subjects = {one["subject"] for one in found}
    advice = []
    if subjects & {"values", "gaps", "not readable"}:
        advice.append(
            "Look first for another unit, another code or a form that no longer asks; if the patients are others than "
            "before, fit again with rows of them."
        )
    if subjects & {"outcomes against predictions", "outcomes outside their ranges", "prediction errors"}:
        advice.append("Predictions no longer fit: do not rely on expected rewards before the model is fitted again.")
    return advice
