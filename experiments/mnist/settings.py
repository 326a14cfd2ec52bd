"""Which methods are run, with which settings, at which size: a row is added here and nowhere else."""

from dataclasses import dataclass, replace
from typing import Literal

from experiments import entries
from experiments.mnist.choices import Constant, Learnt, Method, PerAttribute, Uniform
from experiments.mnist.data import BOUNDED, Size
from prudent import (
    CPVAE,
    CausalPVAE,
    Conservative,
    Imputation,
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
PAPER = "CPVAE (paper's settings)"

THRESHOLD = -7.0
"""A reward below it is a disaster."""
AIM, CAREFUL_AIM = -0.42, -0.9
"""What was aimed at before the experiment was run: a mean reward, and the mean of a strategy that has no disaster."""

# --- the paper's settings, of its appendix ---

PAPER_C = (0.7, 0.1, 0.001)
PAPER_COMPLETIONS = 50
PAPER_PIXEL = BOUNDED
"""The paper does not say what its pixels are; Gaussian ones did no better on development images."""
PAPER_SIZES = Sizes(latent=20, width=(500, 200), embedding=20, summary=400, rectified=True)
PAPER_TRAINING = Training(
    # 20 epochs of 4000 rows; plain Adam
    1e-3,
    batch=8,
    rounds=20,
    steps_per_round=500,
    patience=20,
    clip=1e3,
    weight_decay=0.0,
)
PAPER_MODEL = CPVAE(members=1, samples=1, hide=0.0, propensity=Known(), sizes=PAPER_SIZES, training=PAPER_TRAINING)
"""With the true probabilities of the logged actions, which the paper estimates."""

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


def paper_strategies(size: Size) -> tuple[Strategy, ...]:
    """As printed, and with c read attribute by attribute."""
    return (
        Imputation(),
        MaximumExpectedReward(),
        *(Conservative(c=c, paper_literal=True) for c in PAPER_C),
        *(PerAttribute(c, size.attributes) for c in PAPER_C),
    )


PRINTED = {
    "Imputation": (-1.21, 0.01, 2.8, 0.83),
    "MaximumExpectedReward": (-1.18, 0.01, 2.7, 0.47),
    "Conservative(c=0.7)": (-1.51, 0.02, 1.3, 1.05),
    "Conservative(c=0.1)": (-2.10, 0.02, 0.2, 0.04),
    "Conservative(c=0.001)": (-2.58, 0.01, 0.0, 0.0),
}
"""What the paper prints (its first table) for `PAPER`: mean R ± and the count of R < −7 ±."""


Entry = entries.Entry[Method]


@dataclass(frozen=True)
class Effort:
    """How much is run: the images, the replications, and the models at that size.

    paper_together: replications of the paper's model in one program; its networks and batches are small.
    """

    name: str
    size: Size
    replications: int
    paper: CPVAE = PAPER_MODEL
    smooth: CausalPVAE = SMOOTH_MODEL
    typed: CausalPVAE = TYPED_MODEL
    completions: int = OURS_COMPLETIONS
    paper_together: int = 10

    @property
    def entries(self) -> tuple[Entry, ...]:
        def ours(model: CausalPVAE, full_information: bool = False) -> Learnt:
            return Learnt(model, OURS_STRATEGIES, self.completions, BOUNDED, full_information)

        paper = Learnt(
            self.paper, paper_strategies(self.size), PAPER_COMPLETIONS, PAPER_PIXEL, together=self.paper_together
        )

        return (
            Entry(BEST, ours(self.typed), "ours"),
            Entry("CausalPVAE", ours(self.smooth), "ours"),
            Entry(PAPER, paper, "paper"),
            Entry("constant 4", Constant(4), "trivial"),
            Entry("constant 5", Constant(5), "trivial"),
            Entry("uniform", Uniform(), "trivial"),
            Entry(f"full information, {BEST}", ours(self.typed, full_information=True), "limit"),
            Entry("full information, CausalPVAE", ours(self.smooth, full_information=True), "limit"),
        )


def _smaller(name: str, size: Size, sizes: Sizes, training: Training, samples: int, completions: int) -> Effort:
    """The same methods with networks, training and draws cut down; two replications."""
    causal = {"members": 1, "samples": samples, "sizes": sizes, "training": training}
    paper = replace(PAPER_MODEL, sizes=sizes, training=training)
    smooth, typed = replace(SMOOTH_MODEL, **causal), replace(TYPED_MODEL, **causal)
    return Effort(name, size, 2, paper, smooth, typed, completions, paper_together=2)


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
