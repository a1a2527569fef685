"""Which run is a file of plain SQL, or a pipeline config: the options that say so, and the document."""

from __future__ import annotations

import functools
import json
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, BinaryIO

import click
import msgspec

from fll_hbase import time_window
from fll_hbase.cli.clock import now_ms
from fll_hbase.cli.options import NAME, Command
from fll_hbase.errors import FieldError, LineageError, TooLarge, UnreadableDocument
from fll_hbase.ingest.ndjson import Line
from fll_hbase.sources import strict_json
from fll_hbase.sources.sql import DIALECTS

SQL, PIPELINE = "sql", "pipeline"
_NEEDED = ("namespace", "application", "program")
_RUN = ("application", "program", "run", "start")
_OWN = {SQL: ("dialect",), PIPELINE: ("argument",)}
"""Options that go with one kind of file alone."""

_WITH = "With --sql or --pipeline:"


@dataclass(frozen=True, slots=True)
class Script:
    """The run that a file is; the dialect that SQL is in, or what the macros of a pipeline stand for."""

    kind: str
    application: str
    program: str
    run: str
    start_ms: int
    dialect: str = DIALECTS[0]
    arguments: dict[str, str] = field(default_factory=dict)

    def documents(self, file: BinaryIO, bytes_max: int) -> Iterator[Line]:
        """The file as the one document that records it, or why it is none."""
        raw = file.read(bytes_max + 1)
        error: LineageError | None = None
        if len(raw) > bytes_max:
            error = TooLarge(f"longer than {bytes_max} bytes; split it, or raise FLL_DOCUMENT_BYTES_MAX")
        try:
            yield Line(1, b"" if error else self._document(raw), error)
        except UnicodeDecodeError as broken:
            detail = f"not UTF-8: {broken.reason} at byte {broken.start}"
            yield Line(1, b"", UnreadableDocument([FieldError("", detail)]))
        except UnreadableDocument as unreadable:
            yield Line(1, b"", unreadable)

    def _document(self, raw: bytes) -> bytes:
        run = {
            "application": self.application,
            "type": self.kind,
            "program": self.program,
            "run": self.run,
            "startTime": self.start_ms,
        }
        if self.kind == SQL:
            return msgspec.json.encode({"run": run, "sql": raw.decode(), "dialect": self.dialect})
        said = strict_json.parse(raw)
        config = said["config"] if isinstance(said, dict) and "config" in said else said
        return json.dumps({"run": run, "config": config, "arguments": self.arguments}).encode()


def script_options(command: Command) -> Command:
    """--sql, --pipeline and what goes with them, given to the command as `script`."""

    @click.option("--sql", is_flag=True, help="FILE is SQL: one statement or a script, recorded as one run.")
    @click.option("--pipeline", is_flag=True, help="FILE is a pipeline config, recorded as one run.")
    @click.option("--application", metavar="A", type=NAME, help=f"{_WITH} the application of the run.")
    @click.option("--program", metavar="P", type=NAME, help=f"{_WITH} the program of the run.")
    @click.option("--run", metavar="ID", type=NAME, help=f"{_WITH} the run's id; by default a new one.")
    @click.option("--start", metavar="TIME", help=f"{_WITH} when the run started; by default now.")
    @click.option("--dialect", type=click.Choice(DIALECTS), help=f"With --sql; by default {DIALECTS[0]}.")
    @click.option(
        "--argument",
        metavar="KEY=VALUE",
        multiple=True,
        help="With --pipeline: what the macro ${KEY} stands for; may be given often.",
    )
    @functools.wraps(command)
    def scripted(*, sql: bool, pipeline: bool, **said: Any) -> None:
        context = click.get_current_context()
        if sql and pipeline:
            raise click.UsageError("Give --sql or --pipeline, not both.", context)
        kind = SQL if sql else PIPELINE if pipeline else ""
        given = {name: said.pop(name) for name in (*_RUN, *_OWN[SQL], *_OWN[PIPELINE])}
        _check({"namespace": said.get("namespace"), **given}, kind, context)
        command(script=_script(kind, given, context) if kind else None, **said)

    return scripted


def _script(kind: str, given: dict[str, Any], context: click.Context) -> Script:
    pairs = [said.partition("=") for said in given["argument"]]
    wrong = [
        said for said, (key, equals, _) in zip(given["argument"], pairs, strict=True) if not (key and equals)
    ]
    if wrong:
        raise click.UsageError(f"--argument {wrong[0]}: give KEY=VALUE.", context)
    return Script(
        kind=kind,
        application=given["application"],
        program=given["program"],
        run=given["run"] or str(uuid.uuid4()),
        start_ms=time_window.window("0", given["start"] or "now", now_ms=now_ms()).stop_ms,
        dialect=given["dialect"] or DIALECTS[0],
        arguments={key: value for key, _, value in pairs},
    )


def _check(given: dict[str, Any], kind: str, context: click.Context) -> None:
    """Raises UsageError for options that are needed, or that go with another kind of file alone."""
    missing = [f"--{name}" for name in _NEEDED if kind and given[name] is None]
    if missing:
        raise click.UsageError(f"--{kind} needs {', '.join(missing)} too.", context)
    others = {SQL: _OWN[PIPELINE], PIPELINE: _OWN[SQL]}.get(kind, (*_RUN, *_OWN[SQL], *_OWN[PIPELINE]))
    alone = [f"--{name}" for name in others if given[name]]
    if alone:
        needed = " or ".join(f"--{other}" for other in (SQL, PIPELINE) if other != kind)
        raise click.UsageError(f"{', '.join(alone)}: only with {needed}.", context)
