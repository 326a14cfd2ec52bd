"""Which actions are allowed for each row, in any spelling."""

from conftest import COMPLETIONS

from prudent.decide import Status
from prudent.decide.permission import allowed_actions


def test_allowed_actions_are_found_in_any_spelling(fitted_models, cases):
    """A column, or a collection per row; None and an empty cell allow any; numbers are one label however written."""
    policy = fitted_models["causal"].policy(completions=COMPLETIONS)
    rows = cases.head(4)
    free = policy.recommend(rows).actions
    given = policy.recommend(rows, allowed=[["low"], ("none", "low"), None, set()])
    assert given.actions[0] == "low"
    assert given.actions[2:] == [free[2], None]
    listed = policy.recommend(rows.assign(may=["low", " none ; low", None, "aspirin"]), allowed="may")
    assert listed.actions[0] == "low"
    assert listed.actions[1] in ("none", "low")
    assert listed.actions[2] == free[2]
    assert listed.actions[3] is None
    assert listed[3].status is Status.NOT_ALLOWED


def test_allowed_numbers_are_one_label_however_written():
    frame = {"may": [1.0, 2.0, None]}
    assert allowed_actions(frame, "may", (1, 2), 3).tolist() == [[True, False], [False, True], [True, True]]
    assert allowed_actions(frame, [[1.0], ["2"], []], (1, 2), 3).tolist() == [
        [True, False],
        [False, True],
        [False, False],
    ]
    assert allowed_actions({"may": ["1;2", "2"]}, "may", (1, 2), 2).tolist() == [[True, True], [False, True]]
