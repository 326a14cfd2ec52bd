"""Rivals for the effect of a treatment from records with gaps, each at its best, behind one question."""

from experiments.rivals.study import Answer, Method, Study

__all__ = ["Answer", "Method", "Study"]
