"""What there is to report of a model on a log it has not seen, as frozen plain data; `prudent.show` draws the page."""

from prudent.reporting.model_facts import Origin as Origin
from prudent.reporting.report import Report as Report
from prudent.reporting.report import make_report as make_report
from prudent.reporting.report_settings import ReportSettings as ReportSettings
