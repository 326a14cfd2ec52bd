"""One way of learning for all models: which rows are held out, and many logs in one program."""

from dataclasses import replace

import numpy as np
import pytest
from conftest import COMPLETIONS, MODELS, make_log, small_settings

import prudent
from prudent.models import fit_many


@pytest.fixture(scope="module")
def twins() -> prudent.Log:
    """Forty different records, each logged five times; a quarter of the rows has no reward."""
    random = np.random.default_rng(0)
    values = np.repeat(random.normal(size=(40, 3)), 5, axis=0)
    rewards = np.where(random.random(200) < 0.25, np.nan, random.normal(size=200))
    return make_log(values, random.integers(0, 2, 200), rewards)


class Stopped(Exception):
    pass


@pytest.mark.parametrize("name", MODELS)
def test_equal_records_are_held_out_together_and_only_rewarded_rows_are(twins, name, monkeypatch):
    given = {}

    def stop(*_, **arguments):
        given.update(arguments)
        raise Stopped

    monkeypatch.setattr("prudent.models.fitting.train", stop)
    with pytest.raises(Stopped):
        small_settings(name).fit(twins, seed=0)
    np.testing.assert_array_equal(given["may_hold_out"], twins.rewarded)
    records = given["records"].reshape(40, 5)
    assert (records == records[:, :1]).all()
    assert len(np.unique(records)) == 40


def test_many_logs_of_the_similarity_model(log, cases):
    """The first nearly as if it were alone (its rows come in another order), the second with opposite rewards."""
    settings = small_settings("similarity")
    opposite = replace(log, rewards=-log.rewards)
    first, second = fit_many(settings, [log, opposite], seed=0, progress=False)
    alone = settings.fit(log, seed=0, progress=False)
    prices = [
        model.policy(completions=COMPLETIONS).recommend(cases).scored.expected for model in (alone, first, second)
    ]
    correlation = np.corrcoef([price.ravel() for price in prices])
    assert correlation[0, 1] > 0.8
    assert correlation[0, 2] < -0.8
