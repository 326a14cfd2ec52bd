"""A policy as an MLflow model: `mlflow.pyfunc.load_model(...).predict(frame)` gives the advice as a frame.

MLflow stores the model folder and a description of the policy, and loads both through this module: nothing is pickled.
MLflow's usage telemetry is off unless MLFLOW_DISABLE_TELEMETRY says otherwise before this module is imported.
"""

import os

os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")  # MLflow reads it when it is imported

from prudent.mlflow.saving import _load_pyfunc as _load_pyfunc
from prudent.mlflow.saving import log_model as log_model
from prudent.mlflow.saving import save_model as save_model
