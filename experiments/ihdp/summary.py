"""From pieces to results: plain numbers for each row of each page, as JSON."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from scipy.stats import t as student

from experiments.ihdp.data import EFFECT, NUMBERS, Outcomes, covariates, surface_b
from experiments.ihdp.pieces import Piece, Scores, pieces_of
from experiments.ihdp.settings import BEST, GROUPS, REFERENCE, Entry, Page
from experiments.results import Results, six_digits, standard_error, with_kept

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


def summarise(pages: Sequence[Page], seed: int, folder: Path) -> Results:
    """All pages. A row is left out where a piece of it is missing: means over other replications cannot be compared."""
    values, treated = covariates()
    outcomes = surface_b(values, max(page.replications for page in pages), seed)
    rows, attributes = values.shape
    data = {"rows": rows, "attributes": attributes, "numbers": NUMBERS, "treated": int(treated.sum())}
    described = {page.name: _page(page, outcomes, seed, folder) for page in pages}
    return {"seed": seed, "effect": EFFECT, "data": data, "reference": REFERENCE, "pages": described}


def kept(pages: Sequence[Page], now: Results, before: Results) -> Results:
    """The results with the rows that were stored before and not made anew."""
    entries = {page.name: sorted(page.entries, key=lambda entry: GROUPS.index(entry.group)) for page in pages}
    described = dict(now["pages"])
    for name, page in before["pages"].items():
        if name not in described:
            continue
        methods = [entry.name for entry in entries[name]]
        shares = described[name]["shares"].items()
        merged = {share: _merged(rows, page["shares"].get(share, {}), methods) for share, rows in shares}
        described[name] = described[name] | {"shares": merged}
    return now | {"pages": described}


def _merged(now: Results, before: Results, methods: Sequence[str]) -> Results:
    def listed(rows: Results) -> list[Results]:
        return [row | {"name": name, "model": row["method"]} for name, row in rows.items()]

    rows = with_kept(listed(now), listed(before), methods)
    return {row["name"]: {key: row[key] for key in row if key not in ("name", "model")} for row in rows}


def _page(page: Page, outcomes: Outcomes, seed: int, folder: Path) -> Results:
    expected = outcomes.expected[: page.replications]
    values = {"treat none": expected[..., 0], "treat all": expected[..., 1], "the better arm": expected.max(axis=-1)}
    return {
        "gaps": page.gaps,
        "replications": page.replications,
        "policy_values": {name: six_digits(value.mean()) for name, value in values.items()},
        "shares": {
            f"{share:g}": _rows(page, share, outcomes.realised_effect[: page.replications], seed, folder)
            for share in page.shares
        },
    }


def _rows(page: Page, share: float, realised_effect: np.ndarray, seed: int, folder: Path) -> Results:
    scored = []
    for entry in sorted(page.entries, key=lambda entry: GROUPS.index(entry.group)):
        scores = _joined(pieces_of(page, entry, share, seed), folder)
        if scores is not None:
            scored.append((entry, scores))
    errors = {
        entry.row(variant): np.abs(scores.effect[at] - EFFECT)
        for entry, scores in scored
        for at, variant in enumerate(scores.variants)
    }
    return {
        entry.row(variant): _row(entry, scores, at, realised_effect)
        | {
            "paired": _paired(errors[entry.row(variant)], errors.get(REFERENCE)),
            "best_against": _paired(errors[BEST], errors[entry.row(variant)]) if BEST in errors else None,
        }
        for entry, scores in scored
        for at, variant in enumerate(scores.variants)
    }


def _joined(pieces: Sequence[Piece], folder: Path) -> Scores | None:
    loaded = [piece.load(folder) for piece in pieces]
    whole = [scores for scores in loaded if scores is not None]
    return Scores.joined(whole) if len(whole) == len(pieces) else None


def _row(entry: Entry, scores: Scores, at: int, realised_effect: np.ndarray) -> Results:
    signed = scores.effect[at] - EFFECT
    error, delta = np.abs(signed), np.abs(scores.effect[at] - realised_effect)
    return {
        "method": entry.name,
        "group": entry.group,
        "n": len(error),
        "error": six_digits(error.mean()),
        "error_se": six_digits(standard_error(error)),
        "error_median": six_digits(np.median(error)),
        "error_quantiles": [six_digits(quantile) for quantile in np.quantile(error, QUANTILES)],
        "bias": six_digits(signed.mean()),
        "signed_quantiles": [six_digits(quantile) for quantile in np.quantile(signed, QUANTILES)],
        "delta": six_digits(delta.mean()),
        "delta_se": six_digits(standard_error(delta)),
        "pehe": six_digits(scores.pehe[at].mean()),
        "pehe_median": six_digits(np.median(scores.pehe[at])),
        "policy_value": six_digits(scores.policy_value[at].mean()),
        "seconds": six_digits(scores.seconds),
        "replications_per_second": six_digits(len(error) / max(scores.seconds, 1e-9)),
        "machine": scores.machine,
    }


def _paired(error: np.ndarray, reference: np.ndarray | None) -> Results | None:
    """The mean difference to the reference on the same replications (below 0: better), with its 95 % interval."""
    if reference is None:
        return None
    difference = error - reference
    reach = float(student.ppf(0.975, len(difference) - 1)) * standard_error(difference)
    mean = float(difference.mean())
    return {"difference": six_digits(mean), "low": six_digits(mean - reach), "high": six_digits(mean + reach)}
