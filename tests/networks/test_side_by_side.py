"""Work on several cores gives what work on one gives."""

from typing import Any

import jax
import numpy as np
import pytest
from conftest import small_settings

import prudent
from prudent.networks import side_by_side
from prudent.networks.training_run import group_size


def test_results_come_in_the_order_of_the_items_and_errors_reach_the_caller() -> None:
    assert list(side_by_side(lambda number: 2 * number, iter(range(20)))) == list(range(0, 40, 2))
    assert list(side_by_side(str, [])) == []

    def refuse(number: int) -> int:
        if number == 3:
            raise ValueError("three")
        return number

    with pytest.raises(ValueError, match="three"):
        list(side_by_side(refuse, range(5)))


@pytest.mark.parametrize(("members", "cores", "size"), [(3, 2, 1), (4, 2, 2), (1, 2, 1), (1000, 4, 250), (101, 2, 101)])
def test_groups_have_one_size_and_there_is_one_for_every_core(members: int, cores: int, size: int) -> None:
    assert group_size(members, cores) == size


def test_members_do_not_depend_on_who_is_trained_with_them(log: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    # a few steps: small differences of rounding grow
    settings = small_settings("causal", training=prudent.Training(rounds=1, steps_per_round=25, batch=32))
    assert settings.members > 1
    models = []
    for cores in (1, 2):
        monkeypatch.setattr("prudent.networks.training_run.workers", lambda cores=cores: cores)
        models.append(settings.fit(log, seed=0, progress=False).model.networks)
    for together, apart in zip(*map(jax.tree.leaves, models), strict=True):
        np.testing.assert_allclose(together, apart, atol=2e-3)
