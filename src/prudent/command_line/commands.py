"""Every command with its arguments and options: the contract that scripts rely on. The work is done elsewhere.

Nothing heavy is imported here, so that `--help` is fast: each command imports what it needs when it is called.
"""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

app = typer.Typer(
    name="prudent",
    help="Learn which action to take from logged decisions whose records have gaps, and be careful about it.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


DRIFTED = 3
"""The exit code of `prudent journal watch --fail-on-drift`."""


@dataclass
class Debugging:
    """Whether to show tracebacks."""

    on: bool = False


debugging = Debugging()
"""For the command that runs now: `main` resets it, `--debug` switches it on."""


class ModelName(StrEnum):
    causal = "causal"
    similarity = "similarity"
    conditional = "conditional"


class StrategyName(StrEnum):
    expected = "expected"
    conservative = "conservative"
    tail = "tail"
    at_most = "at-most"
    imputation = "imputation"
    most_often = "most-often"
    lottery = "lottery"


class EstimatorName(StrEnum):
    direct = "direct"
    ips = "ips"
    clipped_ips = "clipped-ips"
    self_normalised_ips = "self-normalised-ips"
    dr = "dr"
    self_normalised_dr = "self-normalised-dr"
    switch_dr = "switch-dr"
    shrunk_dr = "shrunk-dr"


class PricesName(StrEnum):
    averaged = "averaged"
    network = "network"


class PresetName(StrEnum):
    fast = "fast"
    best = "best"


class IntervalName(StrEnum):
    student = "student"
    bootstrap = "bootstrap"
    bernstein = "bernstein"


if TYPE_CHECKING:
    from prudent.table import Place
else:

    class Place:
        """Stands for the real one, which is slow to import; the help shows its name."""


def _place(text: str) -> Place:
    """A file, a folder or a database; as text it has no password."""
    from prudent.table import Place

    return Place.of(text)


def _place_as_it_is(text: str) -> Place:
    """The same without the name of a table."""
    from prudent.table import Place

    return Place(text)


PLACES = (
    "a csv, parquet or arrow file or a folder of such parts, an Excel workbook, a file of Stata, SPSS or SAS, a DuckDB "
    "or SQLite file, or postgresql://user@host/database"
)
Table = Annotated[Place, typer.Argument(metavar="LOG", parser=_place, help=f"The logged decisions: {PLACES}.")]
TableName = Annotated[
    str | None,
    typer.Option("--table", metavar="NAME", help="The table or view of a database. Default: the only one it has."),
]
Query = Annotated[str | None, typer.Option(metavar="SQL", help="What to select from a database, as 'SELECT … FROM …'.")]
Sheet = Annotated[
    str | None, typer.Option(metavar="NAME", help="The sheet of a workbook. Default: the first that is not empty.")
]
GuaranteeConfidence = Annotated[
    float, typer.Option(metavar="P", help="The share of cases that the guaranteed bound must hold for.")
]
Action = Annotated[str, typer.Option(metavar="COL", help="The column with the action that was taken.")]
Reward = Annotated[
    str,
    typer.Option(
        metavar="COL",
        help="The column with the outcome, as a number or as yes and no; or a weighted sum, as in "
        "'survival - 0.1*days'.",
    ),
]
Propensity = Annotated[
    str | None,
    typer.Option(metavar="COL", help="The column with the probability (propensity) of the logged action, if known."),
]
Group = Annotated[
    str | None,
    typer.Option(
        metavar="COL",
        help="The column that says which rows belong together, such as the patient of a visit: they stay together in "
        "every split, and intervals allow for their likeness.",
    ),
]
Censored = Annotated[
    str | None,
    typer.Option(
        metavar="COL",
        help="The column that is 1 or true where follow-up ended before the outcome was seen: rows whose outcome was "
        "seen then count for those like them that were not.",
    ),
]
LaterGroup = Annotated[
    str | None,
    typer.Option(
        "--group",
        metavar="COL",
        help="The column that says which rows of the log belong together. Default: as when the model was fitted.",
    ),
]
LaterCensored = Annotated[
    str | None,
    typer.Option(
        "--censored",
        metavar="COL",
        help="The column of the log that is 1 or true where the outcome was not seen. Default: as when the model was "
        "fitted.",
    ),
]
Minimize = Annotated[bool, typer.Option("--minimize", help="Lower rewards are better (costs, days in hospital).")]
Ignore = Annotated[
    list[str] | None, typer.Option(metavar="COL", help="Leave this column out, e.g. an identifier. Repeatable.")
]
Kinds = Annotated[
    list[str] | None,
    typer.Option(
        "--kind",
        metavar="COL=KIND",
        help="Read a column as real, positive, count, bounded (or bounded:0..100), categorical, boolean, date, or as "
        "ordinal:low<mid<high. COL may be a pattern, such as 'pixel*=bounded:0..255'. Repeatable.",
    ),
]
KindsFile = Annotated[
    Path | None,
    typer.Option(
        "--kinds", metavar="FILE", help="A .json or .toml file that maps columns to kinds; --kind takes precedence."
    ),
]
Missing = Annotated[
    list[str] | None,
    typer.Option(
        metavar="[COL=]VALUE",
        help="Read this value as a gap, in every column or in one: --missing 999, --missing age=999. Repeatable.",
    ),
]
NotMissing = Annotated[
    list[str] | None,
    typer.Option(
        metavar="[COL=]VALUE",
        help="Read this text as a value where it would be read as a gap, such as NA, None or '-': --not-missing "
        "arm=None. Repeatable.",
    ),
]
Separator = Annotated[
    str | None,
    typer.Option(
        "--sep", metavar="CHAR", help="What separates the columns of a csv file. Default: what it looks like."
    ),
]
Decimal = Annotated[str | None, typer.Option(metavar="CHAR", help="The decimal sign of a csv file: '.' or ','.")]
Encoding = Annotated[
    str | None, typer.Option(metavar="NAME", help="The encoding of a csv file, e.g. latin-1. Default: UTF-8 or UTF-16.")
]
MemberCount = Annotated[
    int | None,
    typer.Option(metavar="N", min=1, help="Networks to train independently and average. Default: that of the model."),
]
Rounds = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        min=1,
        help="The most rounds of training. Default: that of the model, and more where held-out rewards say so.",
    ),
]
ModelFolder = Annotated[Path, typer.Argument(metavar="MODEL", help="The folder that 'prudent fit' made.")]
Risk = Annotated[
    float | None,
    typer.Option(
        metavar="P",
        help="conservative: the probability left out of the plausible set (default 0.05). tail: the share of worst "
        "cases to average over (default 0.2). at-most: how likely an outcome worse than --below may be (default 0.05).",
    ),
]
Threshold = Annotated[
    float | None,
    typer.Option("--c", metavar="C", help="conservative: the paper's threshold in [0, 1), instead of --risk."),
]
Floor = Annotated[
    float | None,
    typer.Option(
        metavar="R",
        help="Refer a row, or give the fallback, if the worst plausible mean of every action is worse than this.",
    ),
]
Fallback = Annotated[
    str | None, typer.Option(metavar="ACTION", help="The action for rows that miss the floor, instead of none.")
]
CompletionCount = Annotated[
    int, typer.Option(metavar="N", min=2, help="Completions (plausible full records) per case.")
]
SearchSteps = Annotated[
    int | None,
    typer.Option(
        metavar="STEPS",
        min=0,
        help="Steps of the search for the worst plausible case, the slow part; 0 looks among the drawn completions "
        "only. Default: 6 with --strategy conservative or a floor, otherwise 0.",
    ),
]
SupportRule = Annotated[
    bool,
    typer.Option(
        "--support/--no-support",
        help="Recommend an action only to cases that resemble enough of those that got it, else the next best.",
    ),
]
MinPropensity = Annotated[
    float | None,
    typer.Option(
        metavar="P",
        min=0,
        max=1,
        help="The share of similar logged cases that must have got an action. Default: 0.02; less in a large log, or "
        "with many actions.",
    ),
]
MinRows = Annotated[
    int | None,
    typer.Option(
        metavar="N", min=0, help="The rewards of an action that the log must have. Default: 30, less in a small log."
    ),
]
JsonFile = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Also write all results as JSON; '-' prints only the JSON.")
]
PRESET_HELP = (
    "fast: one network and half the rounds, about a quarter of the time; in four simulated clinics its advice was 1 to "
    "7 points worse on a scale from the best single action (0) to the best possible (100). best: six networks, twice "
    "the time; there its advice was within 1 point of the default's. --members and --rounds take precedence. Default: "
    "neither."
)
Seed = Annotated[
    int,
    typer.Option(
        metavar="N",
        min=0,
        max=2**31 - 1,
        help="The same seed gives the same result, on the same number of threads; with another number a fit rounds "
        "differently.",
    ),
]


def _version(requested: bool) -> bool:
    if requested:
        from prudent import __version__
        from prudent.command_line.versions import version_lines

        typer.echo("\n".join(version_lines(__version__)))
        raise typer.Exit
    return requested


@app.callback()
def options_of_all_commands(
    debug: Annotated[bool, typer.Option("--debug", help="Show the full traceback when something goes wrong.")] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the versions and stop.")
    ] = False,
) -> None:
    debugging.on |= debug


def _log_options(given: dict[str, Any]) -> Any:
    """How the log is read, of the options of a command."""
    from prudent.command_line.log_options import LogOptions
    from prudent.table import Part, TextFormat

    roles = ("action", "reward", "propensity", "group", "censored", "minimize")
    options: dict[str, Any] = {name: given[name] for name in roles}
    options |= {name: tuple(given[name] or ()) for name in ("ignore", "kind", "missing", "not_missing")}
    written = TextFormat(given["sep"], given["decimal"], given["encoding"])
    part = Part(given["table_name"], given["query"], given["sheet"])
    return LogOptions(given["log"], kinds_file=given["kinds"], written=written, part=part, **options)


@app.command()
def inspect(
    log: Table,
    action: Action,
    reward: Reward,
    propensity: Propensity = None,
    group: Group = None,
    censored: Censored = None,
    minimize: Minimize = False,
    ignore: Ignore = None,
    kind: Kinds = None,
    kinds: KindsFile = None,
    missing: Missing = None,
    not_missing: NotMissing = None,
    sep: Separator = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    table_name: TableName = None,
    query: Query = None,
    sheet: Sheet = None,
    json: JsonFile = None,
) -> None:
    """Show what is in a table: kinds, gaps, actions, overlap, problems."""
    from prudent.command_line.inspecting import inspect_table

    options = _log_options(locals())
    inspect_table(options, json)


@app.command()
def fit(
    log: Table,
    action: Action,
    reward: Reward,
    out: Annotated[Path, typer.Option(metavar="MODEL", help="The folder to save the model in.")],
    hold_out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Keep a random fifth of the rows out of the fit and write them here, to evaluate on.",
        ),
    ] = None,
    model: Annotated[
        ModelName,
        typer.Option(metavar="NAME", help="causal (recommended), or those of the paper: similarity or conditional."),
    ] = ModelName.causal,
    propensity: Propensity = None,
    group: Group = None,
    censored: Censored = None,
    minimize: Minimize = False,
    members: MemberCount = None,
    types: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            help="Treat each case as one of N types, each with its own rewards: for outcomes that fall into patterns.",
        ),
    ] = None,
    ordered: Annotated[
        bool | None,
        typer.Option(
            "--ordered/--not-ordered",
            help="Actions are numbers, and close ones have similar effects, as doses do. Default: the log decides.",
        ),
    ] = None,
    varying_noise: Annotated[
        bool, typer.Option("--varying-noise", help="Outcomes vary more for some cases than for others.")
    ] = False,
    prices: Annotated[
        PricesName | None,
        typer.Option(
            metavar="NAME",
            help="averaged (default): predict rewards by the average of network, trees and linear regression that "
            "suits held-out rewards; or network alone.",
        ),
    ] = None,
    rounds: Rounds = None,
    preset: Annotated[
        PresetName | None,
        typer.Option(metavar="NAME", help=PRESET_HELP),
    ] = None,
    time_budget: Annotated[
        float | None,
        typer.Option(
            metavar="MINUTES",
            help="Run only as many rounds as fit into this time. The result then depends on how busy the machine is.",
        ),
    ] = None,
    seed: Seed = 0,
    ignore: Ignore = None,
    kind: Kinds = None,
    kinds: KindsFile = None,
    missing: Missing = None,
    not_missing: NotMissing = None,
    sep: Separator = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    table_name: TableName = None,
    query: Query = None,
    sheet: Sheet = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace a model in --out even if it was made from other columns.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing on success.")] = False,
) -> None:
    """Learn a model from logged decisions and save it."""
    from prudent.command_line.fitting import ModelOptions, Places, fit_model

    options = _log_options(locals())
    settings = ModelOptions(
        *(model.value, members, rounds, seed, types, ordered, varying_noise),
        prices=None if prices is None else prices.value,
        preset=None if preset is None else preset.value,
        minutes=time_budget,
    )
    fit_model(options, settings, Places(out, hold_out, force), quiet)


@app.command()
def recommend(
    model: ModelFolder,
    table: Annotated[
        Place,
        typer.Argument(
            metavar="TABLE", parser=_place, help="The cases, with gaps, in any place that 'fit' reads from."
        ),
    ],
    out: Annotated[
        str,
        typer.Option(
            metavar="FILE",
            help="Where to write: .csv, .tsv, .parquet, .pq or .xlsx, or a database with --out-table; '-' prints csv.",
        ),
    ],
    strategy: Annotated[
        StrategyName,
        typer.Option(
            metavar="NAME",
            help="How to choose when the best action depends on what is missing: expected, conservative, tail, "
            "at-most, imputation, most-often or lottery.",
        ),
    ] = StrategyName.expected,
    risk: Risk = None,
    c: Threshold = None,
    floor: Floor = None,
    fallback: Fallback = None,
    allowed: Annotated[
        str | None,
        typer.Option(metavar="COL", help="A column that lists the actions a row may get, as a;b;c. Empty: any."),
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(metavar="COL", help="Copy this column to the output, before the advice. Repeatable."),
    ] = None,
    cost: Annotated[
        list[str] | None,
        typer.Option(metavar="ACTION=COST", help="The cost of an action, in units of the reward. Repeatable."),
    ] = None,
    cost_column: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ACTION=COL",
            help="A column of TABLE with the cost of an action, where that differs between rows. Repeatable.",
        ),
    ] = None,
    doubt: Annotated[
        float,
        typer.Option(
            metavar="K", min=0, help="Lower each expected reward by K standard deviations of its uncertainty."
        ),
    ] = 0.0,
    noise: Annotated[
        float,
        typer.Option(
            metavar="K", min=0, help="The same for the variation of single outcomes around the expected reward."
        ),
    ] = 0.0,
    support: SupportRule = True,
    min_propensity: MinPropensity = None,
    min_rows: MinRows = None,
    search: SearchSteps = None,
    measure: Annotated[
        bool, typer.Option("--measure", help="Add which missing entry is most worth measuring first, and the gain.")
    ] = False,
    measure_cost: Annotated[
        list[str] | None,
        typer.Option(metavar="COL=COST", help="The cost of measuring a column, in units of the reward. Repeatable."),
    ] = None,
    doses_between: Annotated[
        bool,
        typer.Option(
            "--doses-between",
            help="Add the best dose between the recommended one and its neighbours, which nobody was given, with its "
            "expected reward and uncertainty. For actions that are numbers and were taken to be ordered.",
        ),
    ] = False,
    guarantee: Annotated[
        Place | None,
        typer.Option(
            metavar="LOG",
            parser=_place,
            help="Add a lower bound on each reward, from decisions the model has not seen.",
        ),
    ] = None,
    confidence: GuaranteeConfidence = 0.95,
    held_out: Annotated[
        Place | None,
        typer.Option(
            metavar="LOG", parser=_place, help="Choose the strategy by decisions the model has not seen; with --limit."
        ),
    ] = None,
    limit: Annotated[
        float | None,
        typer.Option(metavar="SHARE", help="The share of outcomes worse than --below that may not be exceeded."),
    ] = None,
    below: Annotated[
        float | None,
        typer.Option(metavar="R", help="An outcome worse than this is bad: for --strategy at-most or --limit."),
    ] = None,
    group: LaterGroup = None,
    censored: LaterCensored = None,
    completions: CompletionCount = 256,
    seed: Seed = 0,
    explain: Annotated[int, typer.Option(min=0, metavar="N", help="Also explain the first N rows.")] = 0,
    explain_to: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the explanations (default: 10 rows) to an .html or .json file."),
    ] = None,
    sep: Separator = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    table_name: TableName = None,
    query: Query = None,
    sheet: Sheet = None,
    out_table: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The new table for the advice, where --out is a database."),
    ] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace --out-table if the database already has it.")
    ] = False,
) -> None:
    """Recommend an action for every row of a table.

    Writes one row per input row, in order: kept columns first, then action, expected mean reward, worst plausible mean
    reward, range of nine in ten single outcomes, entropy of the best action in bits, columns of --guarantee,
    --measure and --doses-between, status, flags.
    """
    from prudent.command_line.destination import Destination
    from prudent.command_line.policy_options import PolicyOptions
    from prudent.command_line.recommending import AdviceOptions, Limit, recommend_actions
    from prudent.table import Part, TextFormat

    options = PolicyOptions(
        *(strategy.value, risk, c, floor, fallback, allowed, completions, seed),
        *(search, doubt, noise, tuple(cost or ()), support, min_propensity, min_rows),
        below=below if strategy == StrategyName.at_most else None,
        cost_columns=tuple(cost_column or ()),
    )
    extras = AdviceOptions(
        *(tuple(keep or ()), explain, explain_to, measure, tuple(measure_cost or ()), guarantee, confidence),
        Limit.of(
            held_out,
            limit,
            None if strategy == StrategyName.at_most else below,
            has_setting=risk is not None or c is not None,
        ),
        doses_between,
        TextFormat(sep, decimal, encoding),
        Part(table_name, query, sheet),
        *(group, censored),
    )
    recommend_actions(model, table, Destination.of(out, out_table, replace), options, extras)


@app.command()
def evaluate(
    model: ModelFolder,
    log: Annotated[
        Place,
        typer.Argument(
            metavar="LOG",
            parser=_place,
            help="Logged decisions that the model was not fitted on, with the same columns.",
        ),
    ],
    strategy: Annotated[
        list[StrategyName] | None,
        typer.Option(
            metavar="NAME",
            help="A strategy, as in 'recommend': expected, conservative, tail, at-most, imputation, most-often or "
            "lottery. Repeatable. Default: all but at-most and lottery.",
        ),
    ] = None,
    rule: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COL",
            help="A column of the log with the action that some other rule, such as a guideline, would have taken; it "
            "is evaluated too. Repeatable.",
        ),
    ] = None,
    risk: Risk = None,
    c: Threshold = None,
    floor: Floor = None,
    fallback: Fallback = None,
    below: Annotated[
        float | None,
        typer.Option(
            metavar="R", help="Also estimate the share of outcomes worse than this; --strategy at-most keeps it small."
        ),
    ] = None,
    confidence: Annotated[float, typer.Option(metavar="P", help="Confidence of the intervals.")] = 0.95,
    estimator: Annotated[
        list[EstimatorName] | None,
        typer.Option(
            metavar="NAME",
            help="How to estimate from the log: direct, ips, clipped-ips, self-normalised-ips, dr, self-normalised-dr, "
            "switch-dr or shrunk-dr. Repeatable. Default: all, of which self-normalised-dr is shown.",
        ),
    ] = None,
    all_estimators: Annotated[
        bool, typer.Option("--all-estimators", help="Also show the values by every estimator that was used.")
    ] = False,
    details: Annotated[
        bool,
        typer.Option(
            "--details",
            help="Also print how far the log can answer for each policy, policy against policy, and the values by "
            "every estimator. Default: the answer, its table, and warnings.",
        ),
    ] = False,
    interval: Annotated[
        IntervalName,
        typer.Option(metavar="NAME", help="student, bootstrap, or bernstein (wide, for any number of rows)."),
    ] = IntervalName.student,
    propensity: Annotated[
        str | None,
        typer.Option(
            metavar="COL",
            help="The column with the probability (propensity) of the logged action, or 'estimate'. Default: as when "
            "the model was fitted.",
        ),
    ] = None,
    group: LaterGroup = None,
    censored: LaterCensored = None,
    support: SupportRule = True,
    min_propensity: MinPropensity = None,
    min_rows: MinRows = None,
    sensitivity: Annotated[
        bool,
        typer.Option(
            "--sensitivity",
            help="Also say how strong unrecorded reasons would have to be, and how far off the missing cells, to "
            "change which policy is best. Takes minutes.",
        ),
    ] = False,
    cross_fit: Annotated[
        int | None,
        typer.Option(
            metavar="K",
            min=2,
            help="Fit the model's settings K times, each without a part of LOG, and evaluate on all of it; LOG may "
            "then be the log that the model was fitted on. Takes K times as long as the fit.",
        ),
    ] = None,
    columns: Annotated[
        bool,
        typer.Option(
            "--columns",
            help="Also say which columns matter: how many decisions change, and what is lost, without each.",
        ),
    ] = False,
    columns_to: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw which columns matter to this .svg file.")
    ] = None,
    completions: CompletionCount = 256,
    search: SearchSteps = None,
    seed: Seed = 0,
    json: JsonFile = None,
    sep: Separator = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    table_name: TableName = None,
    query: Query = None,
    sheet: Sheet = None,
) -> None:
    """Estimate what policies would have earned on logged decisions, and whether the log can answer that.

    First which policy to use, if any; then every strategy of the model, the decisions as logged and the best constant
    action, with confidence intervals.
    """
    from prudent.command_line.evaluating import EvaluationOptions, Studies, evaluate_model
    from prudent.command_line.policy_options import PolicyOptions
    from prudent.table import Part, TextFormat

    policies = PolicyOptions(
        *("expected", risk, c, floor, fallback),
        **{"completions": completions, "seed": seed, "search": search},
        **{"support": support, "min_propensity": min_propensity, "min_rows": min_rows, "below": below},
    )
    options = EvaluationOptions(
        *(tuple(name.value for name in estimator or EstimatorName), interval.value, confidence, below, propensity),
        *(seed, all_estimators or estimator is not None, details, group, censored),
    )
    names = tuple(name.value for name in strategy or ())
    written = TextFormat(sep, decimal, encoding)
    studies = Studies(sensitivity, cross_fit, columns or columns_to is not None, columns_to)
    part = Part(table_name, query, sheet)
    evaluate_model(model, log, policies, names, tuple(rule or ()), options, json, written, studies, part)


@app.command()
def report(
    model: ModelFolder,
    log: Annotated[
        Place,
        typer.Argument(
            metavar="LOG",
            parser=_place,
            help="Logged decisions that the model was not fitted on, with the same columns.",
        ),
    ],
    out: Annotated[Path, typer.Option(metavar="FILE", help="The page to write, an .html file.")],
    strategy: Annotated[
        StrategyName,
        typer.Option(metavar="NAME", help="The strategy that the report is about, as in 'recommend'."),
    ] = StrategyName.expected,
    risk: Risk = None,
    c: Threshold = None,
    floor: Floor = None,
    fallback: Fallback = None,
    below: Annotated[
        float | None,
        typer.Option(
            metavar="R",
            help="Outcomes worse than this are bad. Default: what a tenth of the logged outcomes are worse than.",
        ),
    ] = None,
    confidence: Annotated[float, typer.Option(metavar="P", help="Confidence of the intervals.")] = 0.95,
    learnt_from: Annotated[
        Place | None,
        typer.Option(
            metavar="LOG",
            parser=_place,
            help="The log that the model was fitted on: simple rivals learn from the same rows, and LOG is compared "
            "with it. Default: rivals learn from LOG itself, cross-fitted.",
        ),
    ] = None,
    cases: Annotated[int, typer.Option(metavar="N", min=0, max=100, help="How many cases to explain.")] = 10,
    label: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COL", help="Name explained cases by this column of the log. Repeatable. Default: no identifiers."
        ),
    ] = None,
    title: Annotated[str | None, typer.Option(metavar="TEXT", help="The title of the page.")] = None,
    intended_use: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Who is to use the policy for what, for the model card.")
    ] = None,
    card: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write the model card by itself, an .md file.")
    ] = None,
    rows: Annotated[
        int,
        typer.Option(
            metavar="N", min=2, help="The most rows that policies are judged by; of more, so many at random are used."
        ),
    ] = 20_000,
    propensity: Annotated[
        str | None,
        typer.Option(
            metavar="COL",
            help="The column with the probability (propensity) of the logged action, or 'estimate'. Default: as when "
            "the model was fitted.",
        ),
    ] = None,
    group: LaterGroup = None,
    censored: LaterCensored = None,
    support: SupportRule = True,
    min_propensity: MinPropensity = None,
    min_rows: MinRows = None,
    completions: CompletionCount = 256,
    search: SearchSteps = None,
    seed: Seed = 0,
    json: JsonFile = None,
    sep: Separator = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    table_name: TableName = None,
    query: Query = None,
    sheet: Sheet = None,
) -> None:
    """Write one page about a policy for clinicians and statisticians: what it would do, what that is worth, and limits.

    Self-contained, without scripts, for screen and print. It holds a few real records of LOG, without identifiers.
    """
    from prudent.command_line.policy_options import PolicyOptions
    from prudent.command_line.reporting import ReportOptions, report_on
    from prudent.reporting import ReportSettings
    from prudent.table import Part, TextFormat

    policies = PolicyOptions(
        *(strategy.value, risk, c, floor, fallback),
        **{"completions": completions, "seed": seed, "search": search, "below": below},
        **{"support": support, "min_propensity": min_propensity, "min_rows": min_rows},
    )
    options = ReportOptions(
        *(out, card, json, learnt_from, tuple(label or ()), propensity, group, censored),
        *(TextFormat(sep, decimal, encoding), Part(table_name, query, sheet)),
    )
    settings = ReportSettings(
        title=title or ReportSettings.title,
        intended_use=intended_use,
        below=below,
        confidence=confidence,
        cases=cases,
        seed=seed,
        evaluated_rows=rows,
    )
    report_on(model, log, policies, options, settings)


@app.command()
def compare(
    log: Table,
    action: Action,
    reward: Reward,
    propensity: Propensity = None,
    group: Group = None,
    censored: Censored = None,
    minimize: Minimize = False,
    ignore: Ignore = None,
    kind: Kinds = None,
    kinds: KindsFile = None,
    missing: Missing = None,
    not_missing: NotMissing = None,
    share: Annotated[float, typer.Option(metavar="SHARE", help="The share of the rows to learn from.")] = 0.7,
    preset: Annotated[
        PresetName | None, typer.Option(metavar="NAME", help="Settings of prudent, as in 'fit': fast or best.")
    ] = None,
    members: MemberCount = None,
    rounds: Rounds = None,
    confidence: Annotated[float, typer.Option(metavar="P", help="Confidence of the intervals.")] = 0.95,
    seed: Seed = 0,
    json: JsonFile = None,
    sep: Separator = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    table_name: TableName = None,
    query: Query = None,
    sheet: Sheet = None,
) -> None:
    """Fit prudent, gradient boosting, random forests and ridge regression to a part of a log; judge all by the rest.

    Says whether a simple rival is as good on this table. No model is saved.
    """
    from prudent.command_line.against_rivals import ComparisonOptions, compare_with_rivals
    from prudent.command_line.fitting import ModelOptions

    options = _log_options(locals())
    settings = ModelOptions(
        *(ModelName.causal.value, members, rounds, seed), preset=None if preset is None else preset.value
    )
    compare_with_rivals(options, settings, ComparisonOptions(share, confidence, seed), json)


@app.command()
def effects(
    log: Table,
    action: Action,
    reward: Reward,
    treated: Annotated[
        str | None,
        typer.Option(metavar="ACTION", help="The action whose effect is estimated. Needed with three or more actions."),
    ] = None,
    control: Annotated[
        str | None, typer.Option(metavar="ACTION", help="The action that it is compared with. Likewise.")
    ] = None,
    by: Annotated[
        list[str] | None,
        typer.Option(metavar="COL", help="Also the effect in each group of this column's values. Repeatable."),
    ] = None,
    bins: Annotated[int, typer.Option(metavar="N", min=1, help="Groups that --by makes of numbers.")] = 4,
    out: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Write an effect for every row of LOG, in order: .csv, .tsv, .parquet, .pq or .xlsx; '-' prints csv. "
            "It is empty where the row took another action or has no outcome.",
        ),
    ] = None,
    keep: Annotated[
        list[str] | None, typer.Option(metavar="COL", help="Copy this column to --out, before the effect. Repeatable.")
    ] = None,
    confidence: Annotated[float, typer.Option(metavar="P", help="Confidence of the intervals.")] = 0.95,
    propensity: Propensity = None,
    group: Group = None,
    censored: Censored = None,
    minimize: Minimize = False,
    ignore: Ignore = None,
    kind: Kinds = None,
    kinds: KindsFile = None,
    missing: Missing = None,
    not_missing: NotMissing = None,
    sep: Separator = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    table_name: TableName = None,
    query: Query = None,
    sheet: Sheet = None,
    seed: Seed = 0,
    json: JsonFile = None,
) -> None:
    """Estimate what one action does compared with another: on average, by group, for every row. Needs no model."""
    from prudent.command_line.comparing import EffectOptions, compare_actions

    options = _log_options(locals())
    compared = EffectOptions(treated, control, tuple(by or ()), bins, confidence, seed)
    compare_actions(options, compared, out, tuple(keep or ()), json)


@app.command()
def serve(
    model: ModelFolder,
    host: Annotated[
        str, typer.Option(metavar="NAME", help="The address to serve at. By default only this machine can ask.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(metavar="N", min=1, max=65535)] = 8000,
    token_file: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="A file with the token that callers must send. Default: the environment variable PRUDENT_TOKEN, if "
            "it is set. Needed with --host.",
        ),
    ] = None,
    without_token: Annotated[
        bool, typer.Option("--without-token", help="Serve everybody who can reach --host, for example behind a proxy.")
    ] = False,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Another name by which browsers reach this server. Repeatable."),
    ] = None,
    journal: Annotated[
        str | None,
        typer.Option(
            metavar="PLACE",
            help="Record every advice in this SQLite file, or in postgresql://user@host/database, before it is given.",
        ),
    ] = None,
    guarantee: Annotated[
        Place | None,
        typer.Option(
            metavar="LOG",
            parser=_place,
            help="Add a lower bound on each reward, from decisions the model has not seen; answers take longer.",
        ),
    ] = None,
    confidence: GuaranteeConfidence = 0.95,
    cds_hooks: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Also answer a hospital's system by CDS Hooks; this .toml file says which of its FHIR records are the "
            "columns.",
        ),
    ] = None,
    unit: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COL=UNIT", help="The unit of a column, shown beside its field, as age=years. Repeatable."
        ),
    ] = None,
    certificate: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Serve https, with this certificate (PEM) and --key.")
    ] = None,
    key: Annotated[Path | None, typer.Option(metavar="FILE", help="The private key of --certificate.")] = None,
    warm_up: Annotated[
        bool, typer.Option("--warm-up/--no-warm-up", help="Compile everything before the first question is answered.")
    ] = True,
    most_rows: Annotated[int, typer.Option(metavar="N", min=1, help="The rows of an uploaded table.")] = 100_000,
    most_megabytes: Annotated[int, typer.Option(metavar="N", min=1, help="The size of an uploaded table.")] = 64,
    seconds: Annotated[float, typer.Option(metavar="S", min=0.1, help="How long one answer may take.")] = 30.0,
) -> None:
    """Answer in a web page and as a JSON API, on this machine only by default.

    Needs the extra 'web': pip install 'prudent\\[web]'. Nothing is loaded from elsewhere, and nothing is sent there.
    """
    from prudent.command_line.serving import serve_model

    limits = {"rows": most_rows, "table": most_megabytes * 2**20, "seconds": seconds}
    places = {"token_file": token_file, "journal": journal, "guarantee": guarantee, "certificate": certificate}
    options = {"hosts": tuple(allow_host or ()), "confidence": confidence, "warm_up": warm_up, "key": key}
    options |= {"cds_hooks": cds_hooks, "units": tuple(unit or ())}
    serve_model(limits, model=model, host=host, port=port, without_token=without_token, **places, **options)


@app.command()
def demo(
    rows: Annotated[
        int, typer.Option(metavar="N", min=100, max=1_000_000, help="Logged decisions to simulate.")
    ] = 5000,
    out: Annotated[Path, typer.Option(metavar="DIR", help="The folder for its files.")] = Path("prudent-demo"),
    seed: Seed = 0,
    quick: Annotated[
        bool,
        typer.Option("--quick", help="Seconds instead of a minute or two, with a model too small to be good."),
    ] = False,
) -> None:
    """Show the whole workflow on simulated data, for which the best advice is known."""
    from prudent.command_line.demonstrating import demonstrate

    demonstrate(rows, out, seed, quick)


journal = typer.Typer(
    help="What was advised, what was done and how it turned out: a new log of it, and whether it has drifted.",
    no_args_is_help=True,
)
app.add_typer(journal, name="journal")
JournalPlace = Annotated[
    Place,
    typer.Argument(
        metavar="JOURNAL",
        parser=_place_as_it_is,
        help="The journal that 'prudent serve' writes: a SQLite file, or postgresql://user@host/database.",
    ),
]
Since = Annotated[
    str | None, typer.Option(metavar="DAY", help="Only advice from this day on (or moment, in UTC), as 2026-03-01.")
]
Before = Annotated[
    str | None, typer.Option(metavar="DAY", help="Only advice before this day; give outcomes time to become known.")
]


@journal.command()
def export(
    journal: JournalPlace,
    out: Annotated[
        str,
        typer.Option(
            metavar="FILE",
            help="Where to write: .csv, .tsv, .parquet, .pq or .xlsx, or a database with --out-table; '-' prints csv.",
        ),
    ],
    model: Annotated[
        Path | None,
        typer.Option(metavar="MODEL", help="Only advice of the model in this folder; its names of action and reward."),
    ] = None,
    as_advised: Annotated[
        bool,
        typer.Option(
            "--as-advised",
            help="Write the action that was advised instead of the one taken: its propensity is known even where "
            "clinicians deviated, and rewards are those of giving this advice (intention to treat).",
        ),
    ] = False,
    assume_followed: Annotated[
        bool,
        typer.Option("--assume-followed", help="Where no action was recorded, the advice was followed."),
    ] = False,
    with_censored: Annotated[
        bool,
        typer.Option(
            "--with-censored",
            help="Also write decisions whose outcome is not known, with a column 'censored' that is 1 for them.",
        ),
    ] = False,
    keep: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FACT",
            help="Also write this: id, at, model, source, advised, followed, took_at or reward_at. Repeatable.",
        ),
    ] = None,
    since: Since = None,
    before: Before = None,
    out_table: Annotated[
        str | None, typer.Option(metavar="NAME", help="The new table for the log, where --out is a database.")
    ] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace --out-table if the database already has it.")
    ] = False,
) -> None:
    """Write a new log: the cases, the action taken, the outcome, and the action's propensity where it is known.

    By default only decisions whose action and outcome are known.
    """
    from prudent.command_line.destination import Destination
    from prudent.command_line.exporting import Window, export_journal
    from prudent.journal import ExportOptions

    options = ExportOptions(as_advised, assume_followed, with_censored, tuple(keep or ()))
    export_journal(journal, Destination.of(out, out_table, replace), model, options, Window.of(since, before))


@journal.command()
def add(
    journal: JournalPlace,
    table: Annotated[
        Place, typer.Argument(metavar="TABLE", parser=_place, help="What became known, in any place 'fit' reads from.")
    ],
    id: Annotated[
        str,
        typer.Option(
            "--id",
            metavar="COL",
            help="The column with the ids of the advice, as answers, cards and 'export --keep id' have them.",
        ),
    ] = "id",
    action: Annotated[
        str | None, typer.Option(metavar="COL", help="The column with the action that was taken. Empty: not known.")
    ] = None,
    reward: Annotated[
        str | None, typer.Option(metavar="COL", help="The column with the outcome, as a number. Empty: not known.")
    ] = None,
    correct: Annotated[
        bool, typer.Option("--correct", help="Replace what is recorded already and differs; what was replaced is kept.")
    ] = False,
    sep: Separator = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    table_name: TableName = None,
    query: Query = None,
    sheet: Sheet = None,
) -> None:
    """Add actions taken and outcomes to the journal, by the ids of the advice: all of a table, or nothing."""
    from prudent.command_line.adding import Columns, add_to_journal
    from prudent.table import Part, TextFormat

    written, part = TextFormat(sep, decimal, encoding), Part(table_name, query, sheet)
    add_to_journal(journal, table, Columns(id, action, reward), correct, written, part)


@journal.command()
def watch(
    journal: JournalPlace,
    model: ModelFolder,
    since: Annotated[
        str | None,
        typer.Option(
            metavar="DAY",
            help="Look at advice from this day on (or moment, in UTC), and compare advice and errors of prediction "
            "with those before. Default: all of it, the later half with the earlier.",
        ),
    ] = None,
    risk: Annotated[
        float,
        typer.Option(metavar="P", help="How likely any false alarm may be, over all comparisons of one run."),
    ] = 0.05,
    fail_on_drift: Annotated[
        bool, typer.Option("--fail-on-drift", help="End with exit code 3 if something has drifted.")
    ] = False,
    json: JsonFile = None,
) -> None:
    """Say whether cases, gaps, advice or outcomes have drifted from what the model has learnt.

    Every column's values and gaps are tested against the model's log, outcomes against predictions, and all tests are
    corrected for their number.
    """
    from prudent.command_line.watching import watch_journal

    if watch_journal(journal, model, risk, since, json) and fail_on_drift:
        raise typer.Exit(DRIFTED)
