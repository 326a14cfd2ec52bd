"""Insulin doses for meals of virtual patients: a world in which the outcome of every dose is known."""

from prudent.worlds.insulin.clinic import calculated_bolus
from prudent.worlds.insulin.patients import Patients
from prudent.worlds.insulin.world import InsulinSample, InsulinWorld, glucose_reward

__all__ = ["InsulinWorld", "InsulinSample", "Patients", "calculated_bolus", "glucose_reward"]
