"""The model card: intended use, data, settings, versions and hashes, on the page and as Markdown with a YAML head."""

import json
from collections.abc import Iterator
from typing import Any

from prudent.show.json_types import Facts
from prudent.show.report.answer import answer_sentences
from prudent.show.report.limits_part import ALWAYS, computed_limits
from prudent.show.report.parts import Part, folded, own, said, words_and_numbers
from prudent.show.section_elements import points
from prudent.show.text import one_line

NO_USE = (
    "Not stated (--intended-use). Decision support for people who are responsible for the case, on cases like those of "
    "the log; not for deciding without them."
)
LIBRARY = "prudent"


def card_part(report: Facts) -> Part:
    model = report["model"]
    fit = model["model"]["report"]
    return Part(
        "card",
        "Model card",
        [
            words_and_numbers(("", ""), list(_facts(report)), ("",)),
            folded(
                "Settings of the fit", words_and_numbers(("setting", "value"), _settings(model), ("setting", "value"))
            ),
            folded("What the log decided", points(fit["choices"])) if fit["choices"] else None,
            said("The card by itself, for a registry of models: prudent report … --card model-card.md.", css="soft"),
        ],
    )


def _facts(report: Facts) -> Iterator[tuple[str, str]]:
    model, evaluation = report["model"], report["values"]["evaluation"]
    described, origin = model["model"], model["origin"]
    fit = described["report"]
    yield "Intended use", one_line(report["intended_use"] or NO_USE)
    folder = "not saved" if origin["model"] is None else f"folder '{one_line(origin['model'])}'"
    yield "Model", f"{described['model']}, {folder}"
    yield "Policy", one_line(model["policy"]["strategy"])
    yield "Options", _options(model["policy"]["options"])
    better = "lower" if evaluation["minimize"] else "higher"
    yield "Outcome", f"{one_line(evaluation['reward'])} ({better} is better)"
    yield "Actions", f"{one_line(described['action_name'])}: {', '.join(map(one_line, described['actions']))}"
    yield "Learnt from", f"{fit['rows']:,} rows, {fit['rewarded']:,} of them with action and outcome"
    yield "Tried on", f"{one_line(origin['log'] or 'a log')}: {evaluation['rows']:,} decisions, {report['written']}"
    yield "SHA-256 of model.json", origin["model_hash"] or "–"
    yield "SHA-256 of the log's file", origin["log_hash"] or "–"
    yield "Versions", ", ".join(f"{name} {number}" for name, number in model["versions"].items())


def _options(options: Facts) -> str:
    """Those that do something."""
    return "; ".join(f"{name} {_written(value)}" for name, value in options.items() if value or name == "seed")


def _settings(model: Facts) -> list[tuple[str, str]]:
    return [(name, _written(value)) for name, value in model["settings"].items()]


def _written(value: Any) -> str:
    return one_line(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)).replace("null", "–")


def model_card(report: Facts) -> str:
    """Markdown in the form that model registries read: a YAML head, then sections."""
    lines = ["---", *_head(report), "---", "", f"# {_plain(report['title'])}", ""]
    lines += [_plain(sentence) + "\n" for sentence in answer_sentences(report)]
    model = report["model"]
    for title, sentences in (
        ("Intended use", [report["intended_use"] or NO_USE]),
        ("Limits", [own_verdict(report), *computed_limits(report), *ALWAYS]),
        ("What the log decided", model["model"]["report"]["choices"]),
    ):
        lines += [f"## {title}", "", *(f"- {_plain(sentence)}" for sentence in sentences), ""] if sentences else []
    lines += ["## Facts", "", "| | |", "|---|---|"]
    lines += [f"| {_plain(name)} | {_plain(value)} |" for name, value in _facts(report)]
    lines += [f"| {_plain(name)} | {_plain(value)} |" for name, value in _settings(model)]
    return "\n".join(lines) + "\n"


def own_verdict(report: Facts) -> str:
    return own(report["values"]["evaluation"], report["values"]["recommended"])["diagnosis"]["verdict"]


def _head(report: Facts) -> list[str]:
    """YAML whose texts are written as JSON, which is YAML too: no name of a column can break out of it."""
    model, evaluation = report["model"], report["values"]["evaluation"]
    value = own(evaluation, report["values"]["recommended"])["value"]
    metric = {"type": "policy-value", "name": f"mean {evaluation['reward']}", "value": value["value"]}
    metric |= {"args": {"estimator": evaluation["headline"], "low": value["low"], "high": value["high"]}}
    dataset = {"type": "tabular", "name": model["origin"]["log"] or "log"}
    result = {"task": {"type": "tabular-classification"}, "dataset": dataset, "metrics": [metric]}
    head = {
        "language": "en",
        "license": "other",
        "library_name": LIBRARY,
        "pipeline_tag": "tabular-classification",
        "tags": ["prudent", "off-policy-learning", "missing-data", "decision-support", model["model"]["model"]],
        "model-index": [{"name": report["title"], "results": [result]}],
    }
    return [f"{key}: {json.dumps(value)}" for key, value in head.items()]


def _plain(text: str) -> str:
    """One line in which Markdown and HTML of a column's name do nothing."""
    escaped = one_line(text)
    for sign in ("\\", "`", "*", "_", "[", "]", "<", ">", "#", "|"):
        escaped = escaped.replace(sign, f"\\{sign}")
    return escaped
