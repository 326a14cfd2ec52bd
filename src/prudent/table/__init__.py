"""From any frame or file to one `Log`: cells and gaps, kinds of columns, the schema that encodes them, the log."""

from prudent.table.cells import did_you_mean as did_you_mean
from prudent.table.cells import label_text as label_text
from prudent.table.cells import row_name as row_name
from prudent.table.columns import LABELLED as LABELLED
from prudent.table.columns import Column as Column
from prudent.table.files import read_as_text as read_as_text
from prudent.table.files import read_table as read_table
from prudent.table.frames import frame_like as frame_like
from prudent.table.frames import take_rows as take_rows
from prudent.table.frames import to_table as to_table
from prudent.table.gap_patterns import GapPatterns as GapPatterns
from prudent.table.gap_patterns import gap_patterns as gap_patterns
from prudent.table.kind_overrides import KindOverride as KindOverride
from prudent.table.kind_overrides import parse_kind as parse_kind
from prudent.table.kind_overrides import read_kinds as read_kinds
from prudent.table.log import Log as Log
from prudent.table.log import read_log as read_log
from prudent.table.log_summary import ActionSummary as ActionSummary
from prudent.table.log_summary import LogSummary as LogSummary
from prudent.table.role_columns import ActionLabel as ActionLabel
from prudent.table.role_columns import Roles as Roles
from prudent.table.role_columns import read_numbers as read_numbers
from prudent.table.schema import Encoded as Encoded
from prudent.table.schema import Schema as Schema
