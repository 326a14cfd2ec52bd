"""The status of a piece of advice: whether it can be followed as it is, and if not, what to do."""

import enum


class Status(enum.Enum):
    """Compared by identity; `str(status)` is its sentence, which tables, pages and files show."""

    OK = "ok"
    FEW_COMPLETIONS = "few completions carry the weight: the gaps are hard to fill; ask for more completions"
    ONLY_MOST_LIKELY = (
        "only the most likely completion is plausible, so nothing else was weighed; "
        "lower c, use risk instead, or ask for more completions"
    )
    NOTHING_OBSERVED = "nothing was observed: this is the advice for an average case"
    NO_GUARANTEE = "no guarantee: too few comparable held-out decisions; the advice itself stands"
    NEXT_BEST = "next best: the action with the highest score was too rarely given to cases like this one"
    FALLBACK = "fallback: no action's worst plausible mean reaches the floor"
    BELOW_FLOOR = "refer: no action's worst plausible mean reaches the floor; measure what is missing or ask someone"
    NOT_SUPPORTED = (
        "refer: no action that is allowed was given often enough to cases like this one; ask someone who may decide"
    )
    NOT_ALLOWED = "refer: no action is allowed for this row; ask someone who may decide"

    def __str__(self) -> str:
        return self.value

    @property
    def refers(self) -> bool:
        """Whether a person has to decide."""
        return self in (Status.BELOW_FLOOR, Status.NOT_SUPPORTED, Status.NOT_ALLOWED)
