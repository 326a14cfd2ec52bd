"""Prices as an average: the network on completions, trees and linear regression on the record with its gaps, and a
Gaussian process on the mean of the completions."""

from prudent.models.averaging.average import PriceAverage as PriceAverage
from prudent.models.averaging.fitting import FEWEST_AVERAGED as FEWEST_AVERAGED
from prudent.models.averaging.fitting import Beside as Beside
from prudent.models.averaging.fitting import fit_average as fit_average
from prudent.models.averaging.fitting import fit_beside as fit_beside
from prudent.models.averaging.fitting import neighbours_alike as neighbours_alike
