"""Which methods are run on which pages: a row is added here and nowhere else."""

from dataclasses import dataclass
from typing import Literal

from experiments.ihdp.data import Gaps
from experiments.ihdp.ours import GaussianProcess
from experiments.ihdp.printed import EqualWeights, paper_cpvae, paper_sizes, paper_spvae
from experiments.ihdp.replicated import Replicated
from experiments.rivals.effects import (
    CausalEffectVAE,
    DifferenceInMeans,
    MatrixFactorisation,
    MeanImputed,
    Method,
    MissDeepCausal,
    MissingInAttributes,
    MultipleImputation,
)
from prudent import CPVAE, SPVAE, CausalPVAE
from prudent.models import PRINTED_NOISE

Group = Literal["trivial", "rival", "paper", "ours", "limit"]
GROUPS: tuple[Group, ...] = ("trivial", "rival", "paper", "ours", "limit")

FRESH_CHUNK = 100
"""Replications per piece at most, where each has its own table: nothing is gained by more."""

SHARES = (0.1, 0.3, 0.5)
REFERENCE = "MI, AIPW"
"""The row to respect: every other is compared with it, replication by replication."""
BEST = "Gaussian process"
"""Our best row, which is compared with every other."""


@dataclass(frozen=True)
class Entry:
    """A method under a name; each of its variants is a row of the tables.

    chunk: replications per piece, the unit of resuming; what a method learns from a shared table is learnt once for
    each piece. complete: whether it is shown the complete table, as a limit of what is possible. fresh: whether it is
    also run where each replication has its own table, which is expensive for some.
    """

    name: str
    method: Method
    chunk: int
    group: Group = "rival"
    complete: bool = False
    fresh: bool = True

    def row(self, variant: str) -> str:
        return f"{self.name}, {variant}" if variant else self.name


@dataclass(frozen=True)
class Page:
    """Methods that are run on the same data: one kind of gaps at some missing shares."""

    name: str
    gaps: Gaps
    shares: tuple[float, ...]
    replications: int
    entries: tuple[Entry, ...]


SIMILARITY, CONDITIONAL = "SPVAE as printed", "CPVAE as printed"
"""How the names of the paper's rows begin; its reading follows."""
FIXED = PRINTED_NOISE
READINGS: dict[str, Method] = {
    "equal weights over all rows": EqualWeights(),
    "equal weights over all rows, centred outcomes": EqualWeights(centred=True),
    f"{SIMILARITY}, eq 12 over all rows": paper_spvae(),
    f"{SIMILARITY}, eq 12 over all rows, centred outcomes": paper_spvae(centred=True),
    f"{SIMILARITY}, eq 12 over all rows, fixed noise": paper_spvae(noise=FIXED),
    f"{SIMILARITY}, eq 12 over a fifth": paper_spvae(over_all=False),
    f"{CONDITIONAL}, all rows, standardised rewards": paper_cpvae(rewards="standardised", noise=None),
    f"{CONDITIONAL}, all rows, raw rewards": paper_cpvae(rewards="raw", reward_noise=1.0),
    f"{CONDITIONAL}, all rows, rewards in [0, 1]": paper_cpvae(),
    f"{CONDITIONAL}, a fifth, standardised rewards": paper_cpvae(0.2, rewards="standardised", noise=None),
}

ENTRIES = (
    Entry("difference in means", DifferenceInMeans(), 1000, "trivial"),
    Entry("mean imputation", MeanImputed(), 1000, "trivial"),
    Entry("MI", MultipleImputation(), 1000),
    Entry("MF", MatrixFactorisation(), 1000),
    Entry("MIA.grf", MissingInAttributes(), 50, fresh=False),
    Entry("CEVAE", CausalEffectVAE(), 1000, fresh=False),
    Entry("MDC", MissDeepCausal(), 1000),
    *(Entry(name, method, 1000, "paper", fresh=False) for name, method in READINGS.items()),
    Entry("SPVAE", Replicated(SPVAE(members=3), chunk=1000), 1000, "ours", fresh=False),
    Entry("CPVAE", Replicated(CPVAE()), 1000, "ours", fresh=False),
    Entry("CausalPVAE", Replicated(CausalPVAE(members=1)), 1000, "ours"),
    Entry("Gaussian process", GaussianProcess(), 1000, "ours"),
    Entry("complete data", MeanImputed(), 1000, "limit", complete=True),
    Entry("complete data, Gaussian process", GaussianProcess(), 1000, "limit", complete=True),
)

PRINTED = {
    "MI": (0.16, 0.30, 0.42),
    "MF": (0.15, 0.16, 0.20),
    "MIA.grf": (0.23, 0.17, 0.19),
    "CEVAE": (0.31, 0.38, 0.38),
    "MDC, process": (0.15, 0.15, 0.20),
    "MDC, mi": (0.13, 0.13, 0.18),
    SIMILARITY: (0.14, 0.10, 0.11),
    CONDITIONAL: (0.18, 0.17, 0.14),
}
"""What the paper prints (its second table, 100 replications) at `SHARES`, by how a row's name begins."""
PRINTED_ERRORS = {SIMILARITY: (0.01, 0.01, 0.01), CONDITIONAL: (0.01, 0.01, 0.02)}
"""Their standard errors."""


@dataclass(frozen=True)
class HyperParameters:
    """Sizes of one row of the paper's table of hyper-parameters, and the error of SPVAE it prints for 50 % missing."""

    latent: int
    batch: int
    summary: int
    printed: float

    @property
    def name(self) -> str:
        return f"SPVAE with {self.latent} latent, batches of {self.batch}, summary {self.summary}"


HYPER_SHARE, HYPER_REPLICATIONS = 0.5, 100
HYPER = (
    HyperParameters(8, 8, 20, 0.1135),
    HyperParameters(10, 8, 5, 0.1141),
    HyperParameters(10, 8, 10, 0.1144),
    HyperParameters(5, 8, 10, 0.1149),
    HyperParameters(5, 8, 5, 0.1149),
    HyperParameters(5, 4, 20, 0.1164),
    HyperParameters(10, 2, 10, 0.1165),
    HyperParameters(10, 8, 20, 0.1175),
    HyperParameters(5, 2, 20, 0.1175),
    HyperParameters(10, 2, 20, 0.1177),
    HyperParameters(8, 8, 5, 0.1191),
    HyperParameters(8, 4, 20, 0.1193),
    HyperParameters(8, 4, 10, 0.1200),
    HyperParameters(5, 4, 10, 0.1205),
    HyperParameters(5, 2, 5, 0.1207),
)
HYPER_ENTRIES = tuple(
    Entry(sizes.name, paper_spvae(paper_sizes(sizes.latent, sizes.summary), sizes.batch, centred=True), 100, "paper")
    for sizes in HYPER
)


def pages(replications: int, fresh_replications: int, shares: tuple[float, ...]) -> tuple[Page, ...]:
    """All that is run: the paper's second table, its table of hyper-parameters, and two other kinds of gaps."""
    hyper = tuple(share for share in shares if share == HYPER_SHARE)
    fresh = tuple(entry for entry in ENTRIES if entry.fresh)
    return (
        Page("shared", "shared", shares, replications, ENTRIES),
        Page("hyper", "shared", hyper, min(replications, HYPER_REPLICATIONS), HYPER_ENTRIES),
        Page("fresh", "fresh", shares, fresh_replications, fresh),
        Page("mar", "mar", shares, fresh_replications, fresh),
    )
