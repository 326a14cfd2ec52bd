"""The sentences of a sensitivity analysis: what it would take to change which policy is preferred."""

from prudent.show.json_types import Facts


def confounding_sentence(facts: Facts) -> str:
    """How strong an unrecorded reason would have to be, from the facts of `Confounding.to_dict()`."""
    return " ".join([_tipping(facts), *_recorded_strength(facts["observed_strength"])])


def _tipping(facts: Facts) -> str:
    least, largest, preferred = facts["least"], f"{facts['largest_gamma']:g}", facts["preferred"]
    if least["least_gamma"] == 1:
        return f"'{preferred}' is not seen to be better than '{least['other']}', even if every reason was recorded."
    if least["with_error"] is None:
        return (
            "No unrecorded reason that changes the odds of the logged action by a factor of up to "
            f"{largest} would make '{preferred}' no better than '{least['other']}', even with sampling error."
        )
    factor = largest if least["least_gamma"] is None else f"{least['least_gamma']:.3g}"
    error = (
        "with sampling error none is needed, since the gain is not significant."
        if least["with_error"] == 1
        else f"with sampling error, {least['with_error']:.3g}."
    )
    return (
        f"An unrecorded reason would have to change the odds of the logged action by a factor of at least {factor} "
        f"before '{preferred}' could be no better than '{least['other']}'; {error}"
    )


def _recorded_strength(strength: dict[str, float]) -> list[str]:
    if not strength:
        return []
    name, factor = next(iter(strength.items()))
    return [f"Of the recorded attributes the strongest, '{name}', changes them by a factor of up to {factor:.3g}."]


def missingness_sentence(facts: Facts) -> str:
    """What a shift of the missing cells would change, from the facts of `ShiftedMissingness.to_dict()`."""
    by_estimator = {change["estimator"]: change for change in facts["changes"]}
    deltas = [one["delta"] for one in facts["advice_changed"]]
    largest = max(facts["advice_changed"], key=lambda one: one["share"])
    return " ".join(
        [
            _change(facts["preferred"], by_estimator["direct"], "By the prices of the model", deltas),
            _change(
                facts["preferred"],
                by_estimator["self-normalised dr, gaps known"],
                "If those who decided knew what was not recorded",
                deltas,
            ),
            f"Given a shift of {largest['delta']:g}, the model itself would advise otherwise in "
            f"{largest['share']:.0%} of the rows.",
        ]
    )


def _change(preferred: str, change: Facts, when: str, deltas: list[float]) -> str:
    if change["down"] == 0 or change["up"] == 0:
        rival = change["down_to"] if change["down"] == 0 else change["up_to"]
        return f"{when}, '{rival}' is better than '{preferred}' without any shift."
    crossings = [
        f"'{rival}' would be better than '{preferred}' if the missing cells were {abs(delta):.2g} standard deviations "
        f"{'lower' if delta < 0 else 'higher'} than the records say"
        for delta, rival in ((change["down"], change["down_to"]), (change["up"], change["up_to"]))
        if delta is not None
    ]
    if crossings:
        return f"{when}, {', and '.join(crossings)}."
    return (
        f"{when}, '{preferred}' stays the best if the missing cells are {min(deltas):g} to {max(deltas):g} standard "
        "deviations from what the records say."
    )
