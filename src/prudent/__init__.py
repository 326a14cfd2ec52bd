"""Learn which action to take from logged decisions whose records have gaps, and be careful about it."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from prudent import worlds as worlds
    from prudent.advice import Advice as Advice
    from prudent.completions import Completions as Completions
    from prudent.completions import PriceTable as PriceTable
    from prudent.errors import InputProblem as InputProblem
    from prudent.evaluation.cross_fitting import cross_fit as cross_fit
    from prudent.evaluation.effects import effects as effects
    from prudent.evaluation.evaluating import evaluate as evaluate
    from prudent.evaluation.evaluation import Evaluation as Evaluation
    from prudent.evaluation.gaussian_prices import GaussianPrices as GaussianPrices
    from prudent.explanation import Explanation as Explanation
    from prudent.explanation import explanations_html as explanations_html
    from prudent.frontier import Frontier as Frontier
    from prudent.guarantee import Guarantee as Guarantee
    from prudent.held_out import KnownTruth as KnownTruth
    from prudent.log import Log as Log
    from prudent.log import read_log as read_log
    from prudent.log import read_table as read_table
    from prudent.measuring import Measuring as Measuring
    from prudent.measuring import value_of_measuring as value_of_measuring
    from prudent.models.causal import CausalPVAE as CausalPVAE
    from prudent.models.conditional import CPVAE as CPVAE
    from prudent.models.fitted import Fitted as Fitted
    from prudent.models.fitting import Sizes as Sizes
    from prudent.models.learning import fit_many as fit_many
    from prudent.models.model import Model as Model
    from prudent.models.similarity import SPVAE as SPVAE
    from prudent.networks.training import Training as Training
    from prudent.pictures import Picture as Picture
    from prudent.plausible import c_of_risk as c_of_risk
    from prudent.plausible import plausible_mass as plausible_mass
    from prudent.plausible import risk_of_c as risk_of_c
    from prudent.policy import Policy as Policy
    from prudent.propensity import BestGuess as BestGuess
    from prudent.propensity import Boosted as Boosted
    from prudent.propensity import ImputedLogistic as ImputedLogistic
    from prudent.propensity import Known as Known
    from prudent.propensity import Stacked as Stacked
    from prudent.schema import Schema as Schema
    from prudent.search import Search as Search
    from prudent.storage import load as load
    from prudent.strategies import BestFrequencyLottery as BestFrequencyLottery
    from prudent.strategies import Conservative as Conservative
    from prudent.strategies import Imputation as Imputation
    from prudent.strategies import MaximumExpectedReward as MaximumExpectedReward
    from prudent.strategies import MostOftenBest as MostOftenBest
    from prudent.strategies import Strategy as Strategy
    from prudent.strategies import TailAverse as TailAverse

__version__ = "0.1.0"

# Names are looked up when they are first used: `prudent --help` must not wait for JAX.
_HOME = {
    "Advice": "advice",
    "BestFrequencyLottery": "strategies",
    "BestGuess": "propensity",
    "Boosted": "propensity",
    "Stacked": "propensity",
    "CPVAE": "models.conditional",
    "CausalPVAE": "models.causal",
    "Completions": "completions",
    "Conservative": "strategies",
    "Evaluation": "evaluation.evaluation",
    "GaussianPrices": "evaluation.gaussian_prices",
    "cross_fit": "evaluation.cross_fitting",
    "effects": "evaluation.effects",
    "evaluate": "evaluation.evaluating",
    "fit_many": "models.learning",
    "Explanation": "explanation",
    "Fitted": "models.fitted",
    "Imputation": "strategies",
    "ImputedLogistic": "propensity",
    "InputProblem": "errors",
    "Known": "propensity",
    "Log": "log",
    "MaximumExpectedReward": "strategies",
    "Model": "models.model",
    "MostOftenBest": "strategies",
    "Policy": "policy",
    "PriceTable": "completions",
    "SPVAE": "models.similarity",
    "Schema": "schema",
    "Sizes": "models.fitting",
    "Strategy": "strategies",
    "TailAverse": "strategies",
    "Training": "networks.training",
    "Frontier": "frontier",
    "Guarantee": "guarantee",
    "KnownTruth": "held_out",
    "Measuring": "measuring",
    "value_of_measuring": "measuring",
    "Picture": "pictures",
    "c_of_risk": "plausible",
    "plausible_mass": "plausible",
    "risk_of_c": "plausible",
    "Search": "search",
    "explanations_html": "explanation",
    "load": "storage",
    "read_log": "log",
    "read_table": "log",
}

__all__ = [*_HOME, "worlds"]


def __getattr__(name: str) -> Any:
    if name == "worlds":
        return importlib.import_module("prudent.worlds")
    if name not in _HOME:
        raise AttributeError(f"module 'prudent' has no attribute {name!r}")
    found = globals()[name] = getattr(importlib.import_module(f"prudent.{_HOME[name]}"), name)
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
