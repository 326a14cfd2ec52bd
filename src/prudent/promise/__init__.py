"""What can be promised about a policy from held-out decisions: the frontier of caution with limits on bad outcomes, and
guaranteed lower bounds on rewards. Estimates, intervals and leak checks are those of `prudent.evaluation`."""

from prudent.promise.caution_frontier import Frontier as Frontier
from prudent.promise.caution_frontier import frontier as frontier
from prudent.promise.caution_settings import DEFAULT_SETTINGS as DEFAULT_SETTINGS
from prudent.promise.caution_settings import families as families
from prudent.promise.caution_settings import mildest as mildest
from prudent.promise.certificate import Certificate as Certificate
from prudent.promise.certificate import ObservedShare as ObservedShare
from prudent.promise.certificate import certified as certified
from prudent.promise.conformal_guarantee import Guarantee as Guarantee
from prudent.promise.conformal_guarantee import guarantee as guarantee
from prudent.promise.conformal_quantile import conformal_quantile as conformal_quantile
from prudent.promise.conformal_quantile import fewest_rows as fewest_rows
from prudent.promise.exchangeability import Difference as Difference
from prudent.promise.exchangeability import unlikeness as unlikeness
from prudent.promise.frontier_points import Point as Point
from prudent.promise.known_truth import KnownTruth as KnownTruth
from prudent.promise.matching_gaps import matching_gaps as matching_gaps
