"""Options of `fll record` for files that do not name their run: --sql and --pipeline."""

from __future__ import annotations

import functools
import json
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, BinaryIO

import click
import msgspec

from fll_hbase.cli.options import NAME, Command, add_options, now_ms, resolve_option, zone_option
from fll_hbase.cli.record_files import file_name, is_sql
from fll_hbase.cli.word_choice import WordChoice
from fll_hbase.ingest.ndjson import InputLine
from fll_hbase.ingest.registry import ROW_FORMATS
from fll_hbase.queries import time_window
from fll_hbase.runtime.errors import FieldError, LineageError, TooLarge, UnreadableDocument
from fll_hbase.sources import strict_json
from fll_hbase.sources.dialect_names import DIALECT_ALIASES, DIALECTS

SQL, PIPELINE = "sql", "pipeline"
_REQUIRED = ("namespace", "application", "program")
_RUN = ("application", "program", "run", "start")
_KIND_ONLY = {SQL: ("dialect", "catalog", "schema"), PIPELINE: ("argument",)}
"""Options that only one kind of file accepts."""

_WITH = "With --sql or --pipeline:"


@dataclass(frozen=True, slots=True)
class FileRun:
    """The run that a SQL file or a pipeline is recorded as. `arguments` are values of pipeline macros."""

    kind: str
    application: str
    program: str
    run: str
    start_ms: int
    dialect: str = DIALECTS[0]
    defaults: dict[str, str] = field(default_factory=dict)
    dataset_namespace: str = ""
    arguments: dict[str, str] = field(default_factory=dict)

    def read(self, file: BinaryIO, *, bytes_max: int) -> Iterator[InputLine]:
        """Yield the document that records the file, or its error: TooLarge or UnreadableDocument."""
        # Reading one byte too many is enough to detect a file that is too long.
        raw = file.read(bytes_max + 1)
        error: LineageError | None = None
        if len(raw) > bytes_max:
            error = TooLarge(f"longer than {bytes_max} bytes; split it, or raise FLL_DOCUMENT_BYTES_MAX")
        try:
            yield InputLine(1, b"" if error else self._document(raw), error)
        except UnicodeDecodeError as invalid:
            detail = f"not UTF-8: {invalid.reason} at byte {invalid.start}"
            yield InputLine(1, b"", UnreadableDocument([FieldError("", detail)]))
        except UnreadableDocument as unreadable:
            yield InputLine(1, b"", unreadable)

    def _document(self, raw: bytes) -> bytes:
        """Return the document that records a file. Raises UnicodeDecodeError for SQL, UnreadableDocument."""
        # The document of POST /v3/namespaces/<ns>/sql or /pipelines, which stores and servers record alike.
        run = {
            "application": self.application,
            "type": self.kind,
            "program": self.program,
            "run": self.run,
            "startTime": self.start_ms,
        }
        if self.kind == SQL:
            names = {"defaults": self.defaults, "datasetNamespace": self.dataset_namespace}
            document = {"run": run, "sql": raw.decode(), "dialect": self.dialect}
            return msgspec.json.encode(document | {name: value for name, value in names.items() if value})
        content = strict_json.parse_with_halves(raw)
        # CDAP exports a pipeline with its config as a member. A bare config is accepted, too.
        config = content["config"] if isinstance(content, dict) and "config" in content else content
        return json.dumps({"run": run, "config": config, "arguments": self.arguments}).encode()


def row_options(command: Command) -> Command:
    """Add an option for each format of exported rows; the command receives one name as `row_format`, or None.

    Several of them are a UsageError.
    """
    names = [document_format.name for document_format in ROW_FORMATS]

    @functools.wraps(command)
    def with_row_format(**others: Any) -> None:
        given = [name for name in names if others.pop(name)]
        if len(given) > 1:
            options = " or ".join(f"--{name}" for name in given)
            raise click.UsageError(f"Give {options}, not both.")
        command(row_format=given[0] if given else None, **others)

    options = [
        click.option(f"--{item.name}", is_flag=True, help=f"FILE has {item.title}.") for item in ROW_FORMATS
    ]
    return add_options(with_row_format, options)


def run_options(command: Command) -> Command:
    """Add --sql, --pipeline and their options, received as `file_run`: None for a FILE of another kind.

    The command must have `file`, `namespace` and `dataset_namespace`. A wrong combination is a UsageError.
    """

    @click.option("--sql", is_flag=True, help="FILE is SQL, recorded as one run, as each *.sql is.")
    @click.option("--pipeline", is_flag=True, help="FILE is a pipeline config, recorded as one run.")
    @click.option("--application", metavar="A", type=NAME, help=f"{_WITH} application of the run.")
    @click.option("--program", metavar="P", type=NAME, help=f"{_WITH} program of the run.")
    @click.option("--run", metavar="ID", type=NAME, help=f"{_WITH} id of the run (default: a new UUID).")
    @click.option("--start", metavar="TIME", help=f"{_WITH} start of the run (default: now).")
    @zone_option
    @click.option(
        "--dialect",
        metavar="DIALECT",
        type=WordChoice((*DIALECTS, *DIALECT_ALIASES)),
        help=f"With --sql: {', '.join(DIALECTS)} (default: {DIALECTS[0]}).",
    )
    @click.option(
        "--catalog", metavar="C", type=NAME, help="With --sql: catalog for table names that have none."
    )
    @click.option(
        "--schema", metavar="S", type=NAME, help="With --sql: schema for table names that have none."
    )
    @click.option(
        "--argument",
        metavar="KEY=VALUE",
        multiple=True,
        help="With --pipeline: value of the macro ${KEY}; can be repeated.",
    )
    @functools.wraps(command)
    def with_file_run(*, sql: bool, pipeline: bool, **others: Any) -> None:
        if sql and pipeline:
            raise click.UsageError("Give --sql or --pipeline, not both.")
        is_script = sql or (not pipeline and is_sql(others["file"]))
        kind = SQL if is_script else PIPELINE if pipeline else ""
        # `namespace` stays among the others, because every `fll record` accepts it, but here it is required.
        values = {name: others.pop(name) for name in (*_RUN, *_KIND_ONLY[SQL], *_KIND_ONLY[PIPELINE])}
        _check({"namespace": others.get("namespace"), **values}, kind)
        # `dataset_namespace` stays among the others, because dbt's artifacts also accept it.
        values["dataset_namespace"] = others["dataset_namespace"] if kind == SQL else ""
        command(file_run=file_run(kind, values) if kind else None, **others)

    return with_file_run


def file_run(kind: str, values: Mapping[str, Any]) -> FileRun:
    """Return the run of a FILE from checked values of options. `run` and `start` may be missing.

    `start` defaults to now, `run` to a new UUID, `dialect` to the first. Raises UsageError for an --argument
    without a key or `=`, and InvalidQuery for an invalid `start`.
    """
    start = resolve_option("start", values.get("start") or "now")
    pairs = [argument.partition("=") for argument in values["argument"]]
    for key, equals, value in pairs:
        if not (key and equals):
            raise click.UsageError(f"--argument {key}{equals}{value}: give KEY=VALUE.")
    return FileRun(
        kind=kind,
        application=values["application"],
        program=values["program"],
        # A new id each time, so that without --run, recording a file again adds a run, and repeats none.
        run=values.get("run") or str(uuid.uuid4()),
        # Parsed as the end of a window from 0, so that --start has the syntax, rounding and limit of --end.
        start_ms=time_window.parse_window("0", start, now_ms=now_ms()).stop_ms,
        dialect=values["dialect"] or DIALECTS[0],
        defaults={name: values[name] for name in ("catalog", "schema") if values[name]},
        dataset_namespace=values["dataset_namespace"] or "",
        arguments={key: value for key, _, value in pairs},
    )


def _check(values: dict[str, Any], kind: str) -> None:
    """Raise UsageError for required options that are missing, and for options of another kind of file."""
    # click's `required=True` has no condition, but these options are only needed with --sql and --pipeline.
    missing = [f"--{name}" for name in _REQUIRED if kind and values[name] is None]
    if missing:
        typed = click.get_current_context().params
        subject = f"--{kind}" if typed[kind] else f"{file_name(typed['file'])} is SQL, which"
        raise click.UsageError(f"{subject} needs {', '.join(missing)} too.")
    other_kinds = {SQL: _KIND_ONLY[PIPELINE], PIPELINE: _KIND_ONLY[SQL]}
    excluded = other_kinds.get(kind, (*_RUN, *_KIND_ONLY[SQL], *_KIND_ONLY[PIPELINE]))
    if given := [f"--{name}" for name in excluded if values[name]]:
        kinds = " or ".join(f"--{other}" for other in (SQL, PIPELINE) if other != kind)
        raise click.UsageError(f"{', '.join(given)}: only with {kinds}.")
