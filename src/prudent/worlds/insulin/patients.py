"""The thirty virtual patients: ten adolescents, ten adults, ten children."""

import csv
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from prudent.worlds.insulin.physiology import Amounts, Body

BASAL_STATE = {
    "plasma_glucose": "Gpb",
    "tissue_glucose": "Gtb",
    "plasma_insulin": "Ipb",
    "delayed_insulin_first": "Ib",
    "delayed_insulin": "Ib",
    "liver_insulin": "Ilb",
    "depot_first": "isc1ss",
    "depot_second": "isc2ss",
    "skin_glucose": "Gpb",
}
"""The amounts of a person who has fasted on basal insulin; the others are 0."""


@dataclass(frozen=True, eq=False)
class Patients:
    """Every patient's body and basal state (leading axis: patient), and what a clinic's file says about each.

    >>> patients = Patients.virtual()
    >>> len(patients), patients.names[0], patients.age[:3].tolist()
    (30, 'adolescent#001', [18.0, 19.0, 15.0])
    """

    names: tuple[str, ...]
    bodies: Body
    fasting: Amounts
    weight: np.ndarray
    age: np.ndarray
    total_daily_insulin: np.ndarray
    carb_ratio: np.ndarray

    @staticmethod
    @cache
    def virtual() -> "Patients":
        text = (files("prudent.worlds.insulin") / "patients.csv").read_text(encoding="utf-8")
        rows = list(csv.DictReader(text.splitlines()))
        columns = {name: np.array([float(row[name]) for row in rows]) for name in rows[0] if name != "name"}
        nothing = jnp.zeros(len(rows))

        def starting(field: str) -> Array:
            return jnp.asarray(columns[BASAL_STATE[field]]) if field in BASAL_STATE else nothing

        return Patients(
            names=tuple(row["name"] for row in rows),
            bodies=Body(*(jnp.asarray(columns[name]) for name in Body._fields)),
            fasting=Amounts(*(starting(field) for field in Amounts._fields)),
            weight=columns["BW"],
            age=columns["age"],
            total_daily_insulin=columns["total_daily_insulin"],
            carb_ratio=columns["carb_ratio"],
        )

    def __len__(self) -> int:
        return len(self.names)
