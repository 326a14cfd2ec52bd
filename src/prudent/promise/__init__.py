"""promise."""

from prudent.promise.caution_frontier import Certificate as Certificate
from prudent.promise.caution_frontier import Frontier as Frontier
from prudent.promise.caution_frontier import frontier as frontier
from prudent.promise.conformal import Guarantee as Guarantee
from prudent.promise.conformal import guarantee as guarantee
from prudent.promise.known_truth import KnownTruth as KnownTruth
