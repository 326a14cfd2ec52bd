"""What a person should look at before a log is used: leaks, copies, codes for gaps, columns with very many labels, and
columns that say whose rows these are."""

import numpy as np

from prudent.table.columns import OTHER
from prudent.table.copies import copies
from prudent.table.finding import Finding
from prudent.table.frames import to_table
from prudent.table.leaks import leaks
from prudent.table.log import Log
from prudent.table.missing_codes import missing_codes
from prudent.table.repeated_identifiers import repeated_identifiers
from prudent.table.role_columns import role_codes

MANY_LABELS = 30
ROWS_PER_LABEL = 10
CODE = "code for a gap"


def log_findings(log: Log) -> list[Finding]:
    """Everything that is worth a look, in the order of its weight; a column that leaks is named once."""
    leaking = leaks(log)
    left_out = {finding.column for finding in leaking}
    whose = repeated_identifiers(log)
    left_out |= {finding.column for finding in whose}
    others = [*copies(log, left_out), *_many_labels(log, left_out)]
    return [*leaking, *whose, *others, *_codes(log)]


def _codes(log: Log) -> list[Finding]:
    if log.source is None:
        return []
    table = to_table(log.source).with_missing({name: tuple(v) for name, v in log.roles.missing_values().items()})
    codes = role_codes(table, log.roles)
    for column in log.schema.columns:
        codes += missing_codes(column, table.cells(column.name, column.categories, column.missing))
    return [Finding(code.column, CODE, code.sentence, ("--missing", f"{code.column}={code.value}")) for code in codes]


def _many_labels(log: Log, left_out: set[str]) -> list[Finding]:
    found = []
    for position, column in enumerate(log.schema.columns):
        if column.kind != "categorical" or column.name in left_out:
            continue
        known = log.values[log.observed[:, position], position]
        typical = float(np.median(np.bincount(known.astype(int), minlength=column.levels)))
        rare = typical < ROWS_PER_LABEL and column.levels > MANY_LABELS // 2
        if OTHER in column.categories or column.levels > MANY_LABELS or rare:
            labels = f"more than {column.levels - 1}" if OTHER in column.categories else f"{column.levels}"
            seen = (
                f"has {labels} labels, half of them in at most {typical:.0f} rows, so it slows the fit; it may not "
                "matter for the decision"
            )
            found.append(Finding.to_ignore(column.name, "many labels", seen, certain=False))
    return found
