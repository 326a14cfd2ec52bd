"""Digits as decisions: the paper's first table."""
