"""Which run is a file of plain SQL: the options that say so, and the document they make of it."""

from __future__ import annotations

import functools
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

import click
import msgspec

from fll_hbase import times
from fll_hbase.cli.clock import now_ms
from fll_hbase.cli.lines import Line
from fll_hbase.cli.options import NAME, Command
from fll_hbase.errors import Fault, LineageError, TooLarge, UnreadableDocument
from fll_hbase.sources.sql import DIALECTS

_NEEDED = ("namespace", "application", "program")
_LATER = ("application", "program", "run", "start", "dialect")


@dataclass(frozen=True, slots=True)
class Script:
    """The run that a file of SQL is, and the dialect it is in."""

    application: str
    program: str
    run: str
    start_ms: int
    dialect: str

    def documents(self, file: BinaryIO, bytes_max: int) -> Iterator[Line]:
        """The file as the one document that records it, or why it is none."""
        raw = file.read(bytes_max + 1)
        error: LineageError | None = None
        if len(raw) > bytes_max:
            error = TooLarge(f"longer than {bytes_max} bytes; split it, or raise FLL_DOCUMENT_BYTES_MAX")
        try:
            yield Line(1, b"" if error else self._document(raw.decode()), error)
        except UnicodeDecodeError as broken:
            detail = f"not UTF-8: {broken.reason} at byte {broken.start}"
            yield Line(1, b"", UnreadableDocument([Fault("", detail)]))

    def _document(self, sql: str) -> bytes:
        run = {
            "application": self.application,
            "type": "sql",
            "program": self.program,
            "run": self.run,
            "startTime": self.start_ms,
        }
        return msgspec.json.encode({"run": run, "sql": sql, "dialect": self.dialect})


def script_options(command: Command) -> Command:
    """--sql and what goes with it, given to the command as `script`."""

    @click.option("--sql", is_flag=True, help="FILE is SQL: one statement or a script, recorded as one run.")
    @click.option("--application", metavar="A", type=NAME, help="With --sql: the application of the run.")
    @click.option("--program", metavar="P", type=NAME, help="With --sql: the program of the run.")
    @click.option("--run", metavar="ID", type=NAME, help="With --sql: the run's id; by default a new one.")
    @click.option("--start", metavar="TIME", help="With --sql: when the run started; by default now.")
    @click.option("--dialect", type=click.Choice(DIALECTS), help=f"With --sql; by default {DIALECTS[0]}.")
    @functools.wraps(command)
    def scripted(*, sql: bool, **said: Any) -> None:
        given = {name: said.pop(name) for name in _LATER}
        _check({"namespace": said.get("namespace"), **given}, sql=sql)
        command(script=_script(given) if sql else None, **said)

    return scripted


def _script(given: dict[str, Any]) -> Script:
    return Script(
        application=given["application"],
        program=given["program"],
        run=given["run"] or str(uuid.uuid4()),
        start_ms=times.window("0", given["start"] or "now", now_ms=now_ms()).stop_ms,
        dialect=given["dialect"] or DIALECTS[0],
    )


def _check(given: dict[str, Any], *, sql: bool) -> None:
    """Raises UsageError for options that are needed, or that go with --sql alone."""
    missing = [f"--{name}" for name in _NEEDED if sql and given[name] is None]
    alone = [f"--{name}" for name in _LATER if not sql and given[name] is not None]
    context = click.get_current_context()
    if missing:
        raise click.UsageError(f"--sql needs {', '.join(missing)} too.", context)
    if alone:
        raise click.UsageError(f"{', '.join(alone)}: only with --sql.", context)
