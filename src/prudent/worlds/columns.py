"""Readable names, units and categories for the attributes of a made-up clinic."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class WorldColumn:
    """How one attribute is shown: location + scale · value, rounded; or a label per level."""

    name: str
    location: float = 0.0
    scale: float = 1.0
    labels: tuple[str, ...] = ()

    def show(self, values: np.ndarray, observed: np.ndarray) -> list[float | str | None]:
        """The cells of one column, None in the gaps."""
        if self.labels:
            return [self.labels[int(v)] if o else None for v, o in zip(values, observed, strict=True)]
        decimals = 1 if self.scale >= 10 else 2 if self.scale >= 1 else 3
        shown = np.round(self.location + self.scale * np.where(observed, values, 0.0), decimals).tolist()
        return [v if o else None for v, o in zip(shown, observed.tolist(), strict=True)]


NUMERIC = (
    WorldColumn("weight", 78.0, 14.0),
    WorldColumn("age", 58.0, 11.0),
    WorldColumn("kidney_function", 80.0, 17.0),
    WorldColumn("blood_pressure", 132.0, 16.0),
    WorldColumn("heart_rate", 74.0, 11.0),
    WorldColumn("haemoglobin", 13.5, 1.4),
    WorldColumn("albumin", 41.0, 4.0),
    WorldColumn("potassium", 4.3, 0.45),
    WorldColumn("sodium", 140.0, 3.2),
    WorldColumn("glucose", 6.8, 1.3),
    WorldColumn("cholesterol", 5.1, 0.95),
    WorldColumn("creatinine", 88.0, 16.0),
    WorldColumn("platelets", 250.0, 48.0),
    WorldColumn("bilirubin", 12.0, 2.4),
    WorldColumn("height", 170.0, 9.0),
    WorldColumn("temperature", 36.9, 0.4),
    WorldColumn("breathing_rate", 16.0, 2.4),
    WorldColumn("calcium", 2.4, 0.1),
)
CATEGORICAL = (
    WorldColumn("genotype", labels=("slow", "usual", "rapid")),
    WorldColumn("clinic", labels=("north", "east", "south", "west")),
    WorldColumn("smoking", labels=("never", "former", "current")),
)


def world_columns(numeric: int, categorical: int) -> tuple[WorldColumn, ...]:
    """Numeric columns first, then categorical ones; past the named ones come lab_1, lab_2, …"""
    extra = tuple(WorldColumn(f"lab_{i + 1}", 100.0, 20.0) for i in range(numeric - len(NUMERIC)))
    return (NUMERIC + extra)[:numeric] + CATEGORICAL[:categorical]
