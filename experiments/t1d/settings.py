"""Which methods are run, with which settings, at which size: a row is added here and nowhere else."""

from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal

from experiments import entries
from experiments.rivals.actions import (
    GANITE,
    ActionAsFeature,
    Boosting,
    ChainedImputation,
    Forest,
    Linear,
    MeanImputation,
    PartialVAEImputation,
    PerAction,
)
from experiments.t1d.choices import AsLogged, BolusCalculator, Constant, Learnt, Method, Oracle, Rivals, Uniform
from experiments.t1d.data import Size
from experiments.t1d.full_information import FullInformation
from prudent import (
    CPVAE,
    SPVAE,
    CausalPVAE,
    Conservative,
    Imputation,
    MaximumExpectedReward,
    Sizes,
    TailAverse,
    Training,
)
from prudent.decide import Strategy

Group = Literal["ours", "rival", "paper", "trivial", "limit"]
GROUPS: tuple[Group, ...] = ("ours", "rival", "paper", "trivial", "limit")

BEST = "CausalPVAE"
"""Our best entry: its rows are held against the rivals, and its first replication makes the showcase."""
CONSTANT = "constant dose"

THRESHOLD = -2.0
"""A reward below it is a disaster: mean glucose under 60 or over 280 mg/dl for two hours."""

# --- the paper's models, in several readings ---

PAPER_SIZES = Sizes(latent=5, width=10, embedding=5, summary=8)
PAPER_EPOCHS = 25
"""As for its study of infants, since it does not say."""
PAPER_COMPLETIONS = 50
"""As for its digits, since it does not say."""
NARROW_NOISE = 0.3
"""Of standardised rewards: the paper says of no noise how large it is."""
PAPER_STRATEGIES: tuple[Strategy, ...] = (
    Imputation(),
    MaximumExpectedReward(),
    Conservative(c=0.4, paper_literal=True),
    Conservative(c=0.4, paper_literal=True, per_attribute=True),
)


def paper_readings(size: Size, sizes: Sizes = PAPER_SIZES, epochs: int = PAPER_EPOCHS) -> dict[str, SPVAE | CPVAE]:
    """What the paper leaves open, by the words of the rows; of the appendix are sizes and batches."""
    similarity = partial(SPVAE.as_printed, size.learnt_from, epochs, sizes)
    conditional = partial(CPVAE.as_printed, size.learnt_from, epochs, sizes)
    standardised = {"noise": None, "rewards": "standardised"}
    return {
        "SPVAE as printed, fixed noise": similarity(),
        "SPVAE as printed, learnt noise": similarity(noise=None),
        "CPVAE as printed, rewards in [0, 1]": conditional(),
        "CPVAE as printed, noise of rewards 0.3": conditional(**standardised, reward_noise=NARROW_NOISE),
        "CPVAE as printed, noise of rewards 0.3, priced on completions": conditional(
            **standardised, reward_noise=NARROW_NOISE, prices="completions"
        ),
        "CPVAE as printed, learnt noise": conditional(**standardised),
    }


PRINTED = {
    "LR1": (-0.64, 0.02, 0.112, 0.01),
    "LR2": (-0.62, 0.04, 0.101, 0.01),
    "RF1": (-0.62, 0.02, 0.110, 0.02),
    "RF2": (-0.61, 0.01, 0.108, 0.01),
    "GANITE": (-0.58, 0.09, 0.094, 0.01),
    "SPVAE, Imputation": (-0.58, 0.03, 0.087, 0.01),
    "SPVAE, MaximumExpectedReward": (-0.56, 0.03, 0.088, 0.01),
    "SPVAE, Conservative(c=0.4)": (-0.60, 0.02, 0.081, 0.01),
    "CPVAE, Imputation": (-0.58, 0.03, 0.095, 0.02),
    "CPVAE, MaximumExpectedReward": (-0.55, 0.02, 0.093, 0.01),
    "CPVAE, Conservative(c=0.4)": (-0.59, 0.02, 0.080, 0.01),
}
"""What the paper prints (its third table, OhioT1DM): mean R ± and the share of R < −2 ±, by model, or by model and
strategy for any reading of its own."""

# --- ours ---

LONG_TRAINING = Training(batch=256, rounds=400, patience=100)
"""Of ours and of the partial VAE that completes records for rivals: with the package's default training the held-out
bound of development meals still rises at the end, and both gain much by going on."""
OURS_MODEL = CausalPVAE(members=4, ordered=True, varying_noise=True, prices="network", training=LONG_TRAINING)
OURS_COMPLETIONS = 256
OURS_STRATEGIES: tuple[Strategy, ...] = (
    MaximumExpectedReward(),
    Imputation(),
    *(TailAverse(risk=risk) for risk in (0.8, 0.5, 0.3, 0.2, 0.1, 0.05, 0.02, 0.01)),
    *(Conservative(risk=risk) for risk in (0.3, 0.1, 0.05, 0.01)),
    Conservative(c=0.4),
)
CAREFUL_STRATEGIES: tuple[Strategy, ...] = (
    MaximumExpectedReward(),
    *(TailAverse(risk=risk) for risk in (0.8, 0.5, 0.3, 0.2, 0.1, 0.05)),
    Conservative(risk=0.1),
)
"""For lower bounds on outcomes, which are careful by themselves."""
SIMILARITY_STRATEGIES: tuple[Strategy, ...] = (MaximumExpectedReward(), TailAverse(risk=0.2))

LOWER_BOUNDS = {"noise=0.5": (0.0, 0.5), "doubt=1": (1.0, 0.0), "doubt=1, noise=0.5": (1.0, 0.5)}
"""How much doubt and noise is taken off every price before a strategy chooses, see `Policy`."""


Entry = entries.Entry[Method]


@dataclass(frozen=True)
class RivalSettings:
    """What of the rivals costs time: how the partial VAE completes, GANITE's networks, and rounds of boosting."""

    completing: PartialVAEImputation = PartialVAEImputation(training=LONG_TRAINING)
    ganite: GANITE = GANITE()
    per_action: tuple[int, ...] = (25, 50, 100, 200)
    as_feature: tuple[int, ...] = (50, 100, 200, 400, 800)

    @property
    def entries(self) -> tuple[Entry, ...]:
        ways = {"mean imputation": MeanImputation(), "PartialVAE imputation": self.completing}
        completed = {
            "LR1": lambda way: Linear(ActionAsFeature(), way),
            "LR2": lambda way: Linear(PerAction(), way),
            "RF1": lambda way: Forest(ActionAsFeature(), way),
            "RF2": lambda way: Forest(PerAction(), way),
            "GANITE": lambda way: replace(self.ganite, imputation=way),
        }
        both = {name: tuple((word, of(way)) for word, way in ways.items()) for name, of in completed.items()}
        alone = {
            "gradient boosting per action": Boosting(PerAction(), stages=self.per_action),
            "gradient boosting, action as feature": Boosting(ActionAsFeature(), stages=self.as_feature),
            "MICE + forests per action": Forest(PerAction(), ChainedImputation()),
            "MICE + forest, action as feature": Forest(ActionAsFeature(), ChainedImputation()),
        }
        every = both | {name: (("", rival),) for name, rival in alone.items()}
        return (
            Entry("bolus calculator", BolusCalculator(), "rival"),
            *(Entry(name, Rivals(variants), "rival") for name, variants in every.items()),
        )


@dataclass(frozen=True)
class Effort:
    """How much is run: the meals, the replications, and the models at that size.

    paper, paper_epochs: sizes of the paper's networks, and passes over the meals. paper_together: replications of its
        models in one program.
    """

    name: str
    size: Size
    replications: int
    causal: CausalPVAE = OURS_MODEL
    usual: CausalPVAE = CausalPVAE()
    similarity: SPVAE = SPVAE()
    paper: Sizes = PAPER_SIZES
    paper_epochs: int = PAPER_EPOCHS
    paper_together: int = 20
    completions: int = OURS_COMPLETIONS
    informed: FullInformation = FullInformation(THRESHOLD)
    rivals: RivalSettings = field(default_factory=RivalSettings)

    @property
    def entries(self) -> tuple[Entry, ...]:
        expected = (MaximumExpectedReward(),)
        readings = paper_readings(self.size, self.paper, self.paper_epochs)
        return (
            Entry(BEST, Learnt(self.causal, OURS_STRATEGIES, self.completions), "ours"),
            *self._lowered,
            Entry("CausalPVAE, defaults", Learnt(self.usual, OURS_STRATEGIES, self.completions), "ours"),
            Entry("SPVAE", Learnt(self.similarity, SIMILARITY_STRATEGIES, self.completions), "ours"),
            *self.rivals.entries,
            *(
                Entry(name, Learnt(model, PAPER_STRATEGIES, PAPER_COMPLETIONS, together=self.paper_together), "paper")
                for name, model in readings.items()
            ),
            Entry(CONSTANT, Constant(), "trivial"),
            Entry("uniform", Uniform(), "trivial"),
            Entry("clinic's log", AsLogged(), "trivial"),
            Entry("oracle", Oracle(), "limit"),
            Entry("full information, gradient boosting", self.informed, "limit"),
            Entry(
                "complete records, CausalPVAE", Learnt(self.causal, expected, self.completions, complete=True), "limit"
            ),
        )

    @property
    def _lowered(self) -> tuple[Entry, ...]:
        methods = {
            words: Learnt(self.causal, CAREFUL_STRATEGIES, self.completions, doubt=doubt, noise=noise)
            for words, (doubt, noise) in LOWER_BOUNDS.items()
        }
        return tuple(Entry(f"{BEST}, {words}", method, "ours") for words, method in methods.items())


def _smaller(
    name: str, size: Size, sizes: Sizes, training: Training, samples: int, completions: int, rivals: RivalSettings
) -> Effort:
    """The same methods with networks, training and draws cut down; two replications."""
    completing = PartialVAEImputation(2, samples, 4 * samples, sizes, training)
    usual = rivals.ganite
    contest = replace(usual.counterfactual, rounds=training.rounds, steps_per_round=training.steps_per_round)
    ganite = replace(usual, alphas=usual.alphas[-1:], counterfactual=contest, inference=contest)
    ours = {"members": 1, "samples": samples, "sizes": sizes, "training": training}
    epochs = max(training.rounds * training.steps_per_round // size.learnt_from, 1)
    return Effort(
        name,
        size,
        2,
        replace(OURS_MODEL, **ours),
        replace(CausalPVAE(), **ours),
        replace(SPVAE(), **ours),
        sizes,
        epochs,
        2,
        completions,
        FullInformation(THRESHOLD, 4 * size.learnt_from, stages=20),
        replace(rivals, completing=completing, ganite=ganite),
    )


EFFORTS = {
    effort.name: effort
    for effort in (
        Effort("full", Size(), 20),
        _smaller(
            "small",
            Size(1000, 400),
            Sizes(latent=6, width=24, embedding=6, summary=24),
            Training(5e-3, batch=64, rounds=12, steps_per_round=50, patience=12),
            samples=8,
            completions=64,
            rivals=RivalSettings(),
        ),
        _smaller(
            "toy",
            Size(60, 40),
            Sizes(latent=3, width=8, embedding=3, summary=8),
            Training(5e-3, batch=16, rounds=2, steps_per_round=5, patience=2),
            samples=2,
            completions=16,
            rivals=RivalSettings(per_action=(5,), as_feature=(10,)),
        ),
    )
}
