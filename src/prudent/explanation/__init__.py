"""One case told in plain words and one picture: every action's prices, why this one, the plausible record that decides,
what would change the decision and what to measure. Text, page and JSON say the same."""

from prudent.explanation.account import ActionPrice, Change, Explanation, Measurement
from prudent.explanation.explaining import explain
from prudent.explanation.page import explanations_html

__all__ = ["ActionPrice", "Change", "Explanation", "Measurement", "explain", "explanations_html"]
