"""The type checker that the import hook puts around functions: beartype, with NumPy's blur of scalars and arrays."""

import numpy as np
from beartype import BeartypeConf, FrozenDict, beartype

_BLURRED = FrozenDict({np.ndarray: np.ndarray | np.generic, bool: bool | np.bool_})

check = beartype(conf=BeartypeConf(is_pep484_tower=True, hint_overrides=_BLURRED))
