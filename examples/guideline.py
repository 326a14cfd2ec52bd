"""Is a learnt policy better than a guideline, and than one arm for everybody? On a real trial, ACTG 175.

python -m examples.guideline docs/data/actg175.csv
"""

import argparse
from typing import Any

import prudent
from prudent.evaluation import Evaluation

AFTER_THE_DECISION = ["treat", "offtrt", "cens", "days", "cd820", "cd496", "r"]
"""What was recorded later, or is the arm in other words: a policy may not use it."""
FEW_CELLS = 300


def guideline(cases: Any) -> list[int]:
    """Two drugs (arm 1) where the immune system has suffered, didanosine alone (arm 3) elsewhere; made up."""
    return [1 if cells is not None and cells < FEW_CELLS else 3 for cells in cases["cd40"]]


def compared(place: str) -> Evaluation:
    log = prudent.read_log(place, action="arms", reward="cd420", ignore=AFTER_THE_DECISION)
    past, later = log.split(0.6, seed=0)
    model = prudent.CausalPVAE().fit(past, seed=0)
    policies = {"learnt": model.policy(), "careful": model.policy(prudent.TailAverse(risk=0.2)), "guideline": guideline}
    return prudent.evaluate(policies, later)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Compare a learnt policy with a guideline.")
    parser.add_argument("log", help="the trial's table")
    print(compared(parser.parse_args().log))
