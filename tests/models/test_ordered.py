"""Ordered actions, doses between them, and noise that depends on the record."""

from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import polars as pl
import pytest
from conftest import small_settings

import prudent
from prudent.checks import check_model
from prudent.command_line import main
from prudent.command_line.fitting import ModelOptions
from prudent.decide import MostOftenBest, Support
from prudent.evaluation.prices import model_prices
from prudent.evaluation.sensitivity.shifted_learning import shifted_completions
from prudent.models.price_uncertainty import _joint_roots, _separate_roots
from prudent.networks import RewardNetwork, Training, neighbour_mixing

DOSES = 5
TRAINING = Training(learning_rate=1e-2, batch=64, rounds=50, steps_per_round=40, patience=50)


def frame_of_doses(rows: int, seed: int) -> pl.DataFrame:
    """The best dose is 2 + 2·need, of which `need` is recorded; outcomes scatter ten times as much in the `erratic`."""
    random = np.random.default_rng(seed)
    need, erratic, dose = random.uniform(-1, 1, rows), random.integers(2, size=rows), random.integers(DOSES, size=rows)
    scatter = np.where(erratic == 1, 1.0, 0.1) * random.normal(size=rows)
    outcome = -((dose - 2 - 2 * need) ** 2) / 4 + scatter
    need[random.random(rows) < 0.1] = np.nan
    columns = {"need": need, "erratic": np.where(erratic, "yes", "no"), "dose": dose, "outcome": outcome}
    return pl.DataFrame(columns).with_columns(pl.col("need").fill_nan(None))


@pytest.fixture(scope="module")
def log() -> prudent.Log:
    return prudent.Log.from_frame(frame_of_doses(600, seed=0), action="dose", reward="outcome")


@pytest.fixture(scope="module")
def fitted(log: prudent.Log):
    return small_settings("causal", ordered=True, varying_noise=True, training=TRAINING).fit(log, seed=0)


def network(ordered: bool = False) -> RewardNetwork:
    return RewardNetwork(3, DOSES, width=8, ordered=ordered, key=jax.random.key(0))


def test_neighbours_are_learnt_from():
    """A step that raises one price, taken in the last layer, raises the others by how near they are."""

    def moved(own: RewardNetwork) -> np.ndarray:
        inputs = jnp.ones(3)
        place = lambda one: one.network.layers[-1].bias  # noqa: E731
        slope = place(eqx.filter_grad(lambda one: one(inputs)[1])(own))
        return np.asarray(eqx.tree_at(place, own, place(own) + slope)(inputs) - own(inputs))

    together = moved(network(ordered=True))
    assert together[1] > together[2] > together[3] > together[4] >= 0
    assert together[0] == pytest.approx(together[2])
    assert np.allclose(moved(network()), [0, 1, 0, 0, 0])


def test_any_prices_can_be_learnt():
    mixing = neighbour_mixing(DOSES)
    assert np.allclose(np.diag(mixing @ mixing.T), 1.0, atol=1e-5)
    assert np.linalg.cond(mixing) < 100


def test_what_the_log_leaves_open_by_hand():
    """Brute force: regress on (action, feature) pairs; with nothing mixed it is each action by itself."""
    random = np.random.default_rng(0)
    features, actions = random.normal(size=(40, 3)), random.integers(DOSES, size=40)
    counts, mixing = random.uniform(0.5, 2, 40), np.asarray(neighbour_mixing(DOSES), np.float64)
    learnt = np.stack(
        [features[actions == a].T @ (counts[actions == a, None] * features[actions == a]) for a in range(DOSES)]
    )
    known = _joint_roots(2.0, learnt, mixing)
    design = np.stack([np.outer(mixing[a], own).ravel() for a, own in zip(actions, features, strict=True)])
    covariance = np.linalg.inv(2.0 * np.eye(3 * DOSES) + design.T @ (counts[:, None] * design))
    record = random.normal(size=3)
    for action in range(DOSES):
        one = np.outer(mixing[action], record).ravel()
        assert np.isclose(np.linalg.norm(known[action] @ record), np.sqrt(one @ covariance @ one))
    alone, unmixed = _separate_roots(2.0, learnt), _joint_roots(2.0, learnt, np.eye(DOSES))
    assert np.allclose(np.linalg.norm(alone @ record, axis=1), np.linalg.norm(unmixed @ record, axis=1))


def test_neighbours_settle_doubt():
    """An action without a row is less open where its neighbours have rows."""
    learnt = 50 * np.stack([np.eye(3)] * DOSES)
    learnt[2] = 0
    record = np.ones(3)
    alone = np.linalg.norm(_separate_roots(1.0, learnt)[2] @ record)
    together = np.linalg.norm(_joint_roots(1.0, learnt, neighbour_mixing(DOSES))[2] @ record)
    assert together < 0.8 * alone


def test_noise_is_learnt_where_it_is(fitted):
    cases = pl.DataFrame({"need": [0.0, 0.0], "erratic": ["no", "yes"]})
    encoded = fitted.schema.encode(cases)
    calm, erratic = np.asarray(jax.vmap(fitted.model.noise)(jnp.asarray(encoded.values)))
    assert (erratic > 1.2 * calm).all()  # an action that was hardly logged among them
    assert np.mean(erratic / calm) > 1.5
    prices = fitted.policy(noise=1.0).recommend(cases)[1].explain().prices
    assert prices[2].noise == pytest.approx(erratic[2], rel=0.05)


def test_doses_are_chosen_by_need(fitted):
    cases = pl.DataFrame({"need": [-1.0, -0.5, 0.0, 0.5, 1.0], "erratic": ["no"] * 5})
    assert np.abs(fitted.policy().recommend(cases).to_frame()["action"].to_numpy() - np.arange(5)).max() <= 1


def test_it_keeps_the_laws_and_its_answers_when_saved(fitted, log, tmp_path):
    check_model(fitted, log.cases().head(20))
    fitted.save(tmp_path / "model")
    again, cases = prudent.load(tmp_path / "model"), log.cases().head(10)
    first, second = (model.policy(doubt=1.0, noise=1.0).recommend(cases).to_frame() for model in (fitted, again))
    assert first.equals(second)


def test_words_have_no_order(log):
    named = log.cases().with_columns(dose=pl.Series(np.where(log.actions > 2, "much", "little")), outcome=log.rewards)
    words = prudent.Log.from_frame(named, action="dose", reward="outcome")
    with pytest.raises(prudent.InputProblem, match="little"):
        small_settings("causal", ordered=True).fit(words)


@pytest.mark.parametrize("name", ["ordered", "varying_noise"])
def test_bad_settings(name):
    with pytest.raises(prudent.InputProblem, match=f"'{name}' parameter of CausalPVAE"):
        replace(prudent.CausalPVAE(types=4), **{name: True})


def test_options_of_the_command():
    learning = ModelOptions("causal", None, None, 0, ordered=True, varying_noise=True)
    assert learning.settings(False) == prudent.CausalPVAE(ordered=True, varying_noise=True)
    with pytest.raises(prudent.InputProblem, match="--varying-noise"):
        ModelOptions("similarity", None, None, 0, varying_noise=True).settings(False)


def test_evaluation_reads_the_noise_of_every_record(fitted):
    """A bad outcome is about as likely in the erratic as it was, and hardly ever happens to the others."""
    frame = frame_of_doses(400, seed=1)
    later = prudent.Log.from_frame(frame, action="dose", reward="outcome")
    good = np.abs(later.actions - 2 - 2 * frame["need"].fill_null(0.0).to_numpy()) < 0.5
    tail = model_prices(fitted, later, below=-1.0, completions=64).tail
    assert tail is not None
    chance, erratic = tail[np.arange(400), later.actions], (frame["erratic"] == "yes").to_numpy()
    known = good & frame["need"].is_not_null().to_numpy()
    happened = (later.rewards < -1).astype(float)
    for group in (known & erratic, known & ~erratic):
        assert chance[group].mean() == pytest.approx(happened[group].mean(), abs=0.12)
    moved = shifted_completions(fitted, later, np.zeros(2), completions=64, imputations=4)
    assert np.allclose(moved.prices, model_prices(fitted, later, below=None, completions=64).rewards, atol=1e-4)


def test_the_log_decides_whether_neighbouring_doses_are_alike(log: prudent.Log):
    quick = Training(rounds=1, steps_per_round=5, batch=32)
    own = small_settings("causal", training=quick).fit(log, progress=False)
    assert own.settings.ordered is True
    assert any("neighbouring ones are taken to be alike" in choice for choice in own.report.choices)
    # the same doses under other numbers, in no order: 2, 4, 0, 3, 1
    codes = frame_of_doses(600, seed=0).with_columns(pl.col("dose").replace(dict(enumerate([2, 4, 0, 3, 1]))))
    shuffled = prudent.Log.from_frame(codes, action="dose", reward="outcome")
    assert small_settings("causal", training=quick).fit(shuffled, progress=False).settings.ordered is False
    # by hand, and where actions are texts
    assert small_settings("causal", training=quick, ordered=False).fit(log, progress=False).settings.ordered is False
    texts = frame_of_doses(600, seed=0).with_columns(pl.format("dose {}", "dose").alias("dose"))
    named = prudent.Log.from_frame(texts, action="dose", reward="outcome")
    assert small_settings("causal", training=quick).fit(named, progress=False).settings.ordered is False


# --- doses between the logged ones ---

KNOWN = pl.DataFrame({"need": np.linspace(-0.95, 0.95, 60).round(3), "erratic": ["no"] * 60})


def true_rewards(doses: np.ndarray) -> np.ndarray:
    return -((doses - 2 - 2 * KNOWN["need"].to_numpy()) ** 2) / 4


def test_doses_between_are_nearer_to_the_need(fitted):
    advice = fitted.policy(support=None).recommend(KNOWN)
    plain, asked = advice.to_frame(), advice.doses_between().to_frame()
    extra = ["dose", "dose_reward", "dose_uncertainty"]
    assert asked.columns == [*plain.columns[:6], *extra, *plain.columns[6:]]
    assert asked.drop(extra).equals(plain)
    action, dose = asked["action"].to_numpy(), asked["dose"].to_numpy()
    assert (np.abs(dose - action) < 1).all()
    assert ((dose >= 0) & (dose <= DOSES - 1)).all()
    gain = true_rewards(dose) - true_rewards(action)
    assert np.mean(gain) > 0.2 * np.mean(-true_rewards(action))
    moved = dose != action
    assert 0.2 < moved.mean() < 1
    assert (asked["dose_reward"] > asked["expected_reward"]).to_numpy()[moved].all()
    assert np.allclose(asked["dose_reward"].to_numpy()[~moved], plain["expected_reward"].to_numpy()[~moved], atol=1e-5)
    off = np.abs(asked["dose_reward"].to_numpy() - true_rewards(dose))
    assert np.mean(off < asked["dose_uncertainty"].to_numpy()) > 0.5
    assert any("nobody" in note for note in advice.doses_between().notes)


def test_a_row_alone_gets_the_dose_of_its_table(fitted):
    policy, cases = (
        fitted.policy(prudent.TailAverse(), support=None),
        frame_of_doses(40, seed=3).drop("dose", "outcome"),
    )
    together = policy.recommend(cases).doses_between().doses
    for row in (0, 17, 39):
        alone = policy.recommend(cases[row]).doses_between().doses
        assert np.allclose([column[0] for column in alone], [column[row] for column in together], atol=1e-4)


def test_closed_neighbours_are_not_approached(fitted):
    policy = fitted.policy(support=None)
    alone = policy.recommend(KNOWN, allowed=[{2}] * 60).doses_between().to_frame()
    assert (alone["dose"] == 2).all()
    two = policy.recommend(KNOWN, allowed=[{1, 2}] * 60).doses_between().doses.dose
    assert two.min() >= 1
    assert two.max() == 2
    assert ((two > 1) & (two < 2)).any()
    nobody = replace(fitted.policy(), support=Support(rows=10_000)).recommend(KNOWN).doses_between()
    assert (
        nobody.to_frame().select("action", "dose", "dose_reward", "dose_uncertainty").null_count().row(0) == (60,) * 4
    )
    above = replace(policy, floor=-0.05).recommend(KNOWN)
    moved = above.doses_between().doses
    assert (np.isnan(moved.dose) == (above.chosen < 0)).all()
    assert 0 < np.isnan(moved.dose).sum() < 60
    assert np.nanmin(moved.dose_reward) >= -0.05


def test_costs_caution_and_sign_weigh_in_doses_between(fitted):
    free = fitted.policy(support=None).recommend(KNOWN).doses_between().doses
    dear = replace(fitted.policy(support=None), costs={dose: 0.2 * dose for dose in range(DOSES)})
    careful = fitted.policy(prudent.Conservative(), support=None, doubt=1.0, noise=0.5)
    assert dear.recommend(KNOWN).doses_between().doses.dose.mean() < free.dose.mean() - 0.1
    by_row = KNOWN.with_columns(pl.Series("price", np.where(np.arange(60) < 30, 0.0, 100.0)))
    no_highest = fitted.policy(support=None).recommend(by_row, costs={4: "price"}).doses_between().doses
    assert np.allclose(no_highest.dose[:30], free.dose[:30])
    assert no_highest.dose[30:].max() == 3
    assert np.isfinite(careful.recommend(KNOWN).doses_between().doses.dose_reward).all()
    turned = replace(fitted, minimize=True).policy(support=None).recommend(KNOWN).doses_between().doses
    assert np.allclose(turned.dose_reward, -free.dose_reward, atol=1e-5)
    assert (turned.dose_uncertainty > 0).all()


@pytest.mark.parametrize("strategy", [prudent.AtMost(0.1, below=-1), MostOftenBest()])
def test_strategies_that_do_not_compare_rewards(fitted, strategy):
    with pytest.raises(prudent.InputProblem, match="--strategy expected"):
        fitted.policy(strategy).recommend(KNOWN).doses_between()


def test_the_command_writes_doses_between(fitted, tmp_path, capsys):
    fitted.save(tmp_path / "model")
    KNOWN.with_columns(pl.col("need").alias("dose")).write_csv(tmp_path / "cases.csv")
    files = (str(tmp_path / name) for name in ("model", "cases.csv"))
    asked = ["recommend", *files, "--no-support", "--doses-between"]
    assert main([*asked, "--out", str(tmp_path / "advice.csv")]) == 0
    written = pl.read_csv(tmp_path / "advice.csv")
    expected = fitted.policy(support=None).recommend(KNOWN).doses_between().to_frame()
    assert written.columns == expected.columns
    assert np.allclose(written["dose"], expected["dose"])
    assert main([*asked, "--out", str(tmp_path / "advice.csv"), "--keep", "dose"]) == 2
    assert "'dose'" in capsys.readouterr().err
