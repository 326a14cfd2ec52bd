"""The paper's two models in several readings of what it leaves open, and equal weights beside them."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from experiments.ihdp.ours import Encoded
from experiments.ihdp.replicated import Replicated
from experiments.rivals.effects import Answer, Progress, Study
from prudent import CPVAE, SPVAE, Sizes
from prudent.propensity import ImputedLogistic

ROWS, FIFTH, EPOCHS, COMPLETIONS = 747, 0.2, 25, 5
"""Of the table; the share that a network is trained on; passes over that; and imputations of a record."""


def paper_sizes(latent: int = 10, summary: int = 5) -> Sizes:
    return Sizes(latent=latent, width=20, embedding=10, summary=summary)


def paper_spvae(
    sizes: Sizes = paper_sizes(),
    batch: int = 8,
    *,
    noise: float | None = None,
    over_all: bool = True,
    centred: bool = False,
) -> Replicated:
    """Networks, training and number of imputations of the paper's appendix, prices by its equation 12.

    over_all: the sum of equation 12 is over all rows, or over the fifth that the network learns from. centred: of the
    outcomes less their mean, which is then added.
    """
    model = SPVAE.as_printed(round(FIFTH * ROWS), EPOCHS, sizes, noise=noise, batch=batch)
    model = replace(model, form="centred") if centred else model
    return Replicated(model, COMPLETIONS, FIFTH, compared_with_all=over_all)


def paper_cpvae(learnt_from: float = 1.0, **options: Any) -> Replicated:
    """The same networks with the treatment and the outcome in them. options: of `CPVAE.as_printed`."""
    model = CPVAE.as_printed(round(learnt_from * ROWS), EPOCHS, paper_sizes(), **options)
    return Replicated(model, COMPLETIONS, learnt_from)


@dataclass(frozen=True)
class EqualWeights:
    """Equation 12 when all rows are equally similar: the Horvitz-Thompson estimate, the same for every record.

    centred: of the outcomes less their mean, which is then added.
    """

    propensity: ImputedLogistic = ImputedLogistic()
    centred: bool = False

    def estimate(self, study: Study, seed: int = 0, progress: Progress | bool | None = None) -> dict[str, Answer]:
        taken = np.stack([self.propensity.fit(table, seed=seed).taken for table in Encoded.of(study).tables()])
        mean = study.outcomes.mean(axis=1, keepdims=True) * self.centred
        weighted = (study.outcomes - mean) / taken
        arms = [np.where(study.treated == arm, weighted, 0.0).mean(axis=1) for arm in (False, True)]
        prices = (np.stack(arms, axis=1) + mean)[:, None, :]
        return {"": Answer.of_prices(np.broadcast_to(prices, (len(prices), study.rows, len(arms))))}
