"""Standard error: messages beside an answer, and errors, one line each with what to do next."""

from __future__ import annotations

import sys
from typing import Any

import click

from fll_hbase.cli.groups import CommandGroup
from fll_hbase.runtime.errors import ConfigurationError, InvalidQuery, LineageError
from fll_hbase.runtime.escape import escape_control

# 2 as click and other commands use it; 130 is 128 plus the number of SIGINT, as shells report it.
FAILURE, USAGE, INTERRUPTED = 1, 2, 130

PARTIAL = 3
"""A job on Spark recorded its input except lines that it rejected, no more of them than allowed."""


class CliGroup(CommandGroup):
    """A group whose exit code is 2 for a command that is not valid, and 1 for one that fails."""

    def main(self, *args: Any, **extra: Any) -> Any:
        """Run a command and exit; report any LineageError or click error on one line with its exit code."""
        # As click documents it: exceptions are the caller's if a command is called from Python this way.
        if not extra.pop("standalone_mode", True):
            return super().main(*args, **{**extra, "standalone_mode": False})
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):
                # Names may contain characters that the encoding of a terminal or pipe does not have.
                stream.reconfigure(errors="backslashreplace")
        try:
            # Standalone, click would print the usage with an error, and a traceback for a LineageError.
            code = super().main(*args, **{**extra, "standalone_mode": False})
        # UsageError is a ClickException, and InvalidQuery a LineageError: the order of the clauses matters.
        except click.UsageError as error:
            code = _report_usage(error)
        except click.ClickException as error:
            code = _report(f"fll: {error.format_message()}", error.exit_code)
        except click.Abort:
            code = _report("fll: interrupted", INTERRUPTED)
        except (InvalidQuery, ConfigurationError) as error:
            code = _report(f"fll: {error}", USAGE)
        except LineageError as error:
            code = _report(f"fll: {error}", FAILURE)
        # Not standalone, click returns the code of `ctx.exit(code)`, else what the command returned.
        sys.exit(code if isinstance(code, int) else 0)


def print_err(text: str) -> None:
    """Print lines to standard error, unescaped, so that standard output contains the answer only.

    On a terminal long ones are broken at blanks: names and commands in them stay whole.
    """
    if sys.stderr.isatty():
        # Imported here: most errors are read by programs, and `fll --version` has none.
        from rich.cells import cell_len

        from fll_hbase.cli.render.console import open_console
        from fll_hbase.cli.render.screen import wrap

        width = open_console(sys.stderr).size.width
        lines = (wrap(line, width) if cell_len(line) > width else [line] for line in text.split("\n"))
        text = "\n".join(row for rows in lines for row in rows)
    click.echo(text, err=True)


def _report_usage(error: click.UsageError) -> int:
    """Print what is wrong with the words of a command, or its help if it has none; return the exit code."""
    message = error.format_message()
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        print_err(message)
        return USAGE
    path = error.ctx.command_path if error.ctx else "fll"
    # click ends its own sentences; texts of the system have no full stop.
    end = "" if message.endswith((".", "?", "!")) else "."
    return _report(f"{path}: {message}{end} `{path} --help` says more.", USAGE)


def _report(line: str, code: int) -> int:
    """Print a line to standard error, control characters escaped, and return `code`."""
    # Errors quote names of documents and messages of servers, which may contain control sequences.
    print_err(escape_control(line))
    return code
