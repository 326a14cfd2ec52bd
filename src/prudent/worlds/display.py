"""How a made-up clinic shows its attributes: readable names, units and categories."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class DisplayColumn:
    """One attribute in a frame: location + scale · value, rounded; or a label per level."""

    name: str
    location: float = 0.0
    scale: float = 1.0
    labels: tuple[str, ...] = ()

    def cells(self, values: np.ndarray, observed: np.ndarray) -> list[float | str | None]:
        """The cells of one column, None in the gaps."""
        if self.labels:
            return [self.labels[int(v)] if o else None for v, o in zip(values, observed, strict=True)]
        decimals = 1 if self.scale >= 10 else 2 if self.scale >= 1 else 3
        rounded = np.round(self.location + self.scale * np.where(observed, values, 0.0), decimals).tolist()
        return [v if o else None for v, o in zip(rounded, observed.tolist(), strict=True)]


NUMERIC = (
    DisplayColumn("weight", 78.0, 14.0),
    DisplayColumn("age", 58.0, 11.0),
    DisplayColumn("kidney_function", 80.0, 17.0),
    DisplayColumn("blood_pressure", 132.0, 16.0),
    DisplayColumn("heart_rate", 74.0, 11.0),
    DisplayColumn("haemoglobin", 13.5, 1.4),
    DisplayColumn("albumin", 41.0, 4.0),
    DisplayColumn("potassium", 4.3, 0.45),
    DisplayColumn("sodium", 140.0, 3.2),
    DisplayColumn("glucose", 6.8, 1.3),
    DisplayColumn("cholesterol", 5.1, 0.95),
    DisplayColumn("creatinine", 88.0, 16.0),
    DisplayColumn("platelets", 250.0, 48.0),
    DisplayColumn("bilirubin", 12.0, 2.4),
    DisplayColumn("height", 170.0, 9.0),
    DisplayColumn("temperature", 36.9, 0.4),
    DisplayColumn("breathing_rate", 16.0, 2.4),
    DisplayColumn("calcium", 2.4, 0.1),
)
CATEGORICAL = (
    DisplayColumn("genotype", labels=("slow", "usual", "rapid")),
    DisplayColumn("clinic", labels=("north", "east", "south", "west")),
    DisplayColumn("smoking", labels=("never", "former", "current")),
)


def display_columns(numeric: int, categorical: int) -> tuple[DisplayColumn, ...]:
    """Numeric columns first, then categorical ones; after the named ones come lab_1, lab_2, …"""
    extra = tuple(DisplayColumn(f"lab_{i + 1}", 100.0, 20.0) for i in range(numeric - len(NUMERIC)))
    return (NUMERIC + extra)[:numeric] + CATEGORICAL[:categorical]
