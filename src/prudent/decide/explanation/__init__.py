"""One case in plain words and one picture: every action's prices, why this one, the plausible record that decides,
what would change the decision and what to measure. Text, page and JSON say the same."""

from prudent.decide.explanation.explaining import explain as explain
from prudent.decide.explanation.explanation import ActionPrice as ActionPrice
from prudent.decide.explanation.explanation import Change as Change
from prudent.decide.explanation.explanation import Explanation as Explanation
from prudent.decide.explanation.explanation import Influence as Influence
from prudent.decide.explanation.explanation import Measurement as Measurement
from prudent.decide.explanation.subject import Subject as Subject
