"""Draw the picture of one explained case, docs/pictures/case.svg: python -m docs.case."""

from pathlib import Path

from prudent import Conservative, guarantee
from prudent.worlds import DosingWorld


def main() -> None:
    """Of forty cases with two or three gaps, the one whose best action is least certain."""
    world = DosingWorld(doses=6)
    model = world.exact_model()
    policy = model.policy(Conservative(risk=0.05))
    later = model.read(world.sample(3000, seed=1).frame())
    advice = policy.recommend(world.sample(40, seed=2).cases(), guarantee=guarantee(policy, later, confidence=0.9))
    gaps = (~advice.encoded.observed).sum(axis=1)
    row = max(range(len(advice)), key=lambda at: (gaps[at] in (2, 3)) * advice.scored.entropy[at])
    picture = advice[row].explain().picture()
    (Path(__file__).parent / "pictures" / "case.svg").write_text(picture.svg())


if __name__ == "__main__":
    main()
