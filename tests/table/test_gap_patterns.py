"""Which cells are missing together."""

import numpy as np
import pytest

from prudent import InputProblem
from prudent.table import gap_patterns


def test_gap_patterns_count_what_is_missing_together():
    observed = np.array([[1, 1, 0], [1, 1, 0], [1, 1, 1], [0, 0, 0], [1, 1, 0]], dtype=bool)
    patterns = gap_patterns(observed, most=2)
    assert patterns.gap_share == pytest.approx(6 / 15)
    assert patterns.share_per_attribute == pytest.approx((0.2, 0.2, 0.8))
    assert (patterns.complete_rows, patterns.empty_rows, patterns.distinct_patterns) == (1, 1, 3)
    assert patterns.common == (((2,), 3), ((), 1))


def test_a_mask_that_is_not_a_table_is_refused():
    with pytest.raises(InputProblem, match="'observed' parameter of gap_patterns"):
        gap_patterns(np.ones(3, dtype=bool))
