"""Histories, diffs and the impact of a change rendered as tables."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from fll_hbase.cli.render.result_tables import TextTable, empty_message, time_column
from fll_hbase.cli.render.table_layout import CellText, Checksum, Column
from fll_hbase.cli.render.time_text import Moment, describe_window, format_with_zone
from fll_hbase.model.datasets import WHOLE_DATASET
from fll_hbase.queries.diff import ChangedField, DatasetDiff, DatasetDiffAnswer, DiffAnswer, Parts
from fll_hbase.queries.history import History, HistoryAnswer
from fll_hbase.queries.impact.wording import FIELD_TITLES, count_kinds
from fll_hbase.queries.reports.report_document import count_text
from fll_hbase.queries.time_window import WindowText
from fll_hbase.runtime.escape import escape_control

if TYPE_CHECKING:
    # It would import the readers of all sources.
    from fll_hbase.queries.impact.change_impact import Change, ComparedProgram, ImpactAnswer

_PART_COLUMNS = ("", "part", "name", "detail")
_CHANGE_COLUMNS = (Column("change", grouped=True), "field", "to", "fields", "datasets", "programs")


def history_table(body: HistoryAnswer, query: History, window: WindowText, note: str = "") -> RenderableType:
    """Render stretches, newest first, with lines for runs without the field, or a message with the `note`."""
    if not body.stretches and not body.missing_before:
        return empty_message(window, note)
    field = escape_control(f"{query.dataset}.{query.field}")
    title = Text(f"How {field} was produced, {describe_window(window)}", style="bold")
    times = (time_column("first run", window.zone), time_column("last run", window.zone))
    columns = (*times, "runs", "content of the last run")
    return Group(title, TextTable(columns, list(_stretch_rows(body, window.zone))))


def diff_table(
    body: DiffAnswer | DatasetDiffAnswer,
    query: DatasetDiff,
    window: WindowText,
    *,
    base: WindowText,
    field: str,
) -> RenderableType:
    """Render what only the window has (+) and what only the base window has (-).

    For a dataset, this is rendered for each field that is produced differently.
    """
    windows = f"{describe_window(window)} compared with {describe_window(base)}"
    if isinstance(body, DiffAnswer):
        name = escape_control(f"{query.dataset}.{field}")
        return Group(
            Text(f"How {name} is produced, {windows}", style="bold"), *_difference(body, window.zone)
        )
    dataset = escape_control(str(query.dataset))
    parts: list[RenderableType] = [Text(f"How fields of {dataset} are produced, {windows}", style="bold")]
    for changed in body.fields:
        parts += [
            Text(),
            Text(escape_control(changed.field), style="bold"),
            *_difference(changed, window.zone),
        ]
    if not body.fields:
        parts.append(Text("No difference."))
    return Group(*parts)


def _difference(body: DiffAnswer | ChangedField, zone: str) -> list[RenderableType]:
    """Return the parts of a diff: a table of gains and losses, notes, and the common count."""
    signs = (("+", body.gained), ("-", body.lost))
    rows: list[list[CellText]] = []
    for sign, parts in signs:
        rows += ([sign, *row] for row in chain(_way_rows(parts, zone), _part_rows(parts)))
    table = [TextTable(_PART_COLUMNS, rows)] if rows else []
    notes = [Text(line) for line in _notes(body, is_empty=not rows)]
    gained, lost = len(body.gained.derivations), len(body.lost.derivations)
    counts = f"ways gained: {gained}, ways lost: {lost}; {body.common} operations and edges in both"
    return [*table, *notes, Text(counts, style="dim")]


def _notes(body: DiffAnswer | ChangedField, *, is_empty: bool) -> Iterator[str]:
    """Yield a line for a truncated diff, or else for a diff without differences (`is_empty`)."""
    if body.omitted:
        yield f"Not complete, because a limit cut the answer: what was {' and '.join(body.omitted)}."
    elif is_empty:
        yield "No difference."


def _stretch_rows(body: HistoryAnswer, zone: str) -> Iterator[list[CellText]]:
    """Yield a row for each stretch, newest first, and rows for missing runs between and inside them."""
    for stretch in body.stretches:
        yield from _missing_row(stretch.missing_after, "")
        times = (Moment(stretch.first_start, zone), Moment(stretch.last_start, zone))
        yield [*times, str(stretch.runs), Checksum(stretch.checksum)]
        yield from _missing_row(stretch.missing, " between these")
    yield from _missing_row(body.missing_before, "")


def _missing_row(count: int, position: str) -> Iterator[list[CellText]]:
    """Yield a row for `count` runs without the field unless it is 0; `position` says where they are."""
    if count:
        yield ["", "", str(count), f"(without the field{position})"]


def _way_rows(parts: Parts, zone: str) -> Iterator[list[CellText]]:
    """Yield a row (kind, content of the newest run, runs) for each way of deriving the field."""
    for way in parts.derivations:
        runs = count_text(way.runs, "run")
        if way.last_start is not None:
            runs += f", the last at {format_with_zone(way.last_start, zone)}"
        yield ["way", Checksum(way.checksum), runs]


def _part_rows(parts: Parts) -> Iterator[list[CellText]]:
    """Yield a row (kind, name, details) for each source, operation and edge."""
    for source in parts.sources:
        yield ["source", f"{source}.{WHOLE_DATASET}" if source.hidden else str(source), ""]
    for operation in parts.operations:
        dataset = "" if operation.end_point is None else str(operation.end_point)
        details = [detail for detail in (operation.type, dataset, operation.description) if detail]
        yield ["operation", operation.name, ", ".join(details)]
    for edge in parts.edges:
        indirect = " (indirect)" if edge.influence else ""
        yield ["edge", f"{edge.start} → {edge.to}{indirect}", f"by {edge.operation}"]


def impact_table(body: ImpactAnswer, window: WindowText) -> RenderableType:
    """Render the changes with the numbers of what is downstream, the programs that read it, and warnings."""
    title = f"Impact on what was recorded, {describe_window(window)}"
    parts: list[RenderableType] = [Text(escape_control(title), style="bold"), Text(count_kinds(body.counts))]
    if body.changes:
        rows = [_change_row(change) for change in body.changes]
        parts += [Text(), TextTable(_CHANGE_COLUMNS, rows, lambda cells: cells[0])]
    if downstream := list(_downstream_rows(body, window.zone)):
        columns = (Column("program", grouped=True), time_column("last run", window.zone), "downstream of", "")
        parts += [Text(), Text("Programs downstream"), TextTable(columns, downstream)]
    if body.programs:
        statuses = ("program", "status", "changes", time_column("compared with the run of", window.zone))
        rows = [_program_row(item, window.zone) for item in body.programs]
        parts += [Text(), Text("Programs of the change"), TextTable(statuses, rows)]
    if body.warnings:
        parts += [
            Text(),
            TextTable(("warning", "detail"), [[item.path, item.detail] for item in body.warnings]),
        ]
    return Group(*parts)


def _change_row(change: Change) -> list[CellText]:
    """Return a change as cells; numbers are empty if nothing was read."""
    downstream = change.downstream
    counts = (
        ["", "", ""]
        if downstream is None
        else [f"{downstream.field_count:,}", str(len(downstream.datasets)), str(len(downstream.programs))]
    )
    types = f"{change.old.type} → {change.new.type}" if change.old and change.new else ""
    return [
        FIELD_TITLES[change.kind],
        str(change.field),
        change.to or types * (change.kind == "retyped"),
        *counts,
    ]


def _downstream_rows(body: ImpactAnswer, zone: str) -> Iterator[list[CellText]]:
    """Yield each program downstream of any change once, with the first changed field that it depends on."""
    seen: set[tuple[str | None, ...]] = set()
    for change in body.changes:
        for item in change.downstream.programs if change.downstream else ():
            name = item.namespace, item.application, item.program
            if name not in seen:
                seen.add(name)
                notes = ["fields unknown"] * item.unknown + ["in the change"] * item.in_change
                program = "/".join(map(str, name))
                yield [program, Moment(item.last_start, zone), str(change.field), ", ".join(notes)]


def _program_row(item: ComparedProgram, zone: str) -> list[CellText]:
    """Return how a program was compared as cells."""
    status = item.status.replace("_", " ") + (", without literals" if item.without_literals else "")
    last = "" if item.last_start is None else Moment(item.last_start, zone)
    return [f"{item.namespace}/{item.application}/{item.program}", status, str(item.changes), last]
