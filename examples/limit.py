"""The boldest policy that is shown to keep bad outcomes rare, in a simulated clinic where an overdose is a disaster.

python -m examples.limit
"""

import prudent
from prudent.promise import Certificate

DISASTER = -5.0
LIMIT = 0.05
CONFIDENCE = 0.9


def advised(rows: int = 6000) -> tuple[Certificate, dict[str, float]]:
    """What could be shown from the log; and the truth about each strategy, which only a simulation knows."""
    clinic = prudent.worlds.DosingWorld(loss="cliff", doses=5)
    past, later = prudent.Log.from_frame(clinic.sample(rows, seed=1).frame(), action="dose", reward="outcome").split(
        0.5, seed=0
    )
    model = prudent.CausalPVAE().fit(past, seed=0)
    frontier = prudent.frontier(model, later, below=DISASTER)
    certificate = frontier.certify(limit=LIMIT, confidence=CONFIDENCE)
    fresh = clinic.sample(2000, seed=2)
    chosen = {"expected": model.policy(), "careful": model.policy(prudent.TailAverse(risk=0.2))}
    if certificate.best is not None:
        chosen["within the limit"] = frontier.policy(limit=LIMIT, confidence=CONFIDENCE)
    shares = {}
    for name, policy in chosen.items():
        actions = policy.recommend(fresh.cases()).actions
        at = [fresh.world.dose_labels.index(action) for action in actions]
        shares[name] = float((fresh.theta[range(len(at)), at] < DISASTER).mean())
    return certificate, shares


if __name__ == "__main__":
    certificate, shares = advised()
    print(certificate)
    for name, share in shares.items():
        print(f"{name}: in truth {share:.1%} of the mean outcomes are below {DISASTER:g}")
