"""Insulin doses for meals: the paper's third table, on virtual patients or on OhioT1DM for its holders."""
