"""Which methods are run, with which settings, at which size: a row is added here and nowhere else."""

from dataclasses import dataclass, replace
from typing import Any, Literal

from experiments import entries
from experiments.mnist.choices import Constant, Learnt, Method, Uniform
from experiments.mnist.data import BOUNDED, NOISE_VARIANCE, UNIT, Size
from prudent import (
    CPVAE,
    CausalPVAE,
    Conservative,
    Imputation,
    ImputedLogistic,
    Known,
    MaximumExpectedReward,
    Sizes,
    TailAverse,
    Training,
)
from prudent.decide import Strategy

Group = Literal["ours", "paper", "trivial", "limit"]
GROUPS: tuple[Group, ...] = ("ours", "paper", "trivial", "limit")

BEST = "CausalPVAE, types"
"""Our best entry: it comes first in the tables, and its first replication makes the showcase."""
PAPER = "CPVAE as printed"
"""How the names of the paper's rows begin; its reading follows."""
DRAWN = f"{PAPER}, raw rewards"
"""The reading that pictures show."""

THRESHOLD = -7.0
"""A reward below it is a disaster."""
AIM, CAREFUL_AIM = -0.42, -0.9
"""What was aimed at before the experiment was run: a mean reward, and the mean of a strategy that has no disaster."""

# --- the paper's model, in several readings ---

PAPER_C = (0.7, 0.4, 0.1, 0.001)
"""Those of the paper's table, and the .4 of its appendix figure."""
PAPER_COMPLETIONS = 50
PAPER_SIZES = Sizes(latent=20, width=(500, 200), embedding=20, summary=400)
PAPER_EPOCHS = 20
NOISE_OF_REWARDS = NOISE_VARIANCE**0.5


def paper_readings(size: Size, sizes: Sizes = PAPER_SIZES, epochs: int = PAPER_EPOCHS) -> dict[str, CPVAE]:
    """What the paper leaves open, by the words of the rows; of the appendix are sizes, batches and epochs.

    The logged probabilities are the true ones, except where they are estimated as the paper does.
    """

    def reading(**options: Any) -> CPVAE:
        chosen: dict[str, Any] = {"propensity": Known(), "rewards": "raw", "reward_noise": NOISE_OF_REWARDS}
        return CPVAE.as_printed(size.learnt_from, epochs, sizes, **(chosen | options))

    estimated = ImputedLogistic(imputations=1, folds=2)
    return {
        "rewards in [0, 1]": reading(rewards="unit", reward_noise=None),
        "raw rewards": reading(),
        "raw rewards, priced on completions": reading(prices="completions"),
        "raw rewards, estimated propensities": reading(propensity=estimated),
        "standardised rewards": reading(rewards="standardised", reward_noise=None),
        "learnt noise": reading(noise=None, rewards="standardised", reward_noise=None),
    }


# --- ours ---

OURS_SIZES = Sizes()
OURS_TRAINING = Training(2e-3, batch=128, rounds=80, steps_per_round=50, patience=80)
OURS_COMPLETIONS = 192
SMOOTH_MODEL = CausalPVAE(members=3, samples=5, hide=0.3, sizes=OURS_SIZES, training=OURS_TRAINING)
TYPED_MODEL = replace(SMOOTH_MODEL, types=16)

OURS_STRATEGIES: tuple[Strategy, ...] = (
    MaximumExpectedReward(),
    Imputation(),
    *(TailAverse(risk=risk) for risk in (0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002)),
    *(Conservative(risk=risk) for risk in (0.3, 0.1, 0.01, 0.001)),
    *(Conservative(c=c) for c in PAPER_C),
)


PAPER_STRATEGIES: tuple[Strategy, ...] = (
    Imputation(),
    MaximumExpectedReward(),
    *(Conservative(c=c, paper_literal=True) for c in PAPER_C),
    *(Conservative(c=c, paper_literal=True, per_attribute=True) for c in PAPER_C),
)
"""c for the whole image, as printed, and pixel by pixel."""

PRINTED = {
    "Imputation": (-1.21, 0.01, 2.8, 0.83),
    "MaximumExpectedReward": (-1.18, 0.01, 2.7, 0.47),
    "Conservative(c=0.7)": (-1.51, 0.02, 1.3, 1.05),
    "Conservative(c=0.1)": (-2.10, 0.02, 0.2, 0.04),
    "Conservative(c=0.001)": (-2.58, 0.01, 0.0, 0.0),
}
"""What the paper prints (its first table) by strategy, for either reading of c: mean R ± and the count of R < −7 ±."""


def printed_for(strategy: str) -> tuple[float, float, float, float] | None:
    """
    >>> printed_for("PerAttribute(c=0.1)")
    (-2.1, 0.02, 0.2, 0.04)
    """
    return PRINTED.get(strategy.replace("PerAttribute", "Conservative"))


Entry = entries.Entry[Method]


@dataclass(frozen=True)
class Effort:
    """How much is run: the images, the replications, and the models at that size.

    paper, paper_epochs: sizes of the paper's networks, and passes over the images. paper_together: replications of its
        model in one program; its networks and batches are small.
    """

    name: str
    size: Size
    replications: int
    paper: Sizes = PAPER_SIZES
    paper_epochs: int = PAPER_EPOCHS
    smooth: CausalPVAE = SMOOTH_MODEL
    typed: CausalPVAE = TYPED_MODEL
    completions: int = OURS_COMPLETIONS
    paper_together: int = 50

    @property
    def entries(self) -> tuple[Entry, ...]:
        def ours(model: CausalPVAE, full_information: bool = False) -> Learnt:
            return Learnt(model, OURS_STRATEGIES, self.completions, BOUNDED, full_information)

        readings = paper_readings(self.size, self.paper, self.paper_epochs)

        return (
            Entry(BEST, ours(self.typed), "ours"),
            Entry("CausalPVAE", ours(self.smooth), "ours"),
            *(
                Entry(
                    f"{PAPER}, {words}",
                    Learnt(
                        model,
                        PAPER_STRATEGIES,
                        PAPER_COMPLETIONS,
                        UNIT,
                        together=self.paper_together,
                        support=False,
                    ),
                    "paper",
                )
                for words, model in readings.items()
            ),
            Entry("constant 4", Constant(4), "trivial"),
            Entry("constant 5", Constant(5), "trivial"),
            Entry("uniform", Uniform(), "trivial"),
            Entry(f"full information, {BEST}", ours(self.typed, full_information=True), "limit"),
            Entry("full information, CausalPVAE", ours(self.smooth, full_information=True), "limit"),
        )


def _smaller(name: str, size: Size, sizes: Sizes, training: Training, samples: int, completions: int) -> Effort:
    """The same methods with networks, training and draws cut down; two replications."""
    causal = {"members": 1, "samples": samples, "sizes": sizes, "training": training}
    smooth, typed = replace(SMOOTH_MODEL, **causal), replace(TYPED_MODEL, **causal)
    epochs = max(training.rounds * training.steps_per_round // size.learnt_from, 1)
    return Effort(name, size, 2, sizes, epochs, smooth, typed, completions, paper_together=2)


EFFORTS = {
    effort.name: effort
    for effort in (
        Effort("full", Size(), 100),
        _smaller(
            "small",
            Size(images=2000, side=14),
            Sizes(latent=12, width=96, embedding=16, summary=96),
            Training(2e-3, batch=64, rounds=24, steps_per_round=50, patience=24),
            samples=8,
            completions=64,
        ),
        _smaller(
            "toy",
            Size(images=120, side=7),
            Sizes(latent=3, width=8, embedding=3, summary=8),
            Training(5e-3, batch=16, rounds=2, steps_per_round=5, patience=2),
            samples=2,
            completions=16,
        ),
    )
}
