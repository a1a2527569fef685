"""Options of `fll record` for exports of other lineage systems, which become OpenLineage events."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO, TypeAlias

import click

from fll_hbase.cli.options import Command
from fll_hbase.cli.record_files import file_status
from fll_hbase.ingest.ndjson import InputLine, read_documents
from fll_hbase.runtime.errors import LineageError

MARQUEZ, SPLINE, OPENMETADATA = "marquez", "spline", "openmetadata"

Conversion: TypeAlias = Callable[[bytes], Iterable[bytes | LineageError]]
"""Returns the events of a line, or errors in their place. Raises LineageError if the line has none."""


@dataclass(frozen=True, slots=True)
class LineageExport:
    """The export of one system. `title` names the events in the counts."""

    title: str
    convert: Conversion

    def read(self, file: BinaryIO, *, bytes_max: int) -> Iterator[InputLine]:
        """Yield the events of each line of FILE, or errors in their place, with the number of the line."""
        for line in read_documents(file, bytes_max=bytes_max):
            if line.error is not None:
                yield line
                continue
            try:
                for item in self.convert(line.raw):
                    if isinstance(item, LineageError):
                        yield InputLine(line.number, b"", item)
                    else:
                        yield InputLine(line.number, item)
            except LineageError as fault:
                yield InputLine(line.number, b"", fault)


def _export(system: str, values: dict[str, Any]) -> LineageExport:
    """Return the export of a system; `values` has `namespace`, `service` and `file`, already checked."""
    # Imported when used, because most commands read no export.
    if system == MARQUEZ:
        from fll_hbase.sources.lineage_exports import marquez

        return LineageExport("rows of Marquez", lambda raw: [marquez.read_event(raw)])
    if system == SPLINE:
        from fll_hbase.capture import spline

        convert: Conversion = functools.partial(spline.read_executions, namespace=values["namespace"])
        return LineageExport("executions of Spline", convert)
    from fll_hbase.sources.lineage_exports import openmetadata

    services = dict(item.split("=", 1) for item in values["service"])
    # An edge without a time is known to exist when it is exported.
    status = file_status(values["file"])
    modified_ms = int(status.st_mtime * 1_000) if status else None
    settings = openmetadata.ExportSettings(values["namespace"], services, modified_ms)
    convert = functools.partial(openmetadata.read_lineage, settings=settings)
    return LineageExport("entities and pipelines of OpenMetadata", convert)


def export_options(command: Command) -> Command:
    """Add the options, which the command receives as `export`, a LineageExport or None.

    Put this below `run_options` and `row_options`. It also needs `file`, `namespace` and `dbt_target`. A
    wrong combination is a UsageError.
    """

    @click.option("--marquez", is_flag=True, help="FILE has rows of Marquez's table lineage_events.")
    @click.option("--spline", is_flag=True, help="FILE has plans of Spline with their executions.")
    @click.option("--openmetadata", is_flag=True, help="FILE has lineage of OpenMetadata's API.")
    @click.option(
        "--service",
        metavar="NAME=NS",
        multiple=True,
        help="With --openmetadata: namespace of a service's datasets; can be repeated.",
    )
    @functools.wraps(command)
    def with_export(**values: Any) -> None:
        given = [name for name in (MARQUEZ, SPLINE, OPENMETADATA) if values.pop(name)]
        _check(given, values)
        export = _export(given[0], values) if given else None
        del values["service"]
        command(export=export, **values)

    return with_export


def _check(given: list[str], values: dict[str, Any]) -> None:
    """Raise UsageError unless at most one option is given, with what it needs and nothing else."""
    faults = []
    if len(given) > 1:
        faults.append(f"Give one of --{', --'.join(given)}.")
    if given and (values["file_run"] or values["dbt_target"] or values["row_format"]):
        detail = "cannot be combined with --sql, --pipeline or --dbt, nor with rows of a warehouse."
        faults.append(f"--{given[0]} {detail}")
    if given and MARQUEZ not in given and not values["namespace"]:
        faults.append(f"--{given[0]} needs --namespace, the namespace of the jobs.")
    if values["service"] and given != [OPENMETADATA]:
        faults.append("--service needs --openmetadata.")
    faults += [
        f"--service {item}: give NAME=NS." for item in values["service"] if not all(item.partition("="))
    ]
    if faults:
        raise click.UsageError(" ".join(faults))
