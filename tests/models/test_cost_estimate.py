"""Estimates of time and memory: they grow with what makes work longer, and follow the speed of the machine."""

import numpy as np
import pytest
from conftest import make_log, read, visits

from prudent import SPVAE, CausalPVAE, InputProblem, Training
from prudent.models import cost_estimate, estimate_costs, machine_speed
from prudent.models.machine_speed import timed_arithmetic

FIELDS = ("fit", "recommend", "search", "evaluate")


@pytest.fixture(autouse=True)
def reference_machine(monkeypatch):
    monkeypatch.setattr(cost_estimate, "slowness", lambda: 1.0)


def shaped(rows=200, numbers=6, levels=0, actions=3):
    values = np.random.default_rng(0).normal(size=(rows, numbers))
    values[:, 0] = np.arange(rows) % max(levels, 1)
    categories = {0: levels} if levels else None
    return make_log(values, np.arange(rows) % actions, categories=categories)


def test_the_default_estimate_says_what_is_known_of_a_small_table():
    costs = estimate_costs(CausalPVAE(), shaped(5000, 8))
    assert 15 < costs.fit.seconds < 45  # "half a minute for 5000 rows"
    assert 0.5e9 < costs.fit.memory < 1.5e9
    assert "minute" in str(costs.fit)
    assert "GB" in str(costs.fit)


def test_more_work_takes_longer():
    usual = estimate_costs(CausalPVAE(), shaped())
    for changed, affected in (
        (shaped(numbers=40), FIELDS),
        (shaped(levels=300), FIELDS),
        (shaped(actions=9), ("search", "evaluate")),
        (shaped(rows=4000), ("fit",)),
    ):
        costs = estimate_costs(CausalPVAE(), changed)
        assert all(getattr(costs, name).seconds > getattr(usual, name).seconds for name in affected)
    assert estimate_costs(CausalPVAE(), shaped(), rows=5000).recommend.seconds > usual.recommend.seconds
    assert estimate_costs(CausalPVAE(), shaped(levels=300)).fit.memory > usual.fit.memory


def test_presets_and_budgets_are_estimated():
    log = shaped(5000, 20)
    fast, usual, best = (
        estimate_costs(s, log).fit.seconds for s in (CausalPVAE.preset("fast"), CausalPVAE(), CausalPVAE.preset("best"))
    )
    assert 1.3 * fast < usual < best / 1.3
    assert estimate_costs(CausalPVAE(training=Training(seconds=20)), log).fit.seconds == 20


def test_every_model_can_be_estimated_and_nothing_else():
    log = read(visits())
    assert estimate_costs(SPVAE(), log).fit.seconds > 0
    with pytest.raises(InputProblem, match="settings"):
        estimate_costs(log, log)


def test_a_slower_machine_takes_longer(monkeypatch):
    before = estimate_costs(CausalPVAE(), shaped())
    monkeypatch.setattr(cost_estimate, "slowness", lambda: 3.0)
    after = estimate_costs(CausalPVAE(), shaped())
    for name in FIELDS:
        one, other = getattr(before, name), getattr(after, name)
        assert other.seconds == pytest.approx(3 * one.seconds)
        assert other.memory == one.memory


def test_the_speed_is_what_a_clock_says(monkeypatch):
    ticks = iter([10.0, 10.0 + machine_speed.RUNS * 2 * machine_speed.REFERENCE])
    monkeypatch.setattr(machine_speed, "timed_arithmetic", lambda: timed_arithmetic(lambda: next(ticks)))
    assert machine_speed.slowness.__wrapped__() == pytest.approx(2.0)
