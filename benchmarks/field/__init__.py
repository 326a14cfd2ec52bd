"""A field of decision problems on which every method is compared at its defaults, see `python -m benchmarks.field`."""

from benchmarks.field.problems import PROBLEMS as PROBLEMS
from benchmarks.field.scoring import Choose as Choose
from benchmarks.field.scoring import score as score
from benchmarks.field.tables import BENCHMARK as BENCHMARK
