"""Pages of `fll consumers`, `fll ls`, `fll dataset` and `fll run`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import heappop, heappush
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from fll_hbase.cli.render.result_tables import (
    Cell,
    TextTable,
    empty_message,
    member,
    rows_table,
    time_column,
    time_of,
)
from fll_hbase.cli.render.table_layout import CellText, Column, Prose
from fll_hbase.cli.render.time_text import Moment, describe_window, format_with_zone
from fll_hbase.client.answers import TableAnswer
from fll_hbase.model.masking import HIDDEN_NAMESPACE
from fll_hbase.queries import name_json
from fll_hbase.queries.catalogue import DatasetDetailsAnswer
from fll_hbase.queries.run_details import RunDetails
from fll_hbase.queries.tables import Row, named_json
from fll_hbase.queries.time_window import WindowText
from fll_hbase.runtime.escape import escape_control
from fll_hbase.runtime.json_types import Json

_RUN_MEMBERS = ("namespace", "application", "version", "program", "type", "state", "checksum")
_PROGRAM_MEMBERS = ("namespace", "application", "program")
_VERBS = {"forward": "reads", "backward": "writes", "both": "reads and writes"}


def consumers_page(programs: Sequence[Row], subject: str, window: WindowText, note: str) -> RenderableType:
    """Render the programs that read a dataset or field, how often and when, or a message with the note."""
    if not programs:
        return empty_message(window, note)
    heading = f"Programs that read {escape_control(subject)}, {describe_window(window)}"
    # Without the last run, which CSV and JSON have, because the table has to fit into a terminal.
    columns: dict[str | Column, Cell] = {
        "program": _program,
        "runs": member("runs"),
        "failed": member("failed"),
        time_column("first", window.zone, spare=1): time_of("firstStart", window.zone, to_minute=True),
        time_column("last", window.zone): time_of("lastStart", window.zone, to_minute=True),
    }
    return Group(Text(heading, style="bold"), rows_table(programs, columns))


def _program(program: Row) -> str:
    """Return a program as text with its other names unless hidden, and a mark if its columns are unknown."""
    mark = " (columns unknown)" if program["columns"] else ""
    if program["namespace"] == HIDDEN_NAMESPACE:
        return f"{program['program']}{mark}"
    return "/".join(program[name] for name in _PROGRAM_MEMBERS) + mark


def names_table(answer: TableAnswer[Any], zone: str) -> RenderableType:
    """Render names of the catalogue, with a column for each member of any row, or a hint without rows."""
    columns = [name for name in answer.columns if any(row[name] not in (None, "") for row in answer)]
    times = answer.shape.times
    titles = [f"{name} ({zone})" if name in times else name for name in columns]
    rows = [
        [_time(row[name], zone) if name in times else _cell(row[name]) for name in columns] for row in answer
    ]
    return TextTable(titles, rows) if rows else Text("Nothing is recorded yet; `fll sample` loads a sample.")


def dataset_page(body: DatasetDetailsAnswer, zone: str) -> RenderableType:
    """Render the known details of a dataset as a table of members, with times in the zone."""
    starts = {"first run": body.first_start, "last run": body.last_start}
    members: list[list[CellText]] = [
        ["dataset", f"{body.namespace}/{body.name}"],
        ["fields", str(body.fields)],
    ]
    members += [
        [name, "none is stored" if start is None else format_with_zone(start, zone)]
        for name, start in starts.items()
    ]
    if body.description:
        members.append(["description", Prose(body.description)])
    return TextTable(("member", "value"), members, is_summary=True)


def run_page(run: RunDetails, zone: str, *, checksums: bool) -> RenderableType:
    """Render a run: its members, its datasets, and its operations in a possible order of execution."""
    body = named_json(run)
    members: list[list[CellText]] = [["run", run.run], ["started", format_with_zone(run.start_time, zone)]]
    members += [
        [name, str(body[name])]
        for name in _RUN_MEMBERS
        if body.get(name) and (checksums or name != "checksum")
    ]
    if body.get("errorMessage"):
        members.append(["errorMessage", Prose(body["errorMessage"])])
    members += [[_VERBS[item["direction"]], name_json.text(item)] for item in body["endpoints"]]
    operations = [
        [item["type"], item["name"], _inputs(item), _outputs(item), Prose(item.get("description", ""))]
        for item in in_order(body["operations"])
    ]
    columns = ("type", "operation", "inputs", "outputs", "description")
    return Group(
        TextTable(("member", "value"), members, is_summary=True), Text(), TextTable(columns, operations)
    )


def in_order(operations: Sequence[Json]) -> list[Json]:
    """Return operations after the ones that their inputs come from, else READs first and in their own order.

    Operations in a cycle, which cannot occur in a run, come last.
    """
    operations = sorted(operations, key=lambda operation: operation["type"] != "READ")
    numbers = {operation["name"]: number for number, operation in enumerate(operations)}
    users: dict[int, list[int]] = {}
    waiting: dict[int, int] = {}
    for number, operation in enumerate(operations):
        names = {item["origin"] for item in operation.get("inputs", ())}
        origins = {numbers[name] for name in names if name in numbers} - {number}
        waiting[number] = len(origins)
        for origin in origins:
            users.setdefault(origin, []).append(number)
    ready = [number for number, count in waiting.items() if not count]
    ordered: list[int] = []
    while ready:
        ordered.append(heappop(ready))
        for user in users.get(ordered[-1], ()):
            waiting[user] -= 1
            if not waiting[user]:
                heappush(ready, user)
    circle = waiting.keys() - {*ordered}
    return [operations[number] for number in (*ordered, *sorted(circle))]


def _inputs(operation: Json) -> str:
    """Return the input of an operation as text: its dataset, or its inputs as `origin.name`."""
    if "source" in operation:
        return name_json.text(operation["source"])
    return _listed(f"{item['origin']}.{item['name']}" for item in operation.get("inputs", ()))


def _outputs(operation: Json) -> str:
    """Return the output of an operation as text: its dataset, or the names of its outputs."""
    if "destination" in operation:
        return name_json.text(operation["destination"])
    return _listed(item["name"] for item in operation.get("outputs", ()))


def _listed(names: Iterable[str]) -> Prose:
    """Return names as text with possible line breaks after each."""
    return Prose(escape_control(", ".join(names)))


def _time(milliseconds: int | None, zone: str) -> CellText:
    """Return a time to the minute, or "" for None."""
    return "" if milliseconds is None else Moment(milliseconds, zone, to_minute=True)


def _cell(value: Any) -> str:
    """Return a value as text: true as `yes`, false and None as ""."""
    if isinstance(value, bool):
        return "yes" if value else ""
    return "" if value is None else str(value)
