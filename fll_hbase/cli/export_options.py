"""Options of `fll record` for exports of other lineage systems, which become OpenLineage events."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, BinaryIO

import click

from fll_hbase.cli.options import Command
from fll_hbase.ingest.ndjson import InputLine, read_documents
from fll_hbase.runtime.errors import InputError
from fll_hbase.sources.lineage_exports import marquez

MARQUEZ = "marquez"


@dataclass(frozen=True, slots=True)
class LineageExport:
    """The export of one system. `title` names its parts in the counts."""

    option: str
    title: str
    convert: Callable[[bytes], bytes]

    def read(self, file: BinaryIO, *, bytes_max: int) -> Iterator[InputLine]:
        """Yield the event of each line of FILE, or the error of a line that has none."""
        return _convert(read_documents(file, bytes_max=bytes_max), self.convert)


_EXPORTS = {MARQUEZ: LineageExport(MARQUEZ, "rows of Marquez", marquez.read_event)}


def _convert(lines: Iterable[InputLine], convert: Callable[[bytes], bytes]) -> Iterator[InputLine]:
    """Yield each line with its text converted, or with the error of the conversion."""
    for line in lines:
        if line.error is not None:
            yield line
            continue
        try:
            yield replace(line, raw=convert(line.raw))
        except InputError as error:
            yield InputLine(line.number, b"", error)


def export_options(command: Command) -> Command:
    """Add the options, which the command receives as `export`, a LineageExport or None."""

    @click.option("--marquez", is_flag=True, help="FILE has rows of Marquez's table lineage_events.")
    @functools.wraps(command)
    def with_export(*, marquez: bool, **others: Any) -> None:
        export = _EXPORTS[MARQUEZ] if marquez else None
        if export is not None and (others["file_run"] or others["dbt_target"] or others["row_format"]):
            raise click.UsageError(
                f"--{export.option} cannot be combined with --sql, --pipeline, --dbt or rows of a warehouse.",
                click.get_current_context(),
            )
        command(export=export, **others)

    return with_export
