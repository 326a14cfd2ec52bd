"""`prudent compare`: prudent and the usual ways, learnt from the same rows and judged by the same later decisions."""

from dataclasses import dataclass
from pathlib import Path

from prudent.command_line.files import FilesOfACommand, require_json_destination, write_json
from prudent.command_line.fitting import ModelOptions, findings
from prudent.command_line.log_options import LogOptions
from prudent.command_line.screen import announce, screen, sentence, show
from prudent.errors import InputProblem
from prudent.evaluation import Evaluation, LearntPrices, evaluate
from prudent.models import estimate_costs, require_fittable, reward_scale
from prudent.rivals import USUAL, usual_policies
from prudent.show import Facts, Section, counted, evaluation_sections, plain_types, rivals_sentence, source_sentence
from prudent.table import Log

OURS = "prudent"


@dataclass(frozen=True)
class ComparisonOptions:
    """share: of the rows to learn from, the others judge. confidence: of the intervals."""

    share: float
    confidence: float
    seed: int


def compare_with_rivals(
    options: LogOptions, model: ModelOptions, comparison: ComparisonOptions, json_file: Path | None
) -> None:
    if not 0 < comparison.share < 1:
        raise InputProblem(f"--share must be between 0 and 1. Got {comparison.share:g} instead.")
    require_json_destination(json_file)
    FilesOfACommand({"--json": json_file}, options.files).check()
    log = options.log()
    past, later = log.split(comparison.share, seed=comparison.seed)
    require_fittable(past)
    reward_scale(past)
    settings = model.settings(options.propensity is not None)
    announce(
        f"Learning from {counted(len(past), 'row')}, judging by {len(later):,} others: prudent takes "
        f"{estimate_costs(settings, past).fit}, and then {', '.join(USUAL)}."
    )
    fitted = settings.fit(past, seed=model.seed)
    policies = {OURS: fitted.policy(), **usual_policies(past, seed=model.seed)}
    # prices of nobody's model, so that no side is judged by what it believes itself
    judged = {"prices": LearntPrices(), "confidence": comparison.confidence, "seed": comparison.seed}
    evaluation = evaluate(policies, later, **judged)
    facts = {
        "log": str(options.table),
        "learnt_from": len(past),
        **evaluation.to_dict(),
        "rivals": rivals_facts(evaluation, later),
    }
    facts["notes"] = [*findings(log), *facts["notes"]]
    if write_json(facts, json_file):
        return
    verdict = Section("prudent and the usual ways", sentences=_sentences(facts))
    source = Section(introduction=(f"{facts['log']}: {source_sentence(facts)}",))
    show([source, verdict, *evaluation_sections(facts, False)])
    if json_file is None:
        screen().print()
        sentence(screen(), "Every estimator, all constant actions and more: --json FILE.")


def rivals_facts(evaluation: Evaluation, log: Log) -> Facts:
    """The best rival, and how prudent differs from it, in plain types; `sentence` says it."""
    values = {name: log.sign * evaluation.estimate(name).value for name in evaluation.asked if name != OURS}
    rival = max(values, key=lambda name: values[name])
    facts = {
        "ours": OURS,
        "rival": rival,
        "difference": plain_types(evaluation.difference(OURS, rival)),
        "differently": evaluation.differently(OURS, rival),
        "minimize": log.minimize,
        "rounding": evaluation.rounding,
        "confidence": evaluation.settings.confidence,
    }
    return {**facts, "sentence": rivals_sentence(facts)}


def _sentences(facts: Facts) -> tuple[str, ...]:
    return (
        facts["rivals"]["sentence"],
        f"All learnt from the same {counted(facts['learnt_from'], 'row')}, with settings that they chose there. "
        "Boosting takes gaps as they are; forests and ridge regression fill them with means and may flag them. "
        "The best rival is picked by the same rows that judge it, which flatters it.",
    )
