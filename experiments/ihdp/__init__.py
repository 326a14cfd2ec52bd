"""IHDP with gaps: the paper's second table."""
