"""Progress: what a caller's function hears, what a terminal shows, and that nothing is shown anywhere else."""

import io
import threading
from contextlib import redirect_stderr

import pytest

from prudent import progress
from prudent.progress import reporting, tracked, working


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def terminal(monkeypatch) -> Terminal:
    """For `redirect_stderr`, inside the test: pytest puts its own in place before that. Bars appear at once."""
    monkeypatch.setattr(progress, "DELAY", 0.0)
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("TERM", "xterm")
    return Terminal()


def wait_until_shown() -> None:
    """The bars appear in a thread of their own."""
    bars = progress._display._bars
    assert bars is not None
    shown = threading.Event()
    for _ in range(500):
        if bars.live.is_started:
            bars.refresh()
            return
        shown.wait(0.01)
    raise AssertionError("no bar appeared")


def test_a_function_hears_of_every_step_of_all_work_inside():
    heard = []

    def work():
        assert list(tracked(2, "first")) == [0, 1]
        for _ in tracked(1, "second"):
            pass

    with reporting(lambda done, total: heard.append((done, total))):
        work()
    work()
    assert heard == [(1, 2), (2, 2), (1, 1)]


def test_what_was_chosen_outside_holds_inside():
    heard = []
    with reporting(lambda done, total: heard.append(done)):
        with reporting(None):
            list(tracked(1, "inherits"))
        with reporting(False):
            list(tracked(5, "silent"))
    assert heard == [1]


def test_nothing_is_shown_off_a_terminal(monkeypatch, capsys):
    monkeypatch.setattr(progress, "DELAY", 0.0)
    with working("compiling"):
        assert sum(tracked(4, "training")) == 6
    assert progress._display._bars is None
    assert capsys.readouterr() == ("", "")


def test_a_terminal_shows_the_step_what_is_done_and_the_time(terminal):
    with redirect_stderr(terminal), working("[bold] of the table"):
        for done in tracked(4, "training"):
            if done == 3:
                wait_until_shown()
    text = terminal.getvalue()
    for words in ("training", "3 of 4", "0:00", "left", "[bold] of the table"):
        assert words in text
    assert progress._display._bars is None


def test_false_is_silent_on_a_terminal(terminal):
    with redirect_stderr(terminal), reporting(False), working("compiling"):
        list(tracked(3, "training"))
        assert progress._display._bars is None
    assert terminal.getvalue() == ""


def test_what_is_done_at_once_leaves_no_trace(terminal, monkeypatch):
    monkeypatch.setattr(progress, "DELAY", 60.0)
    with redirect_stderr(terminal):
        for _ in tracked(3, "training"):
            assert progress._display._bars is not None
    assert progress._display._bars is None
    assert terminal.getvalue() == ""


def test_a_loop_that_stops_early_or_fails_takes_its_bar_with_it(terminal):
    with redirect_stderr(terminal):
        for _ in tracked(10, "training"):
            assert progress._display._bars is not None
            break
        assert progress._display._bars is None
        with pytest.raises(RuntimeError), working("training"):
            raise RuntimeError
        assert progress._display._bars is None


def test_a_later_step_begins_a_new_display(terminal):
    with redirect_stderr(terminal):
        for label in ("first", "second"):
            for done in tracked(2, label):
                if done == 1:
                    wait_until_shown()
    assert all(label in terminal.getvalue() for label in ("first", "second"))


def test_long_steps_report_themselves(log, fitted_models):
    """Propensities, prices, decisions and advice say what they do without being handed anything."""
    from prudent import evaluate

    labels = []
    real = progress._shown
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(progress, "_shown", lambda label, total: labels.append(label) or real(label, total))
        policy = fitted_models["causal"].policy(completions=64)
        evaluate({"high": lambda frame: ["high"] * len(frame)}, log)
        policy.recommend(log.cases())
    for words in ("propensities", "prices", "completing and pricing"):
        assert any(words in label for label in labels)
