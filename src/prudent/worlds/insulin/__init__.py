"""Insulin doses for meals of virtual patients: a world that knows the outcome of every dose, with pictures."""

from prudent.worlds.insulin.clinic import calculated_bolus as calculated_bolus
from prudent.worlds.insulin.clinic import nearest as nearest
from prudent.worlds.insulin.patients import Patients as Patients
from prudent.worlds.insulin.pictures import NOT_RECORDED as NOT_RECORDED
from prudent.worlds.insulin.pictures import Course as Course
from prudent.worlds.insulin.pictures import courses_of as courses_of
from prudent.worlds.insulin.pictures import glucose_panel as glucose_panel
from prudent.worlds.insulin.pictures import glucose_picture as glucose_picture
from prudent.worlds.insulin.pictures import glucose_scale as glucose_scale
from prudent.worlds.insulin.pictures import instructive_meals as instructive_meals
from prudent.worlds.insulin.pictures import record_entries as record_entries
from prudent.worlds.insulin.world import SERIOUSLY_LOW as SERIOUSLY_LOW
from prudent.worlds.insulin.world import InsulinSample as InsulinSample
from prudent.worlds.insulin.world import InsulinWorld as InsulinWorld
from prudent.worlds.insulin.world import glucose_reward as glucose_reward
