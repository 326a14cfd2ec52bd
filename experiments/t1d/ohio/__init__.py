"""For holders of the OhioT1DM data: its files, its boluses, and a simulator learnt from them. No data is shipped."""

from experiments.t1d.ohio.boluses import CONTEXTS, BolusRows, bolus_rows
from experiments.t1d.ohio.reader import Patient, digest_of, read_folder
from experiments.t1d.ohio.sample import OhioSample
from experiments.t1d.ohio.simulator import OhioWorld

__all__ = ["OhioWorld", "OhioSample", "Patient", "read_folder", "digest_of", "BolusRows", "bolus_rows", "CONTEXTS"]
