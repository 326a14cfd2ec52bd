"""Evaluation: what users hold after `evaluate`. Estimates, diagnoses, sensitivity, and everything as data or text."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from prudent.evaluation.bottom_line import BottomLine, bottom_line
from prudent.evaluation.cross_fitting import CrossFitted
from prudent.evaluation.diagnosis.diagnosis import Diagnosis, diagnose
from prudent.evaluation.facts import evaluation_facts
from prudent.evaluation.intervals import estimate_columns
from prudent.evaluation.policy_estimates import PolicyEstimates
from prudent.evaluation.sensitivity.confounding import Confounding, confounding
from prudent.evaluation.sensitivity.missing_values import ShiftedMissingness, shifted_missingness
from prudent.models import Fitted
from prudent.show import evaluation_fragment, evaluation_text


@dataclass(frozen=True, eq=False)
class Evaluation(PolicyEstimates):
    """Policies evaluated on the same logged decisions; see `PolicyEstimates` for the numbers.

    notes: warnings, and what happened to rows of the log.
    """

    notes: tuple[str, ...] = ()
    _diagnoses: dict[str, Diagnosis] = field(default_factory=dict, init=False, repr=False)

    def diagnose(self, policy: str) -> Diagnosis:
        """Whether the log can answer for this policy: weights, overlap, balance, and a verdict in a sentence."""
        if policy not in self._diagnoses:
            self._diagnoses[policy] = diagnose(self, policy)
        return self._diagnoses[policy]

    @property
    def bottom_line(self) -> BottomLine | None:
        """Which policy to use, or that none is shown to be better than what needs no model; None without policies."""
        return bottom_line(self, self.diagnose)

    def confounding(self, preferred: str | None = None, other: str | None = None, **options: Any) -> Confounding:
        """How strong unrecorded reasons for the logged actions would have to be to change which policy is preferred.

        Options as in `prudent.evaluation.sensitivity.confounding.confounding`.
        """
        return confounding(self, preferred, other, **options)

    def missingness(self, fitted: Fitted | CrossFitted, **options: Any) -> ShiftedMissingness:
        """What becomes of the preferred policy if missing cells differ from what the rest of the records say.

        Options as in `prudent.evaluation.sensitivity.missing_values.shifted_missingness`.
        """
        return shifted_missingness(self, fitted, **options)

    def to_frame(self) -> pl.DataFrame:
        """One row per policy and estimator: value, gain over the decisions as logged, tail and worst mean."""
        return pl.DataFrame([record for policy in self.names for record in self._records(policy)], strict=False)

    def _records(self, policy: str) -> Iterator[dict[str, Any]]:
        for by in self.settings.estimators:
            record: dict[str, Any] = {"policy": policy, "estimator": by.name}
            for (estimator, name), estimate in self.estimates(policy).items():
                record |= estimate_columns(name, estimate) if estimator == by.name else {}
            yield record

    def to_dict(self) -> dict[str, Any]:
        """Everything in plain types for JSON; the keys are those of `prudent.evaluation.facts.evaluation_facts`."""
        diagnoses = {name: self.diagnose(name) for name in self.asked}
        return evaluation_facts(self, diagnoses, self.bottom_line, self.notes)

    def __str__(self) -> str:
        return evaluation_text(self.to_dict())

    def _repr_html_(self) -> str:
        return evaluation_fragment(self.to_dict())
