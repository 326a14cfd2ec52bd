"""Shapes of rewards: how the mean reward of every action depends on the numbers behind a record's cells.

A surface takes numbers [row, column] and gives [row, action]. Its coefficients come from the world's generator, and its
scale is arbitrary: whoever uses it brings it to scale.
"""

from collections.abc import Callable

import numpy as np

Surface = Callable[[np.ndarray], np.ndarray]
Maker = Callable[[np.random.Generator, int, int], Surface]
"""Makes a surface from a world's generator, the number of columns and the number of actions."""

BENDS, WAVES, STEPS, PAIRS = 4, 6, 12, 8


def smooth(world: np.random.Generator, columns: int, actions: int) -> Surface:
    """A line and four bends for each action."""
    slopes = world.normal(size=(columns, actions)) / np.sqrt(columns)
    directions, bends = world.normal(size=(columns, BENDS)), world.normal(size=(BENDS, actions)) / 2
    return lambda numbers: numbers @ slopes + np.tanh(numbers @ directions / 2) @ bends


def curved(world: np.random.Generator, columns: int, actions: int) -> Surface:
    """Six waves along directions of three columns each: smooth, and hardly a line anywhere."""
    at = world.integers(columns, size=(WAVES, 3))
    phases, weights = world.uniform(0, 2 * np.pi, WAVES), world.normal(size=(WAVES, 3)) / np.sqrt(3)
    heights = world.normal(size=(WAVES, actions))
    return lambda numbers: np.sin(3 * (numbers[:, at] * weights).sum(axis=2) + phases) @ heights


def steps(world: np.random.Generator, columns: int, actions: int) -> Surface:
    """Twelve thresholds, each in one column; every action jumps there by a height of its own."""
    at, thresholds = world.integers(columns, size=STEPS), 0.7 * world.normal(size=STEPS)
    heights = world.normal(size=(STEPS, actions))
    return lambda numbers: (numbers[:, at] > thresholds) @ heights


def mixed(world: np.random.Generator, columns: int, actions: int) -> Surface:
    """Curves and steps, added."""
    curve, jumps = smooth(world, columns, actions), steps(world, columns, actions)
    return lambda numbers: curve(numbers) + 0.6 * jumps(numbers)


def interacting(world: np.random.Generator, columns: int, actions: int) -> Surface:
    """Pairs of columns that count together: one turns the other's sign, at thresholds and smoothly."""
    first, second = (world.integers(columns, size=PAIRS) for _ in range(2))
    thresholds = world.normal(size=(2, PAIRS)) / 2
    sharp, soft = world.normal(size=(2, PAIRS, actions))

    def surface(numbers: np.ndarray) -> np.ndarray:
        left, right = numbers[:, first], numbers[:, second]
        signs = np.sign(left - thresholds[0]) * np.sign(right - thresholds[1])
        return signs @ sharp + np.tanh(left) * np.tanh(right) @ soft

    return surface


def doses(world: np.random.Generator, columns: int, actions: int) -> Surface:
    """Actions are ordered doses, and each record needs one of its own: quadratic loss."""
    return _dosed(world, columns, actions, lambda over: -(over**2))


def cliff(world: np.random.Generator, columns: int, actions: int) -> Surface:
    """Ordered doses again: a dose too low costs as much as it is too low, one clearly too high costs a lot."""
    return _dosed(world, columns, actions, lambda over: -np.abs(over) - 3.0 * (over > 0.7))


def _dosed(
    world: np.random.Generator, columns: int, actions: int, reward: Callable[[np.ndarray], np.ndarray]
) -> Surface:
    slopes, directions = world.normal(size=columns), world.normal(size=columns)
    slopes, directions = slopes / np.linalg.norm(slopes), directions / np.linalg.norm(directions)
    given = np.linspace(-2, 2, actions)

    def surface(numbers: np.ndarray) -> np.ndarray:
        needed = numbers @ slopes + 0.5 * np.tanh(2 * numbers @ directions)
        return reward(given - needed[:, None])

    return surface


SURFACES: dict[str, Maker] = {
    "smooth": smooth,
    "curved": curved,
    "steps": steps,
    "mixed": mixed,
    "interacting": interacting,
    "doses": doses,
    "cliff": cliff,
}
