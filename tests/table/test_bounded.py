"""Numbers between two bounds: how they are asked for, encoded, learnt and completed, heaps on the bounds included."""

import json

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import polars as pl
import pytest
from conftest import small_settings
from scipy import integrate, stats

from prudent import Conservative, Log, MaximumExpectedReward
from prudent.checks import check_policy, encoder_laws
from prudent.decide import TurningPoint
from prudent.decide.explanation.changes import where
from prudent.decide.search import movable_cells
from prudent.errors import InputProblem
from prudent.evaluation.sensitivity.shifted_learning import shifted_completions
from prudent.networks import Decoder, SetEncoder, layout_of, quasi_random
from prudent.networks import decoder as decoding
from prudent.networks import layout as laid_out
from prudent.networks.decoder import Bounded
from prudent.table import Column, Schema, parse_kind, read_kinds

LOW, HIGH = -1.0, 2.0
COMPONENTS = [(0.3, 0.5), (-2.0, 1.0), (2.5, 0.05), (0.0, 8.0), (-40.0, 0.3), (1.9999, 0.05)]


def bounds(size: int = 1) -> laid_out.Bounded:
    return laid_out.Bounded(tuple(range(size)), jnp.full(size, LOW), jnp.full(size, HIGH))


def censored(mean, scale) -> Bounded:
    return Bounded(jnp.asarray(mean, jnp.float32)[None], jnp.asarray(scale, jnp.float32)[None], bounds())


def spo2(rows: int = 160, seed: int = 0) -> pd.DataFrame:
    """A log whose saturations heap at 100, and a share that heaps at 0; the best dose depends on both."""
    random = np.random.default_rng(seed)
    need = random.normal(size=rows)
    action = random.integers(0, 2, rows)
    columns = {
        "spo2": np.clip(np.round(98 - 3 * need + random.normal(size=rows)), 0, 100),
        "share": np.clip(0.2 + 0.3 * need + 0.1 * random.normal(size=rows), 0, 1),
        "age": 60 + 10 * need + 5 * random.normal(size=rows),
    }
    table = pd.DataFrame({name: np.where(random.random(rows) < 0.4, np.nan, own) for name, own in columns.items()})
    outcome = -np.abs(action - (need > 0)) + 0.2 * random.normal(size=rows)
    return table.assign(dose=np.array(["low", "high"], dtype=object)[action], outcome=outcome)


KINDS = {"spo2": (0, 100), "share": (0.0, 1.0), "age": "real"}


@pytest.fixture(scope="module")
def saturation():
    return Log.from_frame(spo2(), action="dose", reward="outcome", kinds=KINDS)


@pytest.fixture(scope="module")
def fitted_bounded(saturation):
    return small_settings("causal", members=1).fit(saturation, seed=0)


# --- likelihood ---


@pytest.mark.parametrize(("mean", "scale"), COMPONENTS)
def test_heaps_and_density_together_make_one(mean, scale):
    own = censored(mean, scale)
    heaps = float(jnp.exp(own.log_prob(jnp.array([LOW])))[0] + jnp.exp(own.log_prob(jnp.array([HIGH])))[0])
    density = jax.jit(lambda x: jnp.exp(own.log_prob(x[None]))[0])
    points = sorted({LOW + 1e-3, HIGH - 1e-3, *np.clip([mean - scale, mean, mean + scale], LOW, HIGH)})
    between, _ = integrate.quad(lambda x: float(density(jnp.float32(x))), LOW, HIGH, points=points, epsabs=1e-5)
    # within the margin the heap stands where the density was: what is counted twice or not at all is as small
    assert between + heaps == pytest.approx(1.0, abs=8e-3)
    exact = stats.norm.cdf(LOW, mean, scale) + stats.norm.sf(HIGH, mean, scale)
    assert heaps == pytest.approx(exact, rel=1e-4, abs=1e-6)


def test_between_the_bounds_it_is_the_gaussian_and_beyond_them_the_heap():
    own = censored(0.3, 0.5)
    for at in (-0.5, 0.0, 1.7):
        assert float(own.log_prob(jnp.array([at]))[0]) == pytest.approx(stats.norm.logpdf(at, 0.3, 0.5), rel=1e-4)
    for at, bound in ((-7.0, LOW), (LOW + 1e-5, LOW), (2.00001, HIGH), (1e6, HIGH)):
        assert float(own.log_prob(jnp.array([at]))[0]) == float(own.log_prob(jnp.array([bound]))[0])


@pytest.mark.parametrize("at", [LOW, HIGH, 0.5, -1e6, 1e6])
@pytest.mark.parametrize("mean", [-1e5, -300.0, -1.0, 0.5, 2.0, 300.0, 1e5])
def test_gradients_are_finite_and_point_home(at, mean):
    def log_prob(mean, scale, at):
        return Bounded(mean[None], scale[None], bounds()).log_prob(at[None])[0]

    value, slopes = jax.value_and_grad(log_prob, argnums=(0, 1, 2))(
        jnp.float32(mean), jnp.float32(0.05), jnp.float32(at)
    )
    assert np.isfinite([value, *slopes]).all()
    if abs(mean) > 100:
        # a mean far on the wrong side is drawn back; one far beyond its own bound is left in peace
        target = np.clip(at, LOW, HIGH)
        at_home = (target == LOW and mean < 0) or (target == HIGH and mean > 0)
        assert float(slopes[0]) == 0.0 if at_home else np.sign(slopes[0]) == np.sign(target - mean)


def test_the_far_tail_continues_the_near_one():
    steps = np.array([-49.99, -50.01, -60.0, -1000.0])
    found = np.array([decoding._log_tail(jnp.float32(own)) for own in steps])
    np.testing.assert_allclose(found, stats.norm.logcdf(steps), rtol=1e-6)
    slopes = [float(jax.grad(decoding._log_tail)(jnp.float32(own))) for own in steps]
    np.testing.assert_allclose(slopes, np.exp(stats.norm.logpdf(steps) - stats.norm.logcdf(steps)), rtol=1e-3)


def test_draws_stay_inside_and_heap_as_often_as_they_should():
    mean, scale = (jnp.array(own) for own in zip(*COMPONENTS, strict=True))
    own = Bounded(mean, scale, bounds(mean.size))
    drawn = np.asarray(own.draw(jnp.asarray(quasi_random(2048, mean.size, 0))))
    assert drawn.min() == LOW
    assert drawn.max() == HIGH
    np.testing.assert_allclose((drawn == LOW).mean(axis=0), stats.norm.cdf(LOW, mean, scale), atol=3e-3)
    np.testing.assert_allclose((drawn == HIGH).mean(axis=0), stats.norm.sf(HIGH, mean, scale), atol=3e-3)
    np.testing.assert_allclose(own.mode(), np.clip(mean, LOW, HIGH))


def test_centre_is_a_mean_inside_or_the_bound_that_has_most():
    weights = jnp.array([0.5, 0.3, 0.2])

    def centre(*means):
        return float(Bounded(jnp.array(means)[:, None], jnp.full((3, 1), 0.1), bounds()).centre(weights)[0])

    assert centre(0.0, 1.0, 9.0) == pytest.approx(0.3 * 1.0 + 0.2 * HIGH)
    assert centre(-3.0, -2.0, 0.5) == LOW
    assert centre(5.0, 2.5, 0.5) == HIGH


def test_natural_parameters_give_the_log_density(saturation):
    layout = layout_of(saturation.schema)
    distributions = Decoder(layout, latent=3, width=8, key=jax.random.key(0))(layout, jnp.array([0.3, -1.0, 0.5]))
    coefficients, constant = decoding.natural(distributions)
    everything = jnp.ones(layout.attributes, bool)
    complete = saturation.values[saturation.observed.all(axis=1)][:20]
    encoded_low, encoded_high = layout.bounds
    assert (complete == np.asarray(encoded_high)).any()
    assert (complete == np.asarray(encoded_low)).any()
    for values in complete:
        cells = layout.cells(jnp.asarray(values))
        ours = float(coefficients @ layout.statistics(cells) + constant)
        assert ours == pytest.approx(
            float(decoding.log_prob(distributions, layout, cells, everything)), rel=1e-4, abs=1e-4
        )


# --- layout, search ---


def test_layout_keeps_bounds_and_looks_continuous(saturation):
    layout = layout_of(saturation.schema)
    group = next(group for group in layout.groups if group.name == "bounded")
    assert (group.attributes, group.width, group.switches) == ((0, 1), 2, ())
    decoded = saturation.schema.decode(np.stack([np.asarray(bound) for bound in layout.bounds]).clip(-9, 9))
    assert decoded["spo2"] == [0, 100]
    assert decoded["share"] == [0.0, 1.0]
    assert np.isinf(layout.bounds[0][2])
    back = layout.values(layout.cells(jnp.asarray(saturation.values)))
    np.testing.assert_array_equal(back, saturation.values)
    cells = movable_cells(layout)
    assert (sorted(cells.numbers), cells.switches) == ([0, 1, 2], ())
    encoder = SetEncoder(layout, embedding=4, summary=12, width=12, latent=4, key=jax.random.key(1))
    encoder_laws(layout, encoder, jnp.asarray(saturation.values[0]))


def stays_inside(schema: Schema, values: np.ndarray) -> bool:
    low, high = (np.asarray(bound) for bound in layout_of(schema).bounds)
    return bool((values >= low).all() and (values <= high).all())


@pytest.mark.parametrize("strategy", [MaximumExpectedReward(), Conservative(risk=0.05), Conservative(c=0.001)])
def test_completions_and_searched_worst_cases_stay_in_the_bounds(fitted_bounded, saturation, strategy):
    rows = np.flatnonzero(~saturation.observed[:, :2].all(axis=1))[:4]
    policy = fitted_bounded.policy(strategy, completions=64)
    for row in rows:
        completions, table = policy.pricing.detail(saturation.values[row], saturation.observed[row])
        assert stays_inside(fitted_bounded.schema, np.asarray(completions.values))
        assert np.isfinite(np.asarray(table.prices)).all()


def test_completions_heap_where_the_log_does(fitted_bounded, saturation):
    gaps = np.flatnonzero(~saturation.observed[:, 0])[:20]
    policy = fitted_bounded.policy(completions=64)
    drawn = [
        np.asarray(policy.pricing.detail(saturation.values[r], saturation.observed[r])[0].values[1:, 0]) for r in gaps
    ]
    on_bound = np.mean(np.stack(drawn) == np.asarray(layout_of(saturation.schema).bounds[1])[0])
    assert 0.02 < on_bound < 0.6


def test_a_policy_with_bounded_columns_keeps_the_laws(fitted_bounded):
    check_policy(fitted_bounded.policy(Conservative(risk=0.1), completions=32), spo2(8, seed=3))


def test_shifted_cells_stay_in_the_bounds(fitted_bounded, saturation):
    far = shifted_completions(fitted_bounded, saturation.take(np.arange(12)), np.array([50.0, -50.0, 0.0]), 8, 2)
    assert stays_inside(saturation.schema, far.records)
    low, high = (np.asarray(bound) for bound in layout_of(saturation.schema).bounds)
    gaps = ~saturation.observed[:12]
    assert (far.records[gaps[:, 0], :, 0] == high[0]).all()
    assert (far.records[gaps[:, 1], :, 1] == low[1]).all()


# --- bounds, encoding, decoding ---


def test_bounds_are_the_logs_extremes_unless_given():
    table = {"x": [3, 7, None, 5], "y": [0.0, 0.25, 1.0, None]}
    default, given = (Schema.infer(table, {"x": kind, "y": "bounded"})[0] for kind in ("bounded", (0, 10)))
    assert [(c.kind, c.low, c.high, c.integral) for c in default.columns] == [
        ("bounded", 3.0, 7.0, True),
        ("bounded", 0.0, 1.0, False),
    ]
    assert (given.columns[0].low, given.columns[0].high) == (0.0, 10.0)
    assert given.columns[0].location == pytest.approx(5.0)
    assert given.columns[0].description == "0 to 10"


def test_a_pixel_that_is_hardly_ever_lit_does_not_explode():
    cells = [0] * 999 + [255]
    column = Schema.infer({"p": cells}, {"p": (0, 255)})[0].columns[0]
    assert column.scale == 255 / 4
    assert np.abs(column.encode(pl.Series(cells)).values).max() < 4.01
    spread = Schema.infer({"p": [0, 100] * 20}, {"p": (0, 100)})[0].columns[0]
    assert (spread.location, spread.scale) == (50.0, 50.0)


def test_columns_that_never_vary_are_kept_with_bounds_and_dropped_without():
    schema, notes = Schema.infer({"x": [4.0] * 5}, {"x": (0, 10)})
    assert (schema.columns[0].scale, notes) == (2.5, ())
    assert schema.decode(schema.encode({"x": [4.0, 10.0]}).values)["x"] == [4, 10]
    _, notes = Schema.infer({"x": [4.0] * 5, "y": [1.5, 2, 3, 4, 5]}, {"x": "bounded"})
    assert len(notes) == 1
    assert "kinds={'x': (0, 100)}" in notes[0]


def test_numbers_beyond_a_bound_are_the_bound_and_flagged():
    schema, _ = Schema.infer({"spo2": [90, 100, 95]}, {"spo2": (0, 100)})
    encoded = schema.encode({"spo2": [101, -3.5, 100, None, float("inf"), 99.5]})
    assert encoded.flags == [
        "spo2: 101 is outside the bounds 0 to 100, read as 100",
        "spo2: -3.5 is outside the bounds 0 to 100, read as 0",
        "",
        "",
        "spo2: inf cannot be bounded, treated as missing",
        "",
    ]
    assert encoded.observed[:, 0].tolist() == [True, True, True, False, False, True]
    decoded = schema.decode(np.where(encoded.observed, encoded.values, np.nan))["spo2"]
    assert decoded == [100, 0, 100, None, None, 100]
    assert schema.decode(np.array([[-50.0], [50.0]]))["spo2"] == [0, 100]


def test_whole_numbers_between_bounds_that_are_not_whole_stay_in_them():
    schema, _ = Schema.infer({"x": [1, 2, 3]}, {"x": (0.5, 3.5)})
    assert schema.decode(np.array([[-50.0], [50.0]]))["x"] == [0.5, 3.5]


def test_where_a_decision_turns_is_given_in_the_columns_units():
    whole = Column("spo2", "bounded", location=90.0, scale=10.0, low=0.0, high=100.0, integral=True)
    point = TurningPoint(0, 0.55, np.inf, (), 0, 0.5)
    assert where(whole, point) == "at least 96"
    assert where(Column("share", "bounded", location=0.5, scale=0.25, high=1.0), point) == "above 0.637"


@pytest.mark.parametrize(
    ("table", "kinds", "facts"),
    [
        ({"x": [1, 101]}, {"x": (0, 100)}, r"'x' .* 0 and 100: row 2 .* 101; widen"),
        ({"x": [1, -0.5]}, {"x": [0, 100]}, r"row 2 \(counting from 1\) holds -0.5"),
        ({"x": ["a", "1"]}, {"x": (0, 100)}, r"needs a number \(bounded\), but row 1"),
        (
            {"x": [1, 2]},
            {"x": (100, 0)},
            r"column 'x' must be two finite numbers.*\(100, 0\)",
        ),
        ({"x": [1, 2]}, {"x": (1, 1)}, "must be two finite numbers"),
        ({"x": [1, 2]}, {"x": (0,)}, "must be two finite numbers"),
        ({"x": [1, 2]}, {"x": [1, 2, 3]}, r"Got \[1, 2, 3\] instead.*\['1', '2', '3'\]"),
        ({"x": [1, 2]}, {"x": (0, float("inf"))}, "must be two finite numbers"),
        ({"x": [1, 2]}, {"x": (float("nan"), 1)}, "must be two finite numbers"),
        ({"x": [1, 2]}, {"x": (-1.7e308, 1.7e308)}, "must be two finite numbers"),
        ({"x": [1, 2]}, {"x": (0, 5e-324)}, "must be two finite numbers"),
        (
            {"pixel1": [1, 2]},
            {"pixle*": "real"},
            r"'pixle\*' .* Did you mean 'pixel1'",
        ),
    ],
)
def test_bad_bounds_and_patterns_are_refused(table, kinds, facts):
    with pytest.raises(InputProblem, match=facts):
        Schema.infer(table, kinds)


def test_texts_still_mean_ordinal():
    schema, _ = Schema.infer({"x": ["0", "1", "0"]}, {"x": ["0", "1"]})
    assert schema.columns[0].kind == "ordinal"


def test_patterns_name_columns_and_an_exact_name_wins():
    table = {"pixel1": [0, 9, 3, 5], "pixel2": [1, 2, 3, 4], "Pixel3": [0.5, 2.5, 1.5, 1.0], "a[1]": [1.5, 2, 3, 9],
             "a1": [-1.5, 2, 3, 9], "reward": [1, 2, 3, 4]}  # fmt: skip
    kinds = {"pixel2": "categorical", "pixel*": (0, 255), "a[1]": "positive", "?ixel3": "positive", "*ard": "real"}
    schema, _ = Schema.infer(table, kinds | {"r*": "count"})
    assert {column.name: column.kind for column in schema.columns} == {
        "pixel1": "bounded",
        "pixel2": "categorical",
        "Pixel3": "positive",
        "a[1]": "positive",
        "a1": "real",
        "reward": "count",
    }
    with pytest.raises(InputProblem, match=r"no feature 'rew\*'"):
        Schema.infer(table, {"rew*": "real"}, ignore=["reward"])
    assert Schema.infer(table, {"*": "real"}, ignore=["reward"])[0].names == tuple(table)[:-1]


def test_bounds_on_the_command_line_and_in_files(tmp_path):
    assert parse_kind("spo2=bounded:0..100") == ("spo2", (0.0, 100.0))
    assert parse_kind("t=bounded: -1.5 .. .5 ") == ("t", (-1.5, 0.5))
    assert parse_kind("spo2=bounded") == ("spo2", "bounded")
    for text in ("x=bounded:0", "x=bounded:a..b", "x=bounded:"):
        with pytest.raises(InputProblem, match=r"LOW\.\.HIGH, as in bounded:0\.\.100"):
            parse_kind(text)
    with pytest.raises(InputProblem, match="two finite numbers"):
        parse_kind("x=bounded:5..1")
    (tmp_path / "kinds.json").write_text('{"p*": [0, 255]}')
    (tmp_path / "kinds.toml").write_text('"p*" = [0, 255]\n')
    assert read_kinds(tmp_path / "kinds.json") == read_kinds(tmp_path / "kinds.toml") == {"p*": [0, 255]}


@pytest.mark.parametrize("damage", [{"low": 100.0}, {"low": 101.0}, {"categories": ["a"]}, {"scale": 0.0}])
def test_a_stored_bounded_column_comes_back_or_is_refused(damage):
    schema, _ = Schema.infer({"x": [1, 99]}, {"x": (0, 100)})
    stored = json.loads(json.dumps(schema.to_json()))
    assert Schema.from_json(stored) == schema
    stored["columns"][0].update(damage)
    with pytest.raises(InputProblem, match="stored schema is damaged"):
        Schema.from_json(stored)


# --- wide tables ---


def pixels(columns: int, rows: int = 60) -> dict[str, np.ndarray]:
    random = np.random.default_rng(0)
    lit = random.integers(0, 256, (rows, columns)) * (random.random((rows, columns)) < 0.5)
    lit[0], lit[1] = 0, 200
    return {f"pixel{i}": lit[:, i] for i in range(columns)} | {"visits": random.poisson(3.0, rows)}


def test_a_wide_table_of_whole_numbers_is_bounded_with_one_note():
    table = pixels(30) | {f"edge{i}": np.zeros(60) for i in range(20)}
    schema, notes = Schema.infer(table)
    assert {c.kind for c in schema.columns if c.name.startswith("pixel")} == {"bounded"}
    assert {(c.low, c.high) for c in schema.columns if c.kind == "bounded"} == {(0.0, 255.0)}
    assert {c.name: c.kind for c in schema.columns}["visits"] == "count"
    whole, constant = (next(note for note in notes if word in note) for word in ("bounded", "edge0"))
    assert "30 columns ('pixel0', 'pixel1', 'pixel2' …)" in whole
    assert "kinds={'pixel*': 'count'} or --kind 'pixel*=count'" in whole
    assert constant.startswith("20 columns ('edge0', 'edge1', 'edge2' …)")
    assert len(notes) <= 3


def test_narrow_tables_and_requested_counts_stay_counts():
    schema, notes = Schema.infer(pixels(5))
    assert {c.kind for c in schema.columns} == {"count"}
    assert not any("bounded" in note for note in notes)
    schema, notes = Schema.infer(pixels(30), {"pixel*": "count"})
    assert {c.kind for c in schema.columns} == {"count"}
    schema, _ = Schema.infer(pixels(30), {"pixel7": "count"})
    assert {c.kind for c in schema.columns if c.name in ("pixel7", "visits")} == {"count"}


def test_a_few_equal_notes_are_not_merged():
    table = {f"edge{i}": [1.0] * 4 for i in range(5)} | {"x": [1.5, 2.5, 3.0, 4.0]}
    assert [note.split("'")[1] for note in Schema.infer(table)[1]] == [f"edge{i}" for i in range(5)]
