"""What speaks against relying on a report, as far as it can be computed; sentences are written where they are shown."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from prudent.evaluation import Evaluation, require_unseen
from prudent.models import Fitted
from prudent.promise import unlikeness
from prudent.table import ActionLabel, Finding, Log, log_findings

FEW_ROWS = 300
"""With fewer, intervals are wide enough to hide what would matter."""


@dataclass(frozen=True)
class Unlike:
    """How a log differs from the one that the model learnt from, in values and gaps: in words, the largest difference
    first; none where chance alone may explain them all. p_value: of a permutation test of all at once."""

    p_value: float
    features: tuple[str, ...]


@dataclass(frozen=True)
class Limits:
    """leaks: rows, or groups, that the model was fitted on, where these are too few to refuse the log.

    few_rows: evaluated rows, where these are few. never: actions of the model that nobody got in this log.
    empty_columns: columns of the model that this log does not have, or that are empty. unlike: how this log differs
    from the one that the model learnt from; None where that was not given. overlap: what the log says little about.
    warnings: of the evaluation of the recommended policy. findings: what looks wrong about columns. fit: what there was
    to know when the model was fitted. fit_known: whether the model says which rows it was fitted on.
    """

    leaks: tuple[str, ...]
    few_rows: int | None
    never: tuple[ActionLabel, ...]
    empty_columns: tuple[str, ...]
    unlike: Unlike | None
    overlap: tuple[str, ...]
    warnings: tuple[str, ...]
    verdict: str
    findings: tuple[str, ...]
    reading: tuple[str, ...]
    fit: tuple[str, ...]
    fit_known: bool


def limits(fitted: Fitted, log: Log, past: Log | None, evaluation: Evaluation, recommended: str, seed: int) -> Limits:
    diagnosis = evaluation.diagnose(recommended)
    rows, counts = len(evaluation.log), np.bincount(log.actions[log.actions >= 0], minlength=len(log.action_labels))
    overlap = evaluation.propensity.overlap()
    poor = any(one.rows_outside or one.effective_sample_size < one.count / 4 for one in overlap.actions)
    return Limits(
        leaks=tuple(require_unseen([fitted], evaluation.log, "everything looks better on them than it is.")),
        few_rows=rows if rows < FEW_ROWS else None,
        never=tuple(label for label, count in zip(log.action_labels, counts, strict=True) if not count),
        empty_columns=tuple(name for at, name in enumerate(log.schema.names) if not log.observed[:, at].any()),
        unlike=None if past is None else _unlike(past, log, seed),
        overlap=overlap.verdicts if poor or min(counts) < FEW_ROWS / 10 else (),
        warnings=diagnosis.warnings,
        verdict=diagnosis.verdict,
        findings=_sentences(log_findings(log)),
        reading=tuple(dict.fromkeys((*log.notes, *evaluation.notes))),
        fit=fitted.report.notes,
        fit_known=len(fitted.fingerprints) > 0,
    )


def _unlike(past: Log, log: Log, seed: int) -> Unlike:
    found = unlikeness(past, log.encoded, seed)
    return Unlike(found.p_value, found.features if found.is_found else ())


def _sentences(findings: Sequence[Finding]) -> tuple[str, ...]:
    return tuple(finding.sentence for finding in findings)
