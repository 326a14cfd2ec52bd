"""The decision journal: what was advised, what was done and how it turned out, ready to be learnt from."""

from prudent.journal.entry import Correction as Correction
from prudent.journal.entry import Entry as Entry
from prudent.journal.entry import Recorded as Recorded
from prudent.journal.journal import Journal as Journal
from prudent.journal.model_hash import hash_of as hash_of
