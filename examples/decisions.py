"""One row per decision from dated events: what was known strictly before it, what was done, how it turned out.

Every recipe brings its records into two tables and leaves the rest to this file:

    decisions   subject, time, action           when a decision was made for somebody, and which
    events      subject, time, code, value      everything that was recorded; value is a number, or empty

No event at or after the moment of a decision becomes a feature, and none before it becomes the outcome. A time of
exactly midnight stands for a day of which nothing more is known: such an event counts from the end of that day, and
such a decision from its beginning, since the event may have been the later of the two.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

import polars as pl

MOMENT = timedelta(microseconds=1)
DAY = timedelta(days=1)


@dataclass(frozen=True)
class Study:
    """Which events matter, by code.

    last: the last value within `window` before the decision, by the name of its column. ever: whether the code was
    recorded at any time before. outcome: the first value between `after` and `until` behind the decision.
    """

    last: Mapping[str, str]
    ever: Mapping[str, str]
    outcome: str
    window: timedelta = 365 * DAY
    after: timedelta = 60 * DAY
    until: timedelta = 240 * DAY


def decision_table(decisions: pl.DataFrame, events: pl.DataFrame, study: Study) -> pl.DataFrame:
    """The decisions with a column for each feature and `outcome`; what was not recorded is a gap."""
    table = decisions.sort("time", "subject").with_columns(pl.col("time").cast(pl.Datetime("us")))
    events = events.with_columns(_surely_over(pl.col("time").cast(pl.Datetime("us")))).drop_nulls(["subject", "time"])
    for name, code in study.last.items():
        table = table.with_columns(last_before(table, events, code, study.window).alias(name))
    for name, code in study.ever.items():
        table = table.with_columns(ever_before(table, events, code).alias(name))
    return table.with_columns(first_after(table, events, study.outcome, study.after, study.until).alias("outcome"))


def _surely_over(time: pl.Expr) -> pl.Expr:
    midnight = time == time.dt.truncate("1d")
    return pl.when(midnight).then(time + DAY - MOMENT).otherwise(time)


def last_before(decisions: pl.DataFrame, events: pl.DataFrame, code: str, window: timedelta) -> pl.Series:
    """The last value strictly before each decision and not older than the window; a gap where there is none."""
    just_before = decisions.select("subject", pl.col("time") - MOMENT)
    return _nearest(just_before, _values(events, code), "backward", window - MOMENT)


def ever_before(decisions: pl.DataFrame, events: pl.DataFrame, code: str) -> pl.Series:
    """Whether the code was recorded strictly before each decision."""
    first = events.filter(pl.col("code") == code).group_by("subject").agg(pl.col("time").min().alias("first"))
    joined = decisions.join(first, on="subject", how="left", maintain_order="left")
    return joined.select((pl.col("first") < pl.col("time")).fill_null(False)).to_series()


def first_after(
    decisions: pl.DataFrame, events: pl.DataFrame, code: str, after: timedelta, until: timedelta
) -> pl.Series:
    """The first value from `after` to `until` behind each decision; a gap where there is none."""
    follow_up = decisions.select("subject", pl.col("time") + max(after, MOMENT))
    return _nearest(follow_up, _values(events, code), "forward", until - after)


def _values(events: pl.DataFrame, code: str) -> pl.DataFrame:
    wanted = events.filter(pl.col("code") == code).drop_nulls("value")
    # of several values at one moment always the same one is taken
    return wanted.select("subject", "time", "value").sort("time", "value")


def _nearest(moments: pl.DataFrame, values: pl.DataFrame, strategy: str, within: timedelta) -> pl.Series:
    how = {"on": "time", "by": "subject", "tolerance": within, "check_sortedness": False}  # both are sorted by time
    return moments.join_asof(values, strategy=strategy, **how)["value"]  # pyright: ignore[reportArgumentType]


def first_decisions(starts: pl.DataFrame) -> pl.DataFrame:
    """The first time that one of the actions was begun, per subject; who began two at once is left out."""
    first = starts.filter(pl.col("time") == pl.col("time").min().over("subject")).unique()
    return first.filter(pl.len().over("subject") == 1).select("subject", "time", "action")


def age_at(time: pl.Expr, birth: pl.Expr) -> pl.Expr:
    return ((time - birth).dt.total_days() / 365.25).floor()
