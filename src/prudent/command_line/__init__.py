"""The command line: `prudent inspect`, `fit`, `recommend`, `evaluate`, `demo`.

Exit codes: 0 done, 2 bad input (one sentence on standard error), 1 a fault of prudent, 130 interrupted, 141 the reader
of a pipe closed it.
"""

import os
import sys
import traceback
from collections.abc import Sequence

from prudent.command_line.commands import app, debugging
from prudent.errors import InputProblem

__all__ = ["main"]

DONE, FAULT, BAD_INPUT, INTERRUPTED, BROKEN_PIPE = 0, 1, 2, 130, 141


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; `arguments` default to those of the process."""
    debugging.on = os.environ.get("PRUDENT_DEBUG", "") not in ("", "0")
    _never_fail_on_a_character()
    try:
        app(None if arguments is None else list(arguments), prog_name="prudent")
    except SystemExit as stop:
        return _exit_code(stop)
    except InputProblem as problem:
        return _report(str(problem), BAD_INPUT)
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as fault:
        last_line = traceback.format_exception_only(fault)[-1].strip().splitlines()[0]
        return _report(
            f"This is a fault of prudent, not of your input; please report it (PRUDENT_DEBUG=1 shows where it "
            f"happened): {last_line}",
            FAULT,
        )
    return DONE


def _report(sentence: str, code: int) -> int:
    if debugging.on:
        traceback.print_exc()
    print(sentence, file=sys.stderr)
    return code


def _exit_code(stop: SystemExit) -> int:
    # typer exits with 1 on a closed pipe, which here would mean a fault of prudent
    if isinstance(stop.__context__, BrokenPipeError):
        return BROKEN_PIPE
    if stop.code is None:
        return DONE
    return stop.code if isinstance(stop.code, int) else FAULT


def _never_fail_on_a_character() -> None:
    """Show a question mark for a character that the terminal's encoding lacks, rather than stop."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")
