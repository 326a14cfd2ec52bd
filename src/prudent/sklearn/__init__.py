"""prudent as scikit-learn expects a classifier: for pipelines, cross-validation and searches over settings."""

from prudent.sklearn.policy_classifier import PolicyClassifier as PolicyClassifier
