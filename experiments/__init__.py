"""Experiments of the paper and their tables; each has a README whose first thing is the result."""
