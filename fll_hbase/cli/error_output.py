"""Standard error: messages that accompany an answer, and errors, one line each with what to do next."""

from __future__ import annotations

import sys
from typing import Any

import click

from fll_hbase.cli.groups import CommandGroup
from fll_hbase.runtime.errors import ConfigurationError, InvalidQuery, LineageError
from fll_hbase.runtime.escape import escape_control

# click and other commands also use 2. Shells report SIGINT as 130, which is 128 plus the number of the
# signal.
FAILURE, USAGE, INTERRUPTED = 1, 2, 130

PARTIAL = 3
"""Exit code of a job on Spark that rejected some lines, within the allowed limit, and recorded the others."""


class CliGroup(CommandGroup):
    """A group whose exit code is 2 for an invalid command, and 1 for a command that fails."""

    def main(self, *args: Any, **extra: Any) -> Any:
        """Run a command and exit; report any LineageError or click error on one line with its exit code.

        With `standalone_mode=False`, return its value, and let its errors pass.
        """
        # As click documents, the caller handles exceptions if it calls a command from Python this way.
        if not extra.pop("standalone_mode", True):
            return super().main(*args, **{**extra, "standalone_mode": False})
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):
                # Names may contain characters that the encoding of a terminal or pipe lacks.
                stream.reconfigure(errors="backslashreplace")
        try:
            # In standalone mode, click would print the usage with an error, and a traceback for a
            # LineageError.
            code = super().main(*args, **{**extra, "standalone_mode": False})
        # The order of the clauses matters: UsageError is a ClickException, and InvalidQuery a LineageError.
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
        # Without standalone mode, click returns the code of `ctx.exit(code)`, or the value of the command.
        sys.exit(code if isinstance(code, int) else 0)


def print_err(text: str) -> None:
    """Print lines to standard error, unescaped, so that standard output contains only the answer.

    A terminal breaks long lines at spaces, without breaking names and commands in them.
    """
    if sys.stderr.isatty():
        # Imported here, because most errors do not go to a terminal, and `fll --version` prints none.
        from rich.cells import cell_len

        from fll_hbase.cli.render.console import open_console
        from fll_hbase.cli.render.screen import wrap

        width = open_console(sys.stderr).size.width
        lines = (wrap(line, width) if cell_len(line) > width else [line] for line in text.split("\n"))
        text = "\n".join(row for rows in lines for row in rows)
    click.echo(text, err=True)


def _report_usage(error: click.UsageError) -> int:
    """Print the fault in the words of a command, or its help if it has no words; return the exit code."""
    message = error.format_message()
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        print_err(message)
        return USAGE
    path = error.ctx.command_path if error.ctx else "fll"
    # click ends its own sentences, but texts of the system have no full stop.
    end = "" if message.endswith((".", "?", "!")) else "."
    return _report(f"{path}: {message}{end} `{path} --help` says more.", USAGE)


def _report(line: str, code: int) -> int:
    """Print a line to standard error with control characters escaped, and return `code`."""
    # Errors quote names of documents and messages of servers, which may contain control sequences.
    print_err(escape_control(line))
    return code
