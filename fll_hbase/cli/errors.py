"""How do errors end a command: one line that says what to do next, and an exit code."""

from __future__ import annotations

import sys
from typing import Any

import click

from fll_hbase.cli.render.escape import shown
from fll_hbase.errors import ConfigurationError, InvalidQuery, LineageError

FAILURE, USAGE, INTERRUPTED = 1, 2, 130


class OneLineErrors(click.Group):
    """Exit code 2 where the command was not said right, 1 where what it said could not be done."""

    def main(self, *args: Any, **extra: Any) -> Any:
        if not extra.pop("standalone_mode", True):
            return super().main(*args, **{**extra, "standalone_mode": False})
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="backslashreplace")  # names hold what a terminal may not
        try:
            code = super().main(*args, **{**extra, "standalone_mode": False})
        except click.UsageError as error:
            path = error.ctx.command_path if error.ctx else "fll"
            code = _told(f"{path}: {error.format_message()} `{path} --help` says more.", USAGE)
        except click.ClickException as error:
            code = _told(f"fll: {error.format_message()}", error.exit_code)
        except click.Abort:
            code = _told("fll: interrupted", INTERRUPTED)
        except (InvalidQuery, ConfigurationError) as error:
            code = _told(f"fll: {error}", USAGE)
        except LineageError as error:
            code = _told(f"fll: {error}", FAILURE)
        sys.exit(code if isinstance(code, int) else 0)


def _told(line: str, code: int) -> int:
    click.echo(shown(line), err=True)
    return code
