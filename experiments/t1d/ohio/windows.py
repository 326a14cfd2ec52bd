"""Means and sums of a series over many windows of time at once; windows hold both their ends."""

from dataclasses import dataclass

import numpy as np

from experiments.t1d.ohio.reader import Patient, Readings


@dataclass(frozen=True, eq=False)
class Windows:
    """From start to stop, in minutes, per row."""

    start: np.ndarray
    stop: np.ndarray

    def mean(self, series: Readings) -> np.ndarray:
        """The mean of the numbers in each window, NaN where it holds none."""
        present = ~np.isnan(series.values)
        known = Readings(series.times[present], series.values[present])
        return _ratio(self._sum(known.times, known.values), self._count(known.times))

    def total(self, series: Readings) -> np.ndarray:
        """The sum of the numbers in each window, 0 without events; NaN when one of its events lacks its number."""
        absent = np.isnan(series.values)
        sums = self._sum(series.times, np.where(absent, 0.0, series.values))
        return np.where(self._count(series.times[absent]) > 0, np.nan, sums)

    def holds(self, series: Readings) -> np.ndarray:
        """Whether any event of the series lies in each window."""
        return self._count(series.times) > 0

    def _count(self, times: np.ndarray) -> np.ndarray:
        return np.searchsorted(times, self.stop, "right") - np.searchsorted(times, self.start, "left")

    def _sum(self, times: np.ndarray, values: np.ndarray) -> np.ndarray:
        running = np.concatenate([[0.0], np.cumsum(values)])
        return running[np.searchsorted(times, self.stop, "right")] - running[np.searchsorted(times, self.start, "left")]


@dataclass(frozen=True, eq=False)
class BasalRate:
    """The pump's basal rate as steps: `rates` [step] from `begins` [step] on; NaN while it is not known."""

    begins: np.ndarray
    rates: np.ndarray

    @staticmethod
    def of(patient: Patient) -> "BasalRate":
        """The programmed rate carried forward, a temporary one instead while it lasts; a suspended pump has 0.

        A temporary rate ends early when the next one begins; one without an end lasts until the pump's next entry.
        """
        basal, temporary = patient.readings["basal"], patient.spans["temp_basal"]
        ends = _ends(temporary.begins, temporary.ends, basal.times)
        begins = np.unique(np.concatenate([basal.times, temporary.begins, ends[np.isfinite(ends)]]))
        programmed = np.append(np.nan, basal.values)[np.searchsorted(basal.times, begins, "right")]
        # only the latest one can be in force: a new one cancels those before it
        latest = np.searchsorted(temporary.begins, begins, "right")
        lasting = begins < np.append(-np.inf, ends)[latest]
        return BasalRate(begins, np.where(lasting, np.append(np.nan, temporary.values)[latest], programmed))

    def mean(self, windows: Windows) -> np.ndarray:
        """The mean over time of each window, of the part whose rate is known; NaN where none of it is."""
        known = ~np.isnan(self.rates)
        rates = np.where(known, self.rates, 0.0)
        return _ratio(self._integral(rates, windows), self._integral(known.astype(float), windows))

    def _integral(self, heights: np.ndarray, windows: Windows) -> np.ndarray:
        if not len(heights):
            return np.zeros(len(windows.start))
        until = np.concatenate([[0.0], np.cumsum(heights[:-1] * np.diff(self.begins))])

        def up_to(times: np.ndarray) -> np.ndarray:
            step = np.maximum(np.searchsorted(self.begins, times, "right") - 1, 0)
            return until[step] + heights[step] * np.maximum(times - self.begins[step], 0.0)

        return up_to(windows.stop) - up_to(windows.start)


def _ends(begins: np.ndarray, ends: np.ndarray, entries: np.ndarray) -> np.ndarray:
    """The ends, and where one is absent the next of the entries."""
    following = np.append(entries, np.inf)[np.searchsorted(entries, begins, "right")]
    return np.where(np.isnan(ends), following, ends)


def _ratio(sums: np.ndarray, counts: np.ndarray) -> np.ndarray:
    return np.divide(sums, counts, out=np.full(len(sums), np.nan), where=counts > 0)
