"""Draw the picture of one explained case in the README, docs/pictures/case.svg."""

from pathlib import Path

from prudent import Conservative, guarantee
from prudent.worlds import DosingWorld

world = DosingWorld(doses=6)
model = world.exact_model()
policy = model.policy(Conservative(risk=0.05))
later = model.read(world.sample(3000, seed=1).frame())
cases = world.sample(40, seed=2).cases()
advice = policy.recommend(cases, guarantee=guarantee(policy, later, confidence=0.9))
gaps = (~advice.encoded.observed).sum(axis=1)
row = max(range(len(advice)), key=lambda at: (gaps[at] in (2, 3)) * advice.scored.entropy[at])
picture = advice[row].explain().picture()
(Path(__file__).parent / "pictures" / "case.svg").write_text(picture.svg())
