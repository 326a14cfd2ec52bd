"""The same hazards for scikit-learn and EconML, saved and read as their documents say: joblib, and pandas for tables.

Every attempt runs in a process of its own, since a damaged pickle may crash or hang the one that reads it.
"""

import io
import json
import os
import random
import signal
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd

from tests.hostile.counting import Counts
from tests.hostile.processes import in_child
from tests.hostile.tables import odd_file

warnings.simplefilter("ignore")
MODELS = ("scikit-learn", "EconML")
SECONDS = 30.0


def fitted(name: str) -> tuple[Any, np.ndarray]:
    """A model of two actions, and the cases it is asked about."""
    random_numbers = np.random.default_rng(0)
    cases = random_numbers.normal(size=(300, 4))
    actions = random_numbers.integers(0, 2, 300)
    rewards = cases[:, 0] * actions + random_numbers.normal(size=300)
    if name == "scikit-learn":
        from sklearn.ensemble import RandomForestRegressor

        model = RandomForestRegressor(20, max_depth=4, random_state=0, n_jobs=1)
        return model.fit(np.column_stack([cases, actions]), rewards), np.column_stack([cases, actions])
    from econml.policy import DRPolicyForest

    model = DRPolicyForest(n_estimators=20, max_depth=4, random_state=0, n_jobs=1)
    return model.fit(rewards, actions, X=cases), cases


def _told(work: Callable[[], str]) -> str:
    """What a process of its own answers: its word, or how it died."""
    reader, writer = os.pipe()

    def answer() -> None:
        signal.alarm(int(SECONDS))
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, 1)
        os.dup2(nothing, 2)
        os.write(writer, work().encode())

    child = in_child(answer)
    os.close(writer)
    with os.fdopen(reader) as found:
        word = found.read()
    status = os.waitpid(child, 0)[1]
    return word or f"the process died ({status})"


def flipped_bits(name: str, flips: int, folder: Path) -> Counts:
    counts, chance = Counts(f"{name}: flipped bits of a saved model"), random.Random(0)
    model, cases = fitted(name)
    right = model.predict(cases)
    place = folder / "rival.joblib"
    joblib.dump(model, place)
    whole = place.read_bytes()

    def read() -> str:
        try:
            found = joblib.load(place).predict(cases)
        except Exception as problem:
            return f"an exception ({type(problem).__name__})"
        return "loads, the same answers" if np.array_equal(found, right) else "loads, OTHER ANSWERS, nothing said"

    for _ in range(flips):
        content = bytearray(whole)
        content[chance.randrange(len(whole))] ^= 1 << chance.randrange(8)
        place.write_bytes(content)
        counts.add(_told(read))
    exceptions = sum(times for end, times in counts.ends.items() if end.startswith("an exception"))
    died = sum(times for end, times in counts.ends.items() if "died" in end)
    kept = {end: times for end, times in counts.ends.items() if end.startswith("loads")}
    counts.ends.clear()
    counts.ends.update({**kept, "an exception": exceptions, "the process died": died})
    return counts


def killed_writers(name: str, kills: int, folder: Path) -> Counts:
    """joblib.dump over the old file, killed at any time."""
    counts, chance = Counts(f"{name}: kills while a model is saved"), random.Random(0)
    model, _ = fitted(name)
    place = folder / "rival.joblib"
    begun = time.monotonic()
    joblib.dump(model, place)
    once = time.monotonic() - begun

    def endlessly() -> None:
        while True:
            joblib.dump(model, place)

    def read() -> str:
        try:
            joblib.load(place)
        except Exception:
            return "the model is lost"
        return "whole"

    for _ in range(kills):
        child = in_child(endlessly)
        time.sleep(chance.uniform(0, 4 * once))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        counts.add(_told(read))
        joblib.dump(model, place)
    return counts


def writers_and_readers(name: str, seconds: float, folder: Path) -> Counts:
    counts = Counts(f"{name}: two writers, three readers")
    model, _ = fitted(name)
    place = folder / "shared.joblib"
    joblib.dump(model, place)
    until = time.monotonic() + seconds

    def write() -> None:
        while time.monotonic() < until:
            joblib.dump(model, place)

    def read(report: Path) -> None:
        ends = {"read whole": 0, "an exception": 0}
        while time.monotonic() < until:
            try:
                joblib.load(place)
                ends["read whole"] += 1
            except Exception:
                ends["an exception"] += 1
        report.write_text(json.dumps(ends))

    reports = [folder / f"rival{number}.json" for number in range(3)]
    children = [in_child(write) for _ in range(2)] + [in_child(lambda r=report: read(r)) for report in reports]
    for child in children:
        os.waitpid(child, 0)
    for report in reports:
        for end, times in (json.loads(report.read_text()) if report.exists() else {"a reader died": 1}).items():
            counts.ends[end] += times
    counts.ends = +counts.ends
    return counts


def odd_tables(name: str, seeds: range, folder: Path) -> Counts:
    """pandas.read_csv, text one-hot, and the model; a user's shortest way."""
    counts = Counts(f"{name}: odd tables, fitted")

    def fit(path: Path) -> str:
        try:
            table = pd.read_csv(path)
            features = pd.get_dummies(table.drop(columns=["act", "y"]), dummy_na=False)
            actions, rewards = table["act"].astype("category").cat.codes.to_numpy(), table["y"].to_numpy()
            if name == "scikit-learn":
                from sklearn.ensemble import HistGradientBoostingRegressor

                model = HistGradientBoostingRegressor(max_iter=5).fit(features.assign(act_code=actions), rewards)
                prices = model.predict(features.assign(act_code=0))
            else:
                from econml.policy import DRPolicyForest

                model = DRPolicyForest(n_estimators=8, n_jobs=1).fit(rewards, actions, X=features)
                prices = np.asarray(model.predict_value(features))
        except Exception:
            return "an exception"
        return "done" if np.isfinite(prices).all() else "done, with prices that are no numbers"

    for seed in seeds:
        counts.add(_told(lambda seed=seed: fit(odd_file(seed, folder))))
    return counts


def codes() -> Counts:
    """007 and NA, read by pandas as a user does: alone, and in a table."""
    counts = Counts("pandas: codes and marks that are values")
    together = pd.read_csv(io.StringIO("code,x\n007,1\nA12,2\n"))["code"][0]
    alone = pd.read_csv(io.StringIO("code,x\n007,1\n"))["code"][0]
    counts.add("007 alone is another value than in a table" if str(alone) != str(together) else "007 is 007")
    kept = pd.read_csv(io.StringIO("arm\nNone\ndrug\n"))["arm"].to_list()
    counts.add("None is a value" if "None" in kept else "an arm called None becomes a gap, nothing said")
    short = pd.read_csv(io.StringIO("x,y,z\n1,2,3\n4,5"))
    counts.add("a file that is cut off is read, nothing said" if len(short) == 2 else "a cut file is refused")
    return counts
