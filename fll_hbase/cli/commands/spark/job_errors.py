"""Errors of Spark jobs: the cause in one line, and the trace in a place where it can be read later."""

from __future__ import annotations

import re
import tempfile
from subprocess import Popen, TimeoutExpired
from typing import TYPE_CHECKING

import click

from fll_hbase.cli.error_output import print_err
from fll_hbase.runtime.escape import escape_control

if TYPE_CHECKING:
    from py4j.java_gateway import JavaGateway

TRACE_CHARACTERS_MAX = 2**20
"""Maximum number of characters of a trace that are kept. The rest, where causes repeat, is left out."""

END_SECONDS = 10.0
"""How long a JVM that does not answer may take to end."""

OUT_OF_MEMORY = 52
"""Exit code of Spark after a thread ran out of memory."""

_ENDED = "the JVM of Spark has ended"
_JAVA_CAUSE = re.compile("(Caused by)?: ")
_TRACEBACK = "Traceback (most recent call last):"
_ERRORS_MODULE = "fll_hbase.runtime.errors."


def jvm_end(gateway: JavaGateway) -> str:
    """Return a text that says that the JVM behind a gateway has ended or hangs, or "" if it answers.

    The text gives the reason if the exit code shows it. This waits for the end of the JVM for at most
    END_SECONDS.
    """
    from py4j.protocol import Py4JError

    try:
        gateway.jvm.System.nanoTime()
    except (Py4JError, ConnectionError):
        # Under spark-submit there is no child process: the JVM started this process, and reports its own end.
        process: Popen[bytes] | None = getattr(gateway, "proc", None)
    else:
        return ""
    try:
        code = process.wait(END_SECONDS) if process else None
    except TimeoutExpired:
        return "the JVM of Spark does not answer"
    if code == OUT_OF_MEMORY:
        return f"{_ENDED}: out of memory; raise --driver-memory"
    if code is not None and code < 0:
        return f"{_ENDED}: killed by signal {-code}"
    return _ENDED if code is None else f"{_ENDED} with exit code {code}"


def find_cause(text: str) -> str:
    """Return the cause of an error of Spark in one line, from its Java and Python traces.

    The last error of this package is preferred, then the error that ended the Python worker, then the last
    two causes of the Java trace, and finally the first line that is not blank.
    """
    lines = text.splitlines()
    # An error of a worker arrives as text: its Python traceback, with class names, within a Java trace.
    own_errors = [line for line in lines if line.startswith(_ERRORS_MODULE)]
    if own_errors:
        return own_errors[-1].removeprefix(_ERRORS_MODULE)
    if python_errors := _python_errors(lines):
        return python_errors[-1]
    causes = [line.removeprefix("Caused by").removeprefix(": ") for line in lines if _JAVA_CAUSE.match(line)]
    return ": ".join(causes[-2:]) or next((line.strip() for line in lines if line.strip()), "no reason given")


def _python_errors(lines: list[str]) -> list[str]:
    """Return the last line of each Python traceback: the class of the error, and its message."""
    errors = []
    in_traceback = False
    for line in lines:
        if line.strip() == _TRACEBACK:
            in_traceback = True
        # Frames of a traceback are indented, but the error after them is not.
        elif in_traceback and line and not line[0].isspace():
            errors.append(line)
            in_traceback = False
    return errors


def report_trace(trace: str, *, verbose: bool) -> str:
    """Write a trace to standard error if `verbose`, else to a new file; return a clause that says where.

    The file is in the directory for temporary files, and only its owner can read it.
    """
    cut_trace = trace[:TRACE_CHARACTERS_MAX]
    if not verbose:
        try:
            with tempfile.NamedTemporaryFile(
                "w", encoding="utf-8", errors="backslashreplace", prefix="fll-", suffix=".log", delete=False
            ) as file:
                file.write(cut_trace)
        # The disk may be full or read-only.
        except OSError as error:
            print_err(f"the trace cannot be written to a file ({error}):")
        else:
            return f"the trace is in {file.name}"
    for line in cut_trace.splitlines():
        click.echo(escape_control(line.expandtabs()), err=True)
    return "the trace is above"
