"""The command line: `prudent inspect`, `fit`, `recommend`, `evaluate`, `demo`.

Exit codes: 0 done, 2 bad input or no room to write (one sentence on standard error), 1 a fault of prudent, 130
interrupted, 141 the reader of a pipe closed it.
"""

import errno
import os
import sys
import traceback
from collections.abc import Sequence

from prudent.command_line.commands import app, debugging
from prudent.command_line.stopping import drop_streams, stopping_at_once
from prudent.errors import InputProblem
from prudent.show import printable

__all__ = ["main"]

DONE, FAULT, BAD_INPUT, INTERRUPTED, BROKEN_PIPE = 0, 1, 2, 130, 141
LONGEST = 4000
"""Characters of a message: a table may hold cells of any length."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; `arguments` default to those of the process."""
    debugging.on = os.environ.get("PRUDENT_DEBUG", "") not in ("", "0")
    _give_back_standard_error()
    if sys.stdout is None:
        # the next file that is opened would take its place, and get what is printed
        return _report("Standard output is closed; let it go to a file, or to /dev/null.", BAD_INPUT)
    _never_fail_on_a_character()
    with stopping_at_once():
        try:
            return _run(arguments)
        except InputProblem as problem:
            return _report(str(problem), BAD_INPUT, in_lines=problem.details is not None)
        except OSError as problem:
            return _report_of_the_system(problem)
        except KeyboardInterrupt:
            return INTERRUPTED
        except MemoryError:
            return _report(
                "There is not enough memory for this; ask for fewer rows, columns or completions.", BAD_INPUT
            )
        except BaseException as fault:  # a panic of polars is not an Exception
            return _report(
                "This is a fault of prudent, not of your input; please report it (PRUDENT_DEBUG=1 shows where it "
                f"happened): {_last_line(fault)}",
                FAULT,
            )


def _run(arguments: Sequence[str] | None) -> int:
    code = DONE
    try:
        app(None if arguments is None else list(arguments), prog_name="prudent")
    except SystemExit as stop:
        # typer exits with 1 on a closed pipe, which here would mean a fault of prudent
        if isinstance(stop.__context__, BrokenPipeError):
            raise stop.__context__ from None
        code = DONE if stop.code is None else stop.code if isinstance(stop.code, int) else FAULT
    sys.stdout.flush()  # here, not at exit, where nobody could say that it failed
    return code


def _report_of_the_system(problem: OSError) -> int:
    """No room, no right, no such name: what the system said, and of which file."""
    if isinstance(problem, BrokenPipeError):
        drop_streams()
        return BROKEN_PIPE
    why = problem.strerror or str(problem)
    if problem.filename is None and problem.errno in (errno.ENOSPC, errno.EIO, errno.EBADF, errno.EDQUOT):
        code = _report(f"The output cannot be written ({why}); make room, or name another place.", BAD_INPUT)
        drop_streams()
        return code
    if problem.filename is None:
        return _report(f"The system refused ({why}).", BAD_INPUT)
    return _report(f"'{os.fsdecode(problem.filename)}' cannot be used ({why}); name another place.", BAD_INPUT)


def _last_line(fault: BaseException) -> str:
    return traceback.format_exception_only(fault)[-1].strip().partition("\n")[0]


def _report(sentence: str, code: int, in_lines: bool = False) -> int:
    """in_lines: its line ends are ours; elsewhere they come from a name or a cell."""
    if debugging.on:
        traceback.print_exc()
    words = printable(sentence, kept="\n" if in_lines else "")
    try:
        print(words if len(words) <= LONGEST else f"{words[:LONGEST]} …", file=sys.stderr, flush=True)
    except OSError:
        drop_streams()
    return code


def _give_back_standard_error() -> None:
    """Where it is closed, what would be said goes nowhere; else the next file that is opened would get it."""
    if sys.stderr is not None:
        return
    try:
        os.fstat(2)
    except OSError:
        nowhere = os.open(os.devnull, os.O_RDWR)
        if nowhere != 2:
            os.dup2(nowhere, 2)
            os.close(nowhere)
    sys.stderr = open(os.devnull, "w")  # noqa: SIM115


def _never_fail_on_a_character() -> None:
    """Show a question mark for a character that the terminal's encoding lacks, rather than stop."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")
