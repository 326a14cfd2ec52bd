"""The order of strategies from bold to careful, by their names, and a few that represent all."""

import re
from collections.abc import Sequence

FAMILIES = (
    "Imputation",
    "MaximumExpectedReward",
    "TailAverse(risk)",
    "Conservative(risk)",
    "Conservative(c)",
    "PerAttribute(c)",
)
SETTING = re.compile(r"\((risk|c)=([0-9.e-]+)")


def family(strategy: str) -> str:
    """The name of a strategy without the number that says how careful it is.

    >>> family("TailAverse(risk=0.05)"), family("Conservative(c=0.7, paper_literal=True)"), family("Imputation")
    ('TailAverse(risk)', 'Conservative(c)', 'Imputation')
    """
    setting = SETTING.search(strategy)
    return f"{strategy[: setting.start()]}({setting[1]})" if setting else strategy


def rank(strategy: str) -> tuple[float, str, float]:
    """Sorts strategies: by family, unknown rules after expectation, and within a family from bold to careful.

    >>> sorted(["TailAverse(risk=0.05)", "TailAverse(risk=0.2)", "Imputation"], key=rank)
    ['Imputation', 'TailAverse(risk=0.2)', 'TailAverse(risk=0.05)']
    """
    name, setting = family(strategy), SETTING.search(strategy)
    return (FAMILIES.index(name) if name in FAMILIES else 1.5, name, -float(setting[2]) if setting else 0.0)


def representatives(strategies: Sequence[str]) -> list[int]:
    """Which strategies represent all: of each family the middle one; a fixed c only where nothing is set by risk.

    >>> representatives(["Imputation", "TailAverse(risk=0.5)", "TailAverse(risk=0.05)", "Conservative(c=0.7)"])
    [0, 2]
    """
    order = sorted(range(len(strategies)), key=lambda at: rank(strategies[at]))
    families: dict[str, list[int]] = {}
    for at in order:
        families.setdefault(family(strategies[at]), []).append(at)
    by_risk = any(name.endswith("(risk)") for name in families)
    shown = {name: members for name, members in families.items() if not (by_risk and name.endswith("(c)"))}
    return [members[len(members) // 2] for members in shown.values()]
