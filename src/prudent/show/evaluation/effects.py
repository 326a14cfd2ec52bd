"""The text of an effect study, from the facts of `Effects.to_dict()`."""

from prudent.show.evaluation.estimates import Interval
from prudent.show.json_types import Facts

LINES = (
    ("ATE", "aipw", "on all rows (ATE)"),
    ("ATT", "aipw", "on the treated (ATT)"),
    ("ATC", "aipw", "on the control rows (ATC)"),
    ("ATE", "difference in means", "plain difference in means"),
)


def effects_text(facts: Facts) -> str:
    estimates = {(one["estimand"], one["estimator"]): one for one in facts["effects"]}
    lines = [
        f"Effect of '{facts['treated']}' against '{facts['control']}' on '{facts['reward']}': {facts['rows']} rows, "
        f"{facts['treated_rows']} of them treated."
    ]
    for estimand, estimator, label in LINES:
        estimate = estimates[estimand, estimator]
        interval = Interval.of({"value": estimate["effect"], **estimate})
        lines.append(f"  {label:<26} {interval.written(lambda number: f'{number:.3f}')}")
    return "\n".join([*lines, f"Intervals have a confidence of {facts['confidence']:g}.", *facts["notes"]])
