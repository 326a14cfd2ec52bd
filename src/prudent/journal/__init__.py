"""The decision journal: what was advised, what was done and how it turned out, ready to be learnt from."""

from prudent.journal.drift import Drift as Drift
from prudent.journal.drift import WatchOptions as WatchOptions
from prudent.journal.drift import watch as watch
from prudent.journal.entry import Correction as Correction
from prudent.journal.entry import Entry as Entry
from prudent.journal.entry import Recorded as Recorded
from prudent.journal.export import KEPT as KEPT
from prudent.journal.export import Exported as Exported
from prudent.journal.export import ExportOptions as ExportOptions
from prudent.journal.export import as_log as as_log
from prudent.journal.journal import Journal as Journal
from prudent.journal.journal import Known as Known
from prudent.journal.migrations import TABLES as TABLES
from prudent.journal.model_hash import hash_of as hash_of
