"""Whether later cases, advice and outcomes are still like what a model has learnt from."""

from prudent.journal.drift.watching import Drift as Drift
from prudent.journal.drift.watching import WatchOptions as WatchOptions
from prudent.journal.drift.watching import watch as watch
