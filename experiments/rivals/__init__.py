"""Rivals of the tables, each at its best honest settings.

`experiments.rivals.actions` holds those that choose an action for a record, `experiments.rivals.effects` those that
estimate the effect of a treatment. A module has the name of its rival.
"""
