"""Where tables come from: one file for each kind of place, and `kinds.py`, which knows them all."""
