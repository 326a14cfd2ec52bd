"""A model of the doses that the patients of a log took: half of the simulated logging policy."""

from dataclasses import dataclass

import numpy as np
from sklearn.linear_model import LogisticRegression


@dataclass(frozen=True, eq=False)
class Clinician:
    """A logistic regression of the dose's class on the contexts.

    It must see no more than the record shows, for the action may depend on the observed cells only; so it learns from
    complete contexts, and a record's gaps are filled with their mean before it is asked.
    """

    mean: np.ndarray
    model: LogisticRegression | None
    classes: np.ndarray
    doses: int

    @staticmethod
    def taught(contexts: np.ndarray, actions: np.ndarray, doses: int) -> "Clinician":
        """Learn from complete contexts [row, context] and the class of the dose that was taken, 0 … doses − 1."""
        classes = np.unique(actions)
        model = LogisticRegression(max_iter=2000).fit(contexts, actions) if len(classes) > 1 else None
        return Clinician(contexts.mean(axis=0), model, classes, doses)

    def probabilities(self, values: np.ndarray) -> np.ndarray:
        """[row, dose] for records whose gaps are NaN; 0 for a class that nobody ever took."""
        filled = np.where(np.isnan(values), self.mean, values)
        learned = np.zeros((len(values), self.doses))
        learned[:, self.classes] = 1.0 if self.model is None else self.model.predict_proba(filled)
        return learned
