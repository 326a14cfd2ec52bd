"""The words of a diagnosis: what a log can and cannot say about a policy, and what to check first."""

from collections.abc import Callable

from prudent.show.evaluation.estimates import Interval, digits, in_sentence, share_written
from prudent.show.json_types import Facts
from prudent.show.text import one_line

NAMED, LISTED = 3, 8  # attributes named in a sentence, and listed in the text
PROPENSITY_CONCERNS = ("mean weight", "balance", "calibration")


def verdict_sentence(facts: Facts) -> str:
    """One or two sentences, and a third where the propensities are in doubt."""
    value, prices = in_sentence(Interval.of(facts["value"])), facts["prices"]
    agreement = f"{_agreement(facts)}, an effective sample size of {_effective(facts)}"
    gain = comparison(Interval.of(facts["gain"]), facts["minimize"], facts["rounding"])
    gains = gain if facts["constant"] is None else f"{gain}, and {_over_constant(facts)}"
    match facts["answer"]:
        case "as logged":
            return (
                f"Every case is decided as logged, so nothing has to be inferred: the mean of the {facts['rows']} "
                f"outcomes is {value}."
            )
        case "prices alone":
            return f"The prices ({prices}) predict {value} for this policy; no logged outcome enters. By them, {gains}."
        case "nothing":
            return (
                f"The log cannot say how this policy would do: its action was never taken in {_cases(facts)}. Any "
                f"value shown for it is predicted by the prices ({prices}); none of it was observed."
            )
        case "hardly":
            return f"The log can hardly say how this policy would do. {agreement}: too few to act on, though {gain}."
        case "extrapolated":
            return (
                f"The log does not show how this policy would do: in {facts['support']['outside']:.0%} of the cases it "
                "chooses an action that was almost never taken in such cases, and there its value is extrapolated by "
                f"the prices ({prices}). By them, {gains}."
            )
        case "roughly":
            doubt = any(concern in PROPENSITY_CONCERNS for concern in facts["concerns"])
            last = " The propensities look wrong (see the warnings), and no interval covers that." if doubt else ""
            return f"The log says roughly how this policy would do: {value} per decision. {agreement}; {gains}.{last}"
        case _:
            return f"The log can answer for this policy: {value} per decision. {agreement}; {gains}."


def comparison(gain: Interval, minimize: bool, rounding: float, other: str = "the decisions as logged") -> str:
    """The difference from other decisions, as part of a sentence.

    >>> comparison(Interval(-0.31, 0.1, -0.5, -0.12), minimize=True, rounding=0.0)
    'it is better than the decisions as logged by 0.31 (0.12 to 0.50)'
    """
    better = gain.times(-1.0 if minimize else 1.0)
    match gain.judged(minimize, rounding):
        case "unknown":
            return f"it cannot be compared with {other}"
        case "no difference":
            return f"there is no difference from {other}"
        case "not clearly different":
            low, high = digits(better, -better.low, better.high)
            return f"there is no clear difference from {other} (from {low} worse to {high} better)"
        case judged:
            return f"it is {judged} than {other} by {in_sentence(better.times(1.0 if judged == 'better' else -1.0))}"


def _over_constant(facts: Facts) -> str:
    """Beside the log: a policy may be better than what was done, and no better than one action for everybody."""
    other = f"'{one_line(facts['constant'])}' for everybody"
    return comparison(Interval.of(facts["over_constant"]), facts["minimize"], facts["rounding"], other)


def warning_sentences(facts: Facts) -> list[str]:
    """What to check before the numbers are believed, one sentence for each concern."""
    return [WARNINGS[concern](facts) for concern in facts["concerns"]]


def diagnosis_text(facts: Facts) -> str:
    """Verdict and warnings, then the numbers."""
    lines = [f"{facts['policy']}: {verdict_sentence(facts)}", *(f"! {text}" for text in warning_sentences(facts))]
    lines += [
        f"Rows: {facts['rows']}, {facts['referred']:.0%} referred, done as the policy would {facts['match_rate']:.0%}",
        f"Effective sample size: {facts['effective_sample_size']:.0f}",
        f"Mean weight: {facts['mean_weight']:.3f} (standard error {_three(facts['mean_weight_error'])}); the heaviest "
        f"1% of rows have {_share(facts['heaviest_share'])} of it",
    ]
    support, calibration = facts["support"], facts["calibration"]
    if support["smallest"] is not None:
        lines.append(
            f"Probability of its actions in the log: smallest {support['smallest']:.3g}, 1% below "
            f"{support['first_percentile']:.3g}, 5% below {support['fifth_percentile']:.3g}; below "
            f"{support['threshold']} in {support['outside']:.1%} of rows"
        )
    if calibration is not None:
        lines.append(
            f"Propensities: off by {calibration['error']:.3f} on average (by chance: about {calibration['chance']:.3f})"
        )
    return "\n".join([*lines, *_balance_lines(facts["balance"])])


def _balance_lines(balance: list[Facts]) -> list[str]:
    """The attributes that differ most after weighting, as a small table."""
    largest = sorted(balance, key=lambda one: -max(abs(one["after"] or 0.0), abs(one["gaps_after"] or 0.0)))
    title, listed = "Difference from all rows, in sd", largest[:LISTED]
    width = max([len(title), *(len(one["attribute"]) for one in listed)])
    return [f"{title:<{width}}  before   after  gaps before   after"] + [
        f"{one['attribute']:<{width}} {_cell(one['before'])} {_cell(one['after'])}      "
        f"{_cell(one['gaps_before'])} {_cell(one['gaps_after'])}"
        for one in listed
    ]


def _cell(number: float | None) -> str:
    return f"{'–':>7}" if number is None else f"{number:z7.2f}"


def _three(number: float | None) -> str:
    return "–" if number is None else f"{number:.3f}"


def _share(share: float | None) -> str:
    return "none" if share is None else share_written(share)


def _agreement(facts: Facts) -> str:
    if not facts["mixed"]:
        return f"Its action was taken in {facts['matched']} of {_cases(facts)}"
    return f"On average it would have done what was done in {facts['match_rate']:.0%} of the {facts['rows']} cases"


def _effective(facts: Facts) -> str:
    """Of the rows that the policy decides and, where rows belong together, of groups."""
    rows = f"{facts['decided_effective_sample_size']:.0f}"
    return rows if facts["effective_groups"] is None else f"{rows} rows and {facts['effective_groups']:.0f} groups"


def _cases(facts: Facts) -> str:
    some = " that it does not refer" if facts["decided"] < facts["rows"] else ""
    return f"the {facts['decided']} cases{some}"


# --- warnings ---


def _outside_support(facts: Facts) -> str:
    support = facts["support"]
    return (
        f"In {support['outside']:.0%} of the cases the policy chooses an action, mostly '{support['action']}', that "
        f"was almost never taken in such cases (probability below {support['threshold']}), so the log hardly shows "
        "what it does there."
    )


def _few_rows(facts: Facts) -> str:
    return (
        "The effective sample size of the rows that agree with the policy is "
        f"{_effective(facts)}: intervals are wide, and chance may play a larger part than "
        "they show."
    )


def _heavy_rows(facts: Facts) -> str:
    return (
        f"The heaviest 1% of the rows have {facts['heaviest_share']:.0%} of the weight, so a few decisions determine "
        "the value."
    )


def _mean_weight(facts: Facts) -> str:
    return (
        f"The weights average {facts['mean_weight']:.2f} (standard error {facts['mean_weight_error']:.2f}), where "
        "correct propensities give 1: the propensities are wrong, or the policy chooses actions never taken in such "
        "cases."
    )


def _balance(facts: Facts) -> str:
    differences = facts["imbalance"]
    named = ", ".join(f"{one['name']} ({one['size']:.2f} sd)" for one in differences[:NAMED])
    more = f" and {len(differences) - NAMED} more" if len(differences) > NAMED else ""
    return (
        f"Even weighted, the rows that agree with the policy differ from all rows in {named}{more}: the propensities "
        "do not correct for it, and the value may be wrong."
    )


def _calibration(facts: Facts) -> str:
    calibration = facts["calibration"]
    return (
        f"The propensities are off by {calibration['error']:.3f} on average (by chance: about "
        f"{calibration['chance']:.3f}), as if {calibration['misplaced']:.0%} of the decisions had been given to the "
        "wrong action."
    )


WARNINGS: dict[str, Callable[[Facts], str]] = {
    "support": _outside_support,
    "few rows": _few_rows,
    "heavy rows": _heavy_rows,
    "mean weight": _mean_weight,
    "balance": _balance,
    "calibration": _calibration,
}
