"""What the settings of all models share: the sizes of the networks, and the rules for arguments."""

from dataclasses import dataclass
from typing import Any

from prudent.errors import TRUTH, Rule, check, instance, is_whole, number, optional, whole
from prudent.networks import Training, Width
from prudent.propensity import Propensity
from prudent.table import Schema

WIDE_TABLE = 128
"""Tables with more attributes have broad networks: pixels, or the like."""


def _is_width(value: Any) -> bool:
    return is_whole(value, 1) or (isinstance(value, tuple) and len(value) == 2 and all(is_whole(w, 1) for w in value))


_SIZE_RULES: dict[str, Rule] = {
    "latent": optional(whole(1)),
    "width": optional(Rule("be a whole number of at least 1, or a pair of them", _is_width)),
    "embedding": optional(whole(1)),
    "summary": optional(whole(1)),
    "rectified": optional(TRUTH),
    "plain": TRUTH,
    "correlated": TRUTH,
    "noise": optional(number(0, ends="()")),
}


@dataclass(frozen=True)
class Sizes:
    """Widths and form of the networks. None chooses by the number of attributes; more than 128 make a wide table.

    latent: dimension of z. Default: the number of attributes, at least 4 and at most 12; 24 in a wide table.
    width: of hidden layers. Default: 48; 256 in a wide table. A pair gives the encoder's two layers, which the decoder
        has in reverse order.
    embedding: of the vector that stands for an attribute. Default: 8; 64 in a wide table.
    summary: of the encoder's sum over attributes. Default: 48; 128 in a wide table.
    rectified: whether the encoder applies a ReLU to every attribute's token before summing them, as the paper does.
        Default: yes; not in a wide table, where training is several times faster without it.
    plain: plain layers with ReLU. By default layers have SiLU, and the decoder's outputs a linear path from z.
    correlated: whether q(z | x̃) has correlations; without, its covariance is diagonal.
    noise: a fixed standard deviation for every number (standardised), whose mean is then the decoder's only output. By
        default the decoder says how noisy each number is in each record.
    """

    latent: int | None = None
    width: Width | None = None
    embedding: int | None = None
    summary: int | None = None
    rectified: bool | None = None
    plain: bool = False
    correlated: bool = True
    noise: float | None = None

    def __post_init__(self) -> None:
        if isinstance(self.width, list):  # JSON has no tuples
            object.__setattr__(self, "width", tuple(self.width))
        check("Sizes", _SIZE_RULES, vars(self))

    def of(self, schema: Schema) -> dict[str, Any]:
        """Every size for a table of this schema."""
        narrow = {"latent": min(max(len(schema), 4), 12), "width": 48, "embedding": 8, "summary": 48, "rectified": True}
        wide = {"latent": 24, "width": 256, "embedding": 64, "summary": 128, "rectified": False}
        defaults = wide if len(schema) > WIDE_TABLE else narrow
        chosen = {name: getattr(self, name) for name in defaults if getattr(self, name) is not None}
        return defaults | chosen | {name: getattr(self, name) for name in ("plain", "correlated", "noise")}


SHARED_RULES: dict[str, Rule] = {
    "members": whole(1),
    "samples": whole(1),
    "hide": number(0, 1, "[)"),
    "sizes": instance(Sizes, "a Sizes, e.g. Sizes(width=64)"),
    "training": instance(Training, "a Training, e.g. Training(rounds=40)"),
}
"""Arguments that all models have."""

PROPENSITY_RULE = instance(Propensity, "a propensity: ImputedLogistic(), Boosted() or Known()")
