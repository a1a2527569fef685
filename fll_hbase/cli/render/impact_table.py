"""Impact of a change rendered as tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from fll_hbase.cli.render.result_tables import TextTable, time_column
from fll_hbase.cli.render.table_layout import CellText, Column
from fll_hbase.cli.render.time_text import Moment, describe_window
from fll_hbase.queries.impact.change_impact import Change, ComparedProgram, ImpactAnswer
from fll_hbase.queries.impact.wording import FIELD_TITLES, count_kinds
from fll_hbase.queries.time_window import WindowText
from fll_hbase.runtime.escape import escape_control

_CHANGE_COLUMNS = (Column("change", grouped=True), "field", "to", "fields", "datasets", "programs")


def impact_table(body: ImpactAnswer, window: WindowText) -> RenderableType:
    """Render the changes with the numbers of what is downstream, the programs that read it, and warnings."""
    title = f"Impact on what was recorded, {describe_window(window)}"
    parts: list[RenderableType] = [Text(escape_control(title), style="bold"), Text(count_kinds(body.counts))]
    if body.changes:
        parts += [Text(), TextTable(_CHANGE_COLUMNS, [_row(change) for change in body.changes], _heading)]
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


def _heading(cells: Sequence[str]) -> str:
    return cells[0]


def _row(change: Change) -> list[CellText]:
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
