"""The tables and sentences of an evaluation, from the facts of `Evaluation.to_dict()`."""

import math
from collections.abc import Iterator

from prudent.show.evaluation.estimates import Interval, figures_for, percent_written, share_written
from prudent.show.json_types import Facts
from prudent.show.numbers import percent
from prudent.show.sections import Section
from prudent.show.tables import TextTable
from prudent.show.text import one_line

PAIRS_SHOWN = 10  # with more pairs of policies, the best one is compared with the others
JUDGEMENT = "the first is"
LOGGED = "as logged"


def evaluation_text(facts: Facts) -> str:
    """What `print` shows: the bottom line, the summary, verdicts, warnings and notes."""
    sentences = [*_summary_sentences(facts), *_verdicts(facts), *_warnings(facts), *facts["notes"]]
    first = [source_sentence(facts), *(f"Bottom line: {sentence}" for sentence in _bottom_line(facts))]
    return "\n".join([*first, "", f"{_title(facts)}:", "", summary_table(facts).text(), "", *sentences])


def evaluation_sections(facts: Facts, every_estimator: bool = False, details: bool = True) -> Iterator[Section]:
    """The report, in the order it is read, the answer first; `facts` may also have the "strategies" of the policies.

    every_estimator: also show the values by all estimators that were used. details: also how sure the log makes each
    policy's value, and what is behind the table; without them the answer, its table and what to beware of.
    """
    if conclusion := _bottom_line(facts):
        yield Section("Bottom line", sentences=tuple(conclusion))
    legend = (*_setting_sentences(facts.get("strategies", {})), *_summary_sentences(facts))
    yield Section(_title(facts), summary_table(facts), legend if details else _brief_sentences(facts))
    if every_estimator and len(facts["policies"][0]["estimates"]) > 1:
        sentence = (
            "direct trusts the expected rewards alone; ips trusts the outcomes of decisions that agree with the "
            "policy, weighted by inverse propensities; dr (doubly robust) corrects the one by the other. Where they "
            "are far apart, trust none of them."
        )
        yield Section("The same by every estimator, ± standard error", estimator_table(facts), (sentence,))
    if details:
        yield Section("Can the log answer?", points=tuple(_verdicts(facts)))
    if warnings := _warnings(facts):
        yield Section("Warnings", points=tuple(warnings))
    if details and list(_pairs(facts)):
        yield Section("Policy against policy, on the same decisions", difference_table(facts))
    if facts["notes"]:
        yield Section("Notes", points=tuple(facts["notes"]))


# --- tables ---


def summary_table(facts: Facts) -> TextTable:
    """One row per policy, by the headline estimator; policies that decide alike share one."""
    tail = [] if facts["below"] is None else [_beyond(facts)]
    constant = [] if facts["best_constant"] is None else ["more than\nbest constant"]
    headings = ("policy", f"value, {percent_written(facts['confidence'])} interval", "more than\nas logged", *constant)
    headings += (*tail, f"worst {percent_written(facts['worst_share'])}", "effective\nsample\nsize")
    write = _figures(facts)

    def row(policy: Facts) -> tuple[str, ...]:
        alike = policy["alike"]
        cells = [_names(policy), Interval.of(policy["value"]).written(write)]
        cells += ["" if LOGGED in alike else Interval.of(policy["gain"]).written(write)]
        if constant:
            same = facts["best_constant"] in alike
            cells += ["" if same else Interval.of(policy["over_constant"]).written(write)]
        if facts["below"] is not None:
            cells += [Interval.of(policy["tail_share"]).written(share_written)]
        cells += [write(Interval.of(policy["worst_mean"]).value)]
        return (*cells, f"{policy['effective_sample_size']:,.0f}")

    return TextTable(headings, tuple(map(row, _shown(facts))))


def estimator_table(facts: Facts) -> TextTable:
    """Policies by estimators, each value with its standard error."""
    write, names = _figures(facts), [one["estimator"] for one in facts["policies"][0]["estimates"]]
    rows = tuple(
        (
            _names(policy),
            *(f"{write(one.value)}±{write(one.error)}" for one in map(Interval.of, policy["estimates"])),
        )
        for policy in _shown(facts)
    )
    return TextTable(("policy", *(name.replace("-", "-\n").replace(" ", "\n") for name in names)), rows)


def difference_table(facts: Facts) -> TextTable:
    """Pairs of the policies asked about that do not decide alike; where these are many, the best against the others."""
    write, shown = _figures(facts), {policy["name"]: _names(policy) for policy in _asked(facts)}
    rows = tuple(
        (
            *(shown[pair["policy"]], shown[pair["other"]], difference.written(write), percent(pair["differently"])),
            difference.judged(facts["minimize"], facts["rounding"]),
        )
        for pair, difference in _pairs(facts)
    )
    headings = ("policy", "minus", "difference", "decided\ndifferently", JUDGEMENT)
    return TextTable(headings, rows, words=("policy", "minus", JUDGEMENT))


def _pairs(facts: Facts) -> Iterator[tuple[Facts, Interval]]:
    asked = {policy["name"]: policy for policy in _asked(facts)}
    pairs = [pair for pair in facts["differences"] if pair["policy"] in asked and pair["other"] in asked]
    best = None if len(pairs) <= PAIRS_SHOWN else min(asked, key=lambda name: _badness(facts, asked[name]))
    for pair in pairs:
        policy, other, difference = pair["policy"], pair["other"], Interval.of(pair)
        if best is None or policy == best:
            yield pair, difference
        elif other == best:
            yield {**pair, "policy": other, "other": policy}, difference.times(-1.0)


def _figures(facts: Facts):
    return figures_for([Interval.of(policy["value"]) for policy in _shown(facts)])


# --- which policies are shown ---


def _shown(facts: Facts) -> list[Facts]:
    """The policies asked about, the decisions as logged and the best of the constant actions; of those that decide
    alike, the first."""
    wanted = [
        policy
        for policy in facts["policies"]
        if policy["kind"] != "constant" or policy["name"] == facts["best_constant"]
    ]
    first = {name: policy["name"] for policy in reversed(wanted) for name in policy["alike"]}
    return [policy for policy in wanted if first[policy["name"]] == policy["name"]]


def _asked(facts: Facts) -> list[Facts]:
    """The policies asked about; of those that decide alike, the first."""
    return [policy for policy in facts["policies"] if policy["kind"] == "asked" and _is_first(facts, policy)]


def _is_first(facts: Facts, policy: Facts) -> bool:
    asked = (one["name"] for one in facts["policies"] if one["kind"] == "asked" and one["name"] in policy["alike"])
    return next(asked) == policy["name"]


def _names(policy: Facts) -> str:
    """A policy with all that decide alike, on one line; itself first."""
    others = (name for name in policy["alike"] if name != policy["name"])
    return ", ".join(map(one_line, (policy["name"], *others)))


def _constants(facts: Facts) -> list[Facts]:
    """The policies that always take the same action, the best first."""
    constants = [policy for policy in facts["policies"] if policy["kind"] == "constant"]
    return sorted(constants, key=lambda policy: _badness(facts, policy))


def _badness(facts: Facts, policy: Facts) -> float:
    value = policy["value"]["value"]
    return math.inf if value is None else value if facts["minimize"] else -value


# --- sentences ---


def source_sentence(facts: Facts) -> str:
    """What was evaluated, and what propensities and prices were taken from."""
    propensity, column = facts["propensity"], facts["propensity"]["column"]
    logged = "as logged" if column is None else f"as logged in '{column}'"
    source = logged if propensity["source"] == "as logged" else "estimated from these rows"
    groups = facts["groups"]
    of_groups = "" if groups is None else f" of {groups['count']:,} groups by '{one_line(groups['column'])}'"
    return (
        f"{facts['rows']:,} logged decisions{of_groups}, {len(facts['actions'])} actions. Propensities, the "
        f"probabilities of the logged actions: {source}. Expected rewards of all actions: {facts['prices']}."
    )


def _title(facts: Facts) -> str:
    better = "lower" if facts["minimize"] else "higher"
    return f"Mean '{facts['reward']}' ({better} is better), by {facts['headline']}"


def _beyond(facts: Facts) -> str:
    return f"{'above' if facts['minimize'] else 'below'} {facts['below']:.12g}"


def _bottom_line(facts: Facts) -> list[str]:
    return [] if facts["bottom_line"] is None else [facts["bottom_line"]["sentence"]]


def _summary_sentences(facts: Facts) -> list[str]:
    tail = "" if facts["below"] is None else f" {_beyond(facts)}: the share of such outcomes."
    worst = percent_written(facts["worst_share"])
    legend = (
        "more than as logged: the gain over the decisions as they were made, on the same rows."
        f"{_constant_legend(facts)}{tail} worst {worst}: the mean of the worst {worst} of outcomes. effective sample "
        "size: how many equally weighted rows would say as much as the weighted rows that agree with the policy."
    )
    return [legend, *_alike_sentences(facts), *_constant_sentences(facts), *_referral_sentences(facts)]


def _brief_sentences(facts: Facts) -> tuple[str, ...]:
    """What must be known to read the table, and no more."""
    worst = percent_written(facts["worst_share"])
    return (
        f"In brackets: intervals. worst {worst}: the mean of the worst {worst} of outcomes. The smaller the effective "
        "sample size, the less the log knows of the policy.",
        *_alike_sentences(facts),
        *_referral_sentences(facts),
    )


def _constant_legend(facts: Facts) -> str:
    if facts["best_constant"] is None:
        return ""
    return (
        f" more than best constant: the gain over '{one_line(facts['best_constant'])}' for everybody, which was chosen "
        "on these rows and is flattered by that."
    )


def _alike_sentences(facts: Facts) -> list[str]:
    shared = any(len(policy["alike"]) > 1 for policy in _shown(facts))
    return ["Policies that share a row of the table decide every case alike."] if shared else []


def _setting_sentences(strategies: dict[str, str]) -> list[str]:
    """The numbers of those strategies that have any, from Conservative(risk=0.05)."""
    numbers = {name: text.partition("(")[2].rstrip(")").replace("=", " ") for name, text in strategies.items()}
    settings = [f"{name} with {text}" for name, text in numbers.items() if text]
    return [f"Settings: {', '.join(settings)}."] if settings else []


def _constant_sentences(facts: Facts) -> list[str]:
    """The values of the constant actions that are not shown; a better one than the best rests on too few rows."""
    write, best = _figures(facts), facts["best_constant"]
    constants = [policy["name"] for policy in _constants(facts)]
    values = {policy["name"]: write(Interval.of(policy["value"]).value) for policy in _constants(facts)}
    written = {name: f"'{one_line(name)}' ({values[name]})" for name in constants}
    above = constants[: constants.index(best)] if best in constants else []
    others = [written[name] for name in constants if name != best and name not in above]
    sentences = [f"The log can hardly answer for {name}, so it is no comparison." for name in map(written.get, above)]
    if len(others) < 2:
        return [*sentences, *(f"The other constant action: {other}." for other in others)]
    return [*sentences, f"The other {len(others)} constant actions: from {others[0]} to {others[-1]}."]


def _referral_sentences(facts: Facts) -> list[str]:
    return [
        f"'{one_line(policy['name'])}' refers {policy['referred']:,} of {facts['rows']:,} decisions to a person; they "
        "count as decided as logged."
        for policy in facts["policies"]
        if policy["kind"] == "asked" and policy["referred"]
    ]


def _diagnoses(facts: Facts) -> dict[str, Facts]:
    return {_names(policy): policy["diagnosis"] for policy in _asked(facts) if policy["diagnosis"]}


def _verdicts(facts: Facts) -> list[str]:
    return [f"{name}: {diagnosis['verdict']}" for name, diagnosis in _diagnoses(facts).items()]


def _warnings(facts: Facts) -> list[str]:
    """Each warning once, with the policies it concerns where these are not all."""
    diagnoses, concerned = _diagnoses(facts), {}
    for name, diagnosis in diagnoses.items():
        for warning in diagnosis["warnings"]:
            concerned.setdefault(warning, []).append(name)
    return [
        warning if len(names) == len(diagnoses) > 1 else f"{', '.join(names)}: {warning}"
        for warning, names in concerned.items()
    ]
