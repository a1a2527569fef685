"""Options of `fll record` for exports of other lineage systems, which become OpenLineage events."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO, TypeAlias

import click

from fll_hbase.cli.options import Command
from fll_hbase.ingest.ndjson import InputLine, read_documents
from fll_hbase.runtime.errors import LineageError

MARQUEZ, SPLINE = "marquez", "spline"

Conversion: TypeAlias = Callable[[bytes], Iterable[bytes | LineageError]]
"""Returns the events of a line, or errors in their place. Raises LineageError if the line has none."""


@dataclass(frozen=True, slots=True)
class LineageExport:
    """The export of one system. `title` names the events in the counts."""

    title: str
    convert: Conversion

    def read(self, file: BinaryIO, *, bytes_max: int) -> Iterator[InputLine]:
        """Yield the events of each line of FILE, or errors in their place."""
        return _convert(read_documents(file, bytes_max=bytes_max), self.convert)


def _marquez(_: str) -> LineageExport:
    # Imported when used, as are the other systems, because most commands read no export.
    from fll_hbase.sources.lineage_exports import marquez

    return LineageExport("rows of Marquez", lambda raw: [marquez.read_event(raw)])


def _spline(namespace: str) -> LineageExport:
    from fll_hbase.capture import spline

    convert = functools.partial(spline.read_executions, namespace=namespace)
    return LineageExport("executions of Spline", convert)


_EXPORTS: dict[str, Callable[[str], LineageExport]] = {MARQUEZ: _marquez, SPLINE: _spline}
"""By option, a function from the namespace of jobs to the export."""


def _convert(lines: Iterable[InputLine], convert: Conversion) -> Iterator[InputLine]:
    """Yield a line for each event of a line, or for each error, with the same number."""
    for line in lines:
        if line.error is not None:
            yield line
            continue
        try:
            for item in convert(line.raw):
                error = item if isinstance(item, LineageError) else None
                yield InputLine(line.number, b"" if isinstance(item, LineageError) else item, error)
        except LineageError as fault:
            yield InputLine(line.number, b"", fault)


def export_options(command: Command) -> Command:
    """Add the options, which the command receives as `export`, a LineageExport or None."""

    @click.option("--marquez", is_flag=True, help="FILE has rows of Marquez's table lineage_events.")
    @click.option("--spline", is_flag=True, help="FILE has plans of Spline with their executions.")
    @functools.wraps(command)
    def with_export(*, marquez: bool, spline: bool, **others: Any) -> None:
        given = [name for name, is_given in ((MARQUEZ, marquez), (SPLINE, spline)) if is_given]
        _check(given, others)
        export = _EXPORTS[given[0]](others["namespace"] or "") if given else None
        command(export=export, **others)

    return with_export


def _check(given: list[str], others: dict[str, Any]) -> None:
    """Raise UsageError unless at most one option is given, with what it needs and nothing else."""
    context = click.get_current_context()
    if len(given) > 1:
        raise click.UsageError(f"Give --{' or --'.join(given)}, not both.", context)
    if given and (others["file_run"] or others["dbt_target"] or others["row_format"]):
        detail = "cannot be combined with --sql, --pipeline or --dbt, nor with rows of a warehouse."
        raise click.UsageError(f"--{given[0]} {detail}", context)
    if given == [SPLINE] and not others["namespace"]:
        raise click.UsageError("--spline needs --namespace, the namespace of the jobs.", context)
