"""Glucose and insulin in one person with type 1 diabetes, minute by minute.

The model of Dalla Man, Rizza and Cobelli (IEEE Transactions on Biomedical Engineering, 2007) in the form of the
UVA/Padova simulator of 2008: a meal passes stomach and gut, injected insulin two depots under the skin, and insulin
acts late on the liver and on the tissues. Symbols of the parameters are those of the literature. Everything is for one
person: `vmap` it.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

GRAMS_A_MINUTE = 5.0
"""How fast a meal is eaten."""
PMOL_PER_UNIT = 6000.0

Number = Float[Array, ""]


class Body(NamedTuple):
    """The parameters of one person."""

    BW: Number  # kg
    Ib: Number  # basal plasma insulin, pmol/l
    kabs: Number  # absorption from the gut, per minute
    kmax: Number  # emptying of the stomach, fastest and slowest, per minute
    kmin: Number
    b: Number  # shares of the meal at which emptying slows down and speeds up again
    d: Number
    Vg: Number  # volumes of glucose, dl/kg, and of insulin, l/kg
    Vi: Number
    Vmx: Number  # use of glucose by tissues
    Km0: Number
    k2: Number  # exchange of glucose between plasma and tissues, per minute
    k1: Number
    p2u: Number  # delay of insulin's action on tissues, per minute
    m1: Number  # insulin between liver and plasma, per minute
    m2: Number
    m4: Number
    m30: Number
    ki: Number  # delay of insulin's action on the liver, per minute
    kp1: Number  # glucose made by the liver
    kp2: Number
    kp3: Number
    f: Number  # share of the carbohydrates that reaches plasma
    ke1: Number  # loss through the kidneys
    ke2: Number
    Fsnc: Number  # use of glucose by the brain, mg/kg/min
    Vm0: Number
    kd: Number  # insulin under the skin, per minute
    ksc: Number  # delay of glucose under the skin, per minute
    ka1: Number
    ka2: Number
    u2ss: Number  # insulin that holds the basal state, pmol/kg/min


class Amounts(NamedTuple):
    """What moves: glucose in mg (stomach, gut) and mg/kg, insulin in pmol/kg, delayed insulin in pmol/l."""

    stomach_solid: Number
    stomach_liquid: Number
    gut: Number
    plasma_glucose: Number
    tissue_glucose: Number
    plasma_insulin: Number
    insulin_action: Number
    delayed_insulin_first: Number
    delayed_insulin: Number
    liver_insulin: Number
    depot_first: Number
    depot_second: Number
    skin_glucose: Number


class Meal(NamedTuple):
    """Where a meal stands: grams not yet eaten, grams eaten of it, mg that were in the stomach before, and whether the
    person was eating a minute ago."""

    waiting: Number
    eaten: Number
    before: Number
    eating: Number

    @staticmethod
    def none() -> "Meal":
        nothing = jnp.zeros(())
        return Meal(nothing, nothing, nothing, nothing)


class Condition(NamedTuple):
    """A person at one minute."""

    amounts: Amounts
    meal: Meal


def glucose(body: Body, condition: Condition) -> Number:
    """What a sensor under the skin would read, mg/dl."""
    return condition.amounts.skin_glucose / body.Vg


def basal(body: Body) -> Number:
    """The insulin that holds the basal state, units a minute."""
    return body.u2ss * body.BW / PMOL_PER_UNIT


def simulate(
    body: Body, start: Condition, carbs: Float[Array, " minute"], bolus: Float[Array, " minute"]
) -> tuple[Condition, Float[Array, " minute"]]:
    """The condition at the end, and the sensor's glucose at the beginning of every minute.

    carbs: grams of a meal that begins in a minute. bolus: units injected in it, on top of the basal insulin.
    """

    def minute(condition: Condition, given: tuple[Number, Number]) -> tuple[Condition, Number]:
        return after_a_minute(body, condition, *given), glucose(body, condition)

    return jax.lax.scan(minute, start, (carbs, bolus))


def after_a_minute(body: Body, condition: Condition, carbs: Number, bolus: Number) -> Condition:
    """One step of the classical Runge-Kutta rule; what is eaten and injected is constant over the minute."""
    bite, meal = _eat(condition, carbs)
    insulin = (basal(body) + bolus) * PMOL_PER_UNIT / body.BW

    def slope(amounts: Amounts) -> Amounts:
        return _rates(body, amounts, meal, bite, insulin)

    now = condition.amounts
    first = slope(now)
    second = slope(_moved(now, first, 0.5))
    third = slope(_moved(now, second, 0.5))
    fourth = slope(_moved(now, third, 1.0))
    mean = jax.tree.map(lambda a, b, c, d: (a + 2 * b + 2 * c + d) / 6, first, second, third, fourth)
    # amounts cannot fall below 0; only insulin's action may, since it is relative to its basal level
    ended = _moved(now, mean, 1.0)
    held = jax.tree.map(lambda amount: jnp.maximum(amount, 0.0), ended)
    return Condition(held._replace(insulin_action=ended.insulin_action), meal)


def _moved(amounts: Amounts, rates: Amounts, minutes: float) -> Amounts:
    return jax.tree.map(lambda amount, rate: amount + minutes * rate, amounts, rates)


def _eat(condition: Condition, carbs: Number) -> tuple[Number, Meal]:
    """The grams eaten this minute; when a meal begins, what the stomach still holds is remembered."""
    meal, amounts = condition.meal, condition.amounts
    waiting = meal.waiting + carbs
    bite = jnp.minimum(waiting, GRAMS_A_MINUTE)
    eating = jnp.where(bite > 0, 1.0, 0.0)
    begins = (eating > 0) & (meal.eating == 0)
    before = jnp.where(begins, amounts.stomach_solid + amounts.stomach_liquid, meal.before)
    eaten = jnp.where(begins, 0.0, meal.eaten) + bite
    return bite, Meal(waiting - bite, eaten, before, eating)


def _rates(body: Body, now: Amounts, meal: Meal, bite: Number, insulin: Number) -> Amounts:
    """The thirteen equations: how fast each amount changes, per minute."""
    emptied = _emptying(body, now, meal) * now.stomach_liquid
    appearing = body.f * body.kabs * now.gut / body.BW
    made = jnp.maximum(body.kp1 - body.kp2 * now.plasma_glucose - body.kp3 * now.delayed_insulin, 0.0)
    lost = body.ke1 * jnp.maximum(now.plasma_glucose - body.ke2, 0.0)
    to_tissue = body.k1 * now.plasma_glucose - body.k2 * now.tissue_glucose
    used = (body.Vm0 + body.Vmx * now.insulin_action) * now.tissue_glucose / (body.Km0 + now.tissue_glucose)
    concentration = now.plasma_insulin / body.Vi
    return Amounts(
        stomach_solid=1000.0 * bite - body.kmax * now.stomach_solid,
        stomach_liquid=body.kmax * now.stomach_solid - emptied,
        gut=emptied - body.kabs * now.gut,
        plasma_glucose=made + appearing - body.Fsnc - lost - to_tissue,
        tissue_glucose=to_tissue - used,
        plasma_insulin=(
            body.m1 * now.liver_insulin
            + body.ka1 * now.depot_first
            + body.ka2 * now.depot_second
            - (body.m2 + body.m4) * now.plasma_insulin
        ),
        insulin_action=body.p2u * (concentration - body.Ib - now.insulin_action),
        delayed_insulin_first=body.ki * (concentration - now.delayed_insulin_first),
        delayed_insulin=body.ki * (now.delayed_insulin_first - now.delayed_insulin),
        liver_insulin=body.m2 * now.plasma_insulin - (body.m1 + body.m30) * now.liver_insulin,
        depot_first=insulin - (body.ka1 + body.kd) * now.depot_first,
        depot_second=body.kd * now.depot_first - body.ka2 * now.depot_second,
        skin_glucose=body.ksc * (now.plasma_glucose - now.skin_glucose),
    )


def _emptying(body: Body, now: Amounts, meal: Meal) -> Number:
    """How fast the stomach empties: fast while it is nearly full or nearly empty, slow in between."""
    full = meal.before + 1000.0 * meal.eaten
    size = jnp.maximum(full, 1e-6)
    held = now.stomach_solid + now.stomach_liquid
    falling = jnp.tanh(2.5 / (1 - body.b) * (held / size - body.b))
    rising = jnp.tanh(2.5 / body.d * (held / size - body.d))
    slowed = body.kmin + (body.kmax - body.kmin) / 2 * (falling - rising + 2)
    return jnp.where(full > 0, slowed, body.kmax)
