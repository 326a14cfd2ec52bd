"""Policies that decide alike, the best constant action, and the one conclusion drawn from an evaluation."""

import json
from dataclasses import astuple, replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from prudent import Log
from prudent.errors import InputProblem
from prudent.evaluation import LOGGED, Bootstrap, Direct, Evaluation, SelfNormalisedDoublyRobust, evaluate
from prudent.show import difference_table, evaluation_sections, summary_table

LABELS = np.array(["a", "b", "c"])
NO_EFFECT = np.zeros((2, 3))
MATCHING = np.eye(2, 3)  # the healthy need a, the sick b
ONE_FOR_ALL = np.array([[1.0, 0.0, 0.5], [1.0, 0.0, 0.5]])


def clinic(
    effect: np.ndarray, rows: int = 600, seed: int = 0, minimize: bool = False, offset: float = 0.0, rare: float = 1 / 3
) -> Log:
    """Rewards by [sick, action] with noise; action c is taken with probability `rare`, the others equally often."""
    random = np.random.default_rng(seed)
    sick, likely = random.integers(0, 2, rows), np.array([(1 - rare) / 2, (1 - rare) / 2, rare])
    taken = random.choice(3, rows, p=likely)
    reward = offset + effect[sick, taken] + 0.3 * random.normal(size=rows)
    frame = {"sick": sick, "dose": LABELS[taken], "outcome": -reward if minimize else reward, "likely": likely[taken]}
    return Log.from_frame(
        frame, action="dose", reward="outcome", propensity="likely", minimize=minimize, action_labels=tuple("abc")
    )


def right(cases: Any) -> list[str]:
    return ["ab"[own] for own in cases["sick"]]


def everybody(label: str) -> Any:
    return lambda cases: [label] * len(cases["sick"])


def judged(policies: dict[str, Any], log: Log, **settings: Any) -> Evaluation:
    return evaluate(policies, log, prices=np.full((len(log), 3), float(log.sign * log.rewards.mean())), **settings)


# --- deciding alike ---


@pytest.mark.parametrize("interval", [None, Bootstrap(draws=20)])
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_policies_that_decide_alike_do_not_differ_at_all(offset: float, interval: Any) -> None:
    """Whatever the scale, and however the difference is asked for; subtracting their values would leave 1e-16 or so."""
    settings = {} if interval is None else {"interval": interval}
    for minimize in (False, True):
        log = clinic(MATCHING, offset=offset, minimize=minimize)
        found = judged({"one": right, "two": right, "all a": everybody("a")}, log, **settings)
        for pair in (("one", "two"), ("all a", "always a"), ("one", "one")):
            assert set(pair) <= set(found.alike(pair[0]))
            assert found.differently(*pair) == 0
            assert astuple(found.difference(*pair)) == (0, 0, 0, 0)
        assert astuple(found.differences()["one", "two"]) == (0, 0, 0, 0)
        assert found.alike("one") == ("one", "two")
        facts = found.to_dict()
        pair = next(one for one in facts["differences"] if (one["policy"], one["other"]) == ("one", "two"))
        assert (pair["value"], pair["low"], pair["high"], pair["differently"]) == (0, 0, 0, 0)
        rows = difference_table(facts).rows
        assert [row[:2] for row in rows] == [("one, two", "all a, always a")]
        assert rows[0][-1] == "better"


def test_the_share_of_rows_decided_differently_counts_referrals_as_logged() -> None:
    log = clinic(MATCHING)
    sick = np.array(log.cases()["sick"])
    found = judged({"right": right, "refers": lambda cases: [None] * len(sick), "all a": everybody("a")}, log)
    assert found.differently("right", "all a") == sick.mean()
    assert found.differently("all a", LOGGED) == found.differently("all a", "refers") == (log.actions != 0).mean()
    assert found.alike("refers") == ("refers", LOGGED)
    with pytest.raises(InputProblem, match="no policy 'rihgt'"):
        found.differently("rihgt", "right")
    with pytest.raises(InputProblem, match="no policy 'rihgt'"):
        found.alike("rihgt")


def test_one_referral_that_the_other_decides_as_logged_is_not_alike() -> None:
    """In a single row: referring it and choosing what was done there are estimated differently."""
    log = clinic(MATCHING)
    own: list[str | None] = list(right(log.cases()))
    at = next(row for row, label in enumerate(own) if label == LABELS[log.actions[row]])
    careful = [*own[:at], None, *own[at + 1 :]]
    found = judged({"right": right, "careful": lambda cases: careful}, log)
    assert found.differently("right", "careful") == 0
    assert found.alike("right") == ("right",)
    assert found.effective_sample_size("right") != found.effective_sample_size("careful")


def test_a_copy_of_the_logged_decisions_is_worth_what_they_were() -> None:
    """Weighted by inverse propensities it would be worth what random decisions are worth."""
    log = clinic(ONE_FOR_ALL, rare=0.9)
    found = judged({"copy": lambda cases: LABELS[log.actions]}, log)
    assert found.estimate("copy") == found.estimate(LOGGED)
    assert found.estimate("copy").value == pytest.approx(log.rewards.mean())
    assert astuple(found.estimates("copy")["ips", "gain"]) == (0, 0, 0, 0)
    assert found.diagnose("copy").answer == "as logged"
    conclusion = found.bottom_line
    assert conclusion is not None
    assert (conclusion.conclusion, conclusion.policies) == ("as logged", ("copy",))
    assert "'copy'" in str(conclusion)
    assert summary_table(found.to_dict()).rows[0][:3][0] == "copy, as logged"


def test_rounding_is_neither_better_nor_worse() -> None:
    """Rewards that do not vary: whatever a policy decides, its value is theirs, up to rounding, in intervals of width
    zero."""
    for minimize in (False, True):
        log = clinic(MATCHING, minimize=minimize)
        log = replace(log, rewards=np.full(len(log), log.sign * 1e6 / 3))
        found = evaluate({"right": right, "all c": everybody("c")}, log, prices=np.full((len(log), 3), 1e6 / 3 + 1e-10))
        (row,) = difference_table(found.to_dict()).rows
        assert row[-1] == "no difference"
        conclusion = found.bottom_line
        assert conclusion is not None
        assert conclusion.conclusion == "not shown to be better"
        for name in ("right", "all c"):
            verdict = found.diagnose(name).verdict
            assert "no difference" in verdict
            assert not any(word in verdict for word in ("better", "worse"))


def test_the_tolerance_does_not_hide_small_differences() -> None:
    """A difference of a millionth of the offset, and a third of the noise, is seen."""
    found = judged({"right": right}, clinic(MATCHING, offset=1e6))
    assert found.rounding < 1e-5
    assert found.diagnose("right").verdict.count("better") == 2


def test_alike_policies_share_rows_paragraphs_and_warnings() -> None:
    found = judged({"one": right, "all c": everybody("c"), "two": right}, clinic(MATCHING, rows=150))
    facts = found.to_dict()
    assert [row[0] for row in summary_table(facts).rows] == ["one, two", "all c, always c", "as logged", "always b"]
    sections = {section.title: section for section in evaluation_sections(facts)}
    points = sections["Can the log answer?"].points
    assert [point.split(": ")[0] for point in points] == ["one, two", "all c, always c"]
    assert all("one" not in point or point.startswith("one, two: ") for point in sections["Warnings"].points)
    # nothing is left to compare where all decide alike
    alone = judged({"one": right, "two": right}, clinic(MATCHING)).to_dict()
    assert not any(section.title.startswith("Policy against") for section in evaluation_sections(alone))


# --- the best constant action ---


def test_every_policy_is_compared_with_the_best_constant_action_in_pairs() -> None:
    for minimize in (False, True):
        found = judged({"right": right}, clinic(ONE_FOR_ALL, minimize=minimize))
        facts = found.to_dict()
        assert found.best_constant == facts["best_constant"] == "always a"
        own = facts["policies"][0]["over_constant"]
        assert own["value"] == found.difference("right", "always a").value
        terms = [found.estimate(name).value for name in ("right", "always a")]
        assert own["value"] == pytest.approx(terms[0] - terms[1])
        low, high = (own["low"], own["high"]) if not minimize else (-own["high"], -own["low"])
        assert low < -0.5 < high  # half of the cases lose 1 by b in place of a
        verdict = found.diagnose("right").verdict
        assert "worse than 'always a'" in verdict
        table = summary_table(facts)
        column = table.headings.index("more than\nbest constant")
        assert {row[0]: row[column] == "" for row in table.rows} == {
            "right": False,
            "as logged": False,
            "always a": True,
        }


def test_a_constant_that_was_hardly_tried_is_no_comparison() -> None:
    """Action c looks best on the handful of rows that tried it; nothing could be shown to be better than that."""
    lucky = np.array([[0.9, 0.0, 3.0], [0.0, 0.5, 3.0]])
    log = clinic(lucky, rare=0.01, rows=900)
    found = judged({"right": right}, log)
    assert (log.actions == 2).sum() < 20
    assert found.estimate("always c").value > found.estimate("always a").value > found.estimate("always b").value
    assert found.best_constant == "always a"
    conclusion = found.bottom_line
    assert conclusion is not None
    assert conclusion.conclusion == "use"
    assert any("'always c'" in line and "hardly" in line for line in str(found).splitlines())
    # where the log can answer for none, the one with the best value is still shown
    assert judged({"right": right}, log.take(np.arange(40))).best_constant is not None


# --- the conclusion ---


def test_use_the_policy_that_is_better_than_the_log_and_than_one_action_for_all() -> None:
    for minimize in (False, True):
        policies = {"right": right, "all c": everybody("c"), "again": right}
        found = judged(policies, clinic(MATCHING, minimize=minimize))
        conclusion = found.bottom_line
        assert conclusion is not None
        assert (conclusion.conclusion, conclusion.policies) == ("use", ("right", "again"))
        assert (conclusion.compared, conclusion.not_beaten, conclusion.unanswered) == (2, (), ())
        assert conclusion.over_logged == found.difference("right", confidence=0.975)
        assert conclusion.over_constant == found.difference("right", found.best_constant or "", confidence=0.975)
        plain = found.difference("right")
        assert conclusion.over_logged is not None
        assert conclusion.over_logged.high - conclusion.over_logged.low > plain.high - plain.low
        facts = found.to_dict()["bottom_line"]
        assert facts["sentence"] == str(conclusion)
        assert facts["sentence"] in str(found)
        assert all(word in facts["sentence"] for word in ("Use 'right'", "'again'", f"'{found.best_constant}'"))
        json.dumps(facts, allow_nan=False)
        first = next(iter(evaluation_sections(found.to_dict())))
        assert first.sentences == (facts["sentence"],)


def test_better_than_the_log_is_not_enough_where_one_action_for_all_does_as_well() -> None:
    """Of three actions a is best for all; the policy gives c to a few, and is far better than the log."""
    rows = 900
    few = lambda cases: ["c" if row % 50 == 0 else "a" for row in range(rows)]  # noqa: E731
    found = judged({"few": few, "all b": everybody("b")}, clinic(ONE_FOR_ALL, rows=rows))
    assert found.difference("few").low > 0.3
    conclusion = found.bottom_line
    assert conclusion is not None
    assert (conclusion.conclusion, conclusion.not_beaten) == ("not shown to be better", ("always a",))
    assert conclusion.policies == ("few",)
    sentence = str(conclusion)
    assert "None of the 2" in sentence
    assert sentence.count("'always a'") >= 2
    assert conclusion.constant_over_logged == found.difference("always a", confidence=1 - 0.05 / 3)


def test_a_policy_that_gives_everybody_the_same_needs_no_model() -> None:
    found = judged({"model": everybody("a")}, clinic(ONE_FOR_ALL))
    conclusion = found.bottom_line
    assert conclusion is not None
    assert conclusion.as_constant
    assert conclusion.conclusion == "not shown to be better"
    assert "No model is needed" in str(conclusion)
    useless = judged({"model": everybody("a")}, clinic(NO_EFFECT)).bottom_line
    assert useless is not None
    assert "No model is needed" not in str(useless)
    assert "not" in str(useless) or "None" in str(useless)


def test_a_policy_that_rests_on_almost_no_rows_is_never_recommended() -> None:
    """Action c is far better, and was tried a dozen times."""
    log = clinic(np.array([[0.0, 0.0, 5.0], [0.0, 0.0, 5.0]]), rare=0.02)
    found = judged({"all c": everybody("c")}, log)
    assert found.difference("all c").low > 3
    conclusion = found.bottom_line
    assert conclusion is not None
    assert (conclusion.conclusion, conclusion.unanswered) == ("cannot answer", ("all c",))
    assert "Use none" in str(conclusion)
    beside = judged({"all c": everybody("c"), "right": right}, log).bottom_line
    assert beside is not None
    assert beside.policies == ("right",)
    assert beside.unanswered == ("all c",)
    assert "'all c'" in str(beside)


def test_prices_alone_recommend_nothing() -> None:
    log = clinic(MATCHING)
    found = evaluate({"right": right}, log, prices=np.tile([0.0, 1.0, 0.0], (len(log), 1)), estimators=[Direct()])
    conclusion = found.bottom_line
    assert conclusion is not None
    assert conclusion.conclusion == "cannot answer"
    assert "outcome" in str(conclusion)


def test_wrong_propensities_are_said_in_the_conclusion() -> None:
    log = clinic(MATCHING)
    assert log.propensities is not None
    doubtful = judged({"right": right}, replace(log, propensities=log.propensities / 2)).bottom_line
    sound = judged({"right": right}, log).bottom_line
    assert doubtful is not None
    assert sound is not None
    assert doubtful.doubtful
    assert "propensities look wrong" in str(doubtful)
    assert not sound.doubtful
    assert "propensities" not in str(sound)


def test_without_policies_there_is_nothing_to_conclude() -> None:
    found = judged({}, clinic(MATCHING))
    assert found.bottom_line is None
    assert found.to_dict()["bottom_line"] is None
    assert "Bottom line" not in str(found)


def test_where_nothing_helps_a_policy_is_seldom_recommended() -> None:
    """Six policies, rewards that no action changes: the best of them looks better than the log far more often than it
    may be recommended."""
    rules = {
        f"rule {i}": lambda cases, i=i: LABELS[np.random.default_rng(i).integers(0, 3, len(cases["sick"]))]
        for i in range(6)
    }
    settings: dict[str, Any] = {"estimators": [SelfNormalisedDoublyRobust()], "confidence": 0.8}
    used = naive = 0
    repeats = 60
    for seed in range(repeats):
        found = judged(rules, clinic(NO_EFFECT, rows=300, seed=seed), **settings)
        conclusion = found.bottom_line
        assert conclusion is not None
        used += conclusion.conclusion == "use"
        naive += any(found.difference(name).low > 0 for name in rules)
    most = stats.binom.ppf(0.999, repeats, 0.1)
    assert used <= most
    assert naive > most
