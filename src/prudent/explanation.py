"""One case told in plain words: every action's prices, and the plausible record that decides."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from prudent.log import ActionLabel

if TYPE_CHECKING:
    from prudent.advice import Case


@dataclass(frozen=True)
class ActionPrice:
    """One action: expected and worst plausible reward, and the chance that it is the best one."""

    action: ActionLabel
    expected_reward: float
    worst_reward: float
    chance_best: float


@dataclass(frozen=True)
class Explanation:
    """Why this action. `most_likely` and `worst_case` give values for the gaps only; `worst_case` is the plausible
    completion in which `about` (the recommended action, or the best candidate when the row is referred) does worst."""

    action: ActionLabel | None
    about: ActionLabel
    status: str
    flags: str
    action_entropy: float
    prices: tuple[ActionPrice, ...]
    observed: dict[str, Any]
    most_likely: dict[str, Any]
    worst_case: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def __str__(self) -> str:
        head = "No action is recommended" if self.action is None else f"Recommended: {self.action}"
        lines = [f"{head} ({self.status})"]
        if self.flags:
            lines.append(f"Note: {self.flags}")
        width = max(len("action"), *(len(str(price.action)) for price in self.prices))
        lines.append(f"  {'action':<{width}}  {'expected':>10}  {'worst plausible':>15}  {'chance best':>11}")
        for price in self.prices:
            mark = "→" if price.action == self.about else " "
            lines.append(
                f"{mark} {price.action!s:<{width}}  {price.expected_reward:>10.4g}  {price.worst_reward:>15.4g}"
                f"  {price.chance_best:>11.0%}"
            )
        if self.most_likely:
            lines.append(f"Most likely values of what is missing: {_listed(self.most_likely)}")
            lines.append(f"Worst plausible values for {self.about}: {_listed(self.worst_case)}")
        else:
            lines.append("Nothing is missing in this record.")
        lines.append(f"How unsure the best action is, given the gaps: {self.action_entropy:.2f} bits")
        return "\n".join(lines)


def _listed(values: dict[str, Any]) -> str:
    return ", ".join(
        f"{name} = {value:.4g}" if isinstance(value, float) else f"{name} = {value}" for name, value in values.items()
    )


def explain(case: Case) -> Explanation:
    advice, row = case.advice, case.row
    policy, encoded, judged = advice.policy, advice.encoded, advice.judged
    fitted = policy.fitted
    values, observed = encoded.values[row], encoded.observed[row]
    completions, table = policy.detail(values, observed)
    sign = -1.0 if fitted.minimize else 1.0
    labels = fitted.action_labels
    index = labels.index(case.action) if case.action in labels else int(np.argmax(judged.scores[row]))
    inside = np.asarray(policy.plausible.plausible(table))
    worst = int(np.argmin(np.where(inside, np.asarray(table.prices[:, index]), np.inf)))
    chances = np.asarray(table.best_frequency)
    prices = tuple(
        ActionPrice(label, sign * float(expected), sign * float(low), float(chance))
        for label, expected, low, chance in zip(labels, judged.expected[row], judged.worst[row], chances, strict=True)
    )
    decoded = fitted.schema.decode(
        np.stack([values, np.asarray(completions.values[0]), np.asarray(completions.values[worst])])
    )

    def told(which: int, cells: np.ndarray) -> dict[str, Any]:
        return {name: column[which] for (name, column), told in zip(decoded.items(), cells, strict=True) if told}

    return Explanation(
        case.action, labels[index], case.status, case.flags, case.action_entropy, prices,
        told(0, observed), told(1, ~observed), told(2, ~observed),
    )  # fmt: skip
