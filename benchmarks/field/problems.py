"""The field's problems by name."""

from dataclasses import replace

from benchmarks.field.generated import Generated
from benchmarks.field.outcomes import HeavyTailed, Noisy, TwoValued, ZeroInflated
from benchmarks.field.star import installed
from benchmarks.field.trials import STAR, TRIALS, Trial
from benchmarks.field.worlds import Dosing, Insulin
from benchmarks.tables import BROAD, Table


def mixed(actions: int, gaps: float = 0.3) -> Table:
    """14 columns of all kinds."""
    columns = Table(actions, real=4, positive=2, bounded=1, counts=2, ordinal=1, categories=(2, 2, 4, 6))
    return replace(columns, gaps=gaps)


def numbers(actions: int, gaps: float = 0.3, categories: tuple[int, ...] = ()) -> Table:
    """Ten numbers, and perhaps some categories."""
    return Table(actions, real=6, positive=3, counts=1, categories=categories, gaps=gaps)


def labels(actions: int, gaps: float = 0.3) -> Table:
    """16 columns, 13 of them categories."""
    return Table(actions, real=2, ordinal=1, categories=(2, 2, 2, 2, 3, 3, 4, 4, 5, 6, 8, 12, 20), gaps=gaps)


GENERATED: tuple[Generated, ...] = (
    Generated("smooth", "14 mixed columns, smooth rewards", mixed(4), 4000),
    Generated("300 rows", "300 rows, 2 actions", numbers(2, gaps=0.2), 300),
    Generated("600 rows", "600 rows, 2 actions, gaps that depend on other columns", mixed(2), 600, mechanism="mar"),
    Generated("faint", "noise six times the signal", mixed(3), 5000, outcome=Noisy(6.0)),
    Generated("12 actions", "12 actions", mixed(12), 5000),
    Generated("20 actions", "20 actions, steps and curves", mixed(20, gaps=0.2), 12_000, "mixed"),
    Generated("60 columns", "60 columns, 12 of them matter", BROAD, 3000, relevant=12),
    Generated("40 000 rows", "40 000 rows, steps and curves", mixed(5), 40_000, "mixed"),
    Generated("curves", "waves rather than lines", mixed(3, gaps=0.15), 6000, "curved"),
    Generated("steps", "step-like rewards", numbers(4, categories=(3, 5)), 4000, "steps"),
    Generated("interactions", "columns that count in pairs", mixed(3, gaps=0.15), 8000, "interacting", relevant=8),
    Generated("mar", "gaps that depend on other columns", mixed(4, gaps=0.4), 4000, mechanism="mar"),
    Generated("mnar", "gaps that depend on their own values", mixed(4, gaps=0.35), 4000, mechanism="mnar"),
    Generated(
        "mnar steps",
        "step-like rewards, gaps that depend on their own values",
        numbers(3, categories=(2, 4), gaps=0.4),
        8000,
        "steps",
        mechanism="mnar",
    ),
    Generated("5 % gaps", "few gaps, steps and curves", mixed(4, gaps=0.05), 3000, "mixed"),
    Generated("60 % gaps", "more gaps than cells", mixed(4, gaps=0.6), 6000),
    Generated("doses", "12 ordered doses, 1500 rows", numbers(12), 1500, "doses", Noisy(0.5), ordered=True),
    Generated(
        "cliff",
        "9 ordered doses, too much is a disaster",
        numbers(9, categories=(3,)),
        5000,
        "cliff",
        Noisy(0.5),
        ordered=True,
    ),
    Generated("two values", "success or failure", mixed(3), 5000, outcome=TwoValued()),
    Generated(
        "rare success",
        "success in a tenth of the rows, gaps that depend on other columns",
        mixed(4, gaps=0.25),
        10_000,
        "mixed",
        TwoValued(0.08),
        "mar",
    ),
    Generated("heavy tails", "a few rewards lie far out", mixed(3), 5000, outcome=HeavyTailed()),
    Generated("zeros", "mostly nothing, otherwise a skewed amount", mixed(3), 5000, outcome=ZeroInflated()),
    Generated("biased log", "actions follow the record closely", mixed(4, gaps=0.2), 5000, log="biased"),
    Generated("rare actions", "7 actions, each half as frequent as the one before", mixed(7), 4000, log="rare"),
    Generated("categories", "16 columns, 13 of them categories, steps", labels(3, gaps=0.28), 2500, "mixed"),
    Generated("hidden reasons", "whoever decided saw the complete record", mixed(4), 4000, sees_all=True),
)

WORLDS: tuple[Dosing | Insulin, ...] = (
    Dosing("dosing quadratic", "5 doses, quadratic loss", "quadratic"),
    Dosing("dosing cliff", "9 doses, cliff loss", "cliff"),
    Insulin("insulin", "10 insulin doses for meals, 30 % gaps at random"),
    Insulin("insulin mar", "the same, gaps that depend on glucose", mechanism="mar"),
)

KNOWN = {problem.name: problem for problem in (*GENERATED, *WORLDS)}
"""Problems whose truth is known."""
PROBLEMS: dict[str, Generated | Dosing | Insulin | Trial] = KNOWN | TRIALS


def runnable() -> list[str]:
    """All problems but STAR where the package that has it is missing."""
    without = set() if installed() else {trial.name for trial in STAR}
    return [name for name in PROBLEMS if name not in without]
