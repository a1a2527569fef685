"""How is a recorded run laid out as cells, and read back: pure, and the same for every way in.

The format is written down in docs/row-keys.md.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from fll_hbase.errors import CorruptRow, TooLarge
from fll_hbase.keys import layout
from fll_hbase.keys.codec import SEPARATOR, day_of, escaped, measured, unescaped
from fll_hbase.model import checksum as checksums
from fll_hbase.model.events import Event, Kind, in_order
from fll_hbase.model.graph import GRAPHED_OPERATIONS_MAX
from fll_hbase.model.lineage import FieldLineageInfo
from fll_hbase.model.operations import (
    EndPoint,
    EndPointField,
    Influence,
    Operation,
    Read,
    Write,
    outputs_of,
)
from fll_hbase.model.runs import Direction, ProgramRun, State
from fll_hbase.model.schemas import Schema
from fll_hbase.model.summary import FieldMap, Flow
from fll_hbase.tables import Cell, Put, Row

_NAMED = 8
"""So many pieces of a truth come before the details, which hold any character."""

_RANGES = re.compile(rb"[0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?)*")

CELL_BYTES_MAX = 8 * 2**20
"""HBase refuses cells at about 10 MiB, and with them every row of the batch."""


class Truth(NamedTuple):
    """What a run row says of its run."""

    checksum: str
    run: ProgramRun


class Claim(NamedTuple):
    """As much of a truth as confirming a candidate takes."""

    checksum: str
    start_ms: int
    state: State


@dataclass(frozen=True, slots=True)
class Ends:
    """What references and index rows of a content are made of."""

    checksum: str
    sources: tuple[EndPoint, ...]
    destinations: tuple[EndPoint, ...]

    def __hash__(self) -> int:
        """A checksum names its content, so it says all; this is asked for every run."""
        return hash(self.checksum)

    def directed(self) -> Iterator[tuple[Direction, EndPoint]]:
        for end_point in self.destinations:
            yield Direction.BACKWARD, end_point
        for end_point in self.sources:
            yield Direction.FORWARD, end_point


@dataclass(frozen=True, slots=True)
class Content:
    """The rows of one distinct set of operations: its catalogue entries and its data row."""

    ends: Ends
    catalogue: tuple[Put, ...]
    data: tuple[Put, ...]


class Latest(NamedTuple):
    """The document of a run row that counts."""

    number: int
    value: bytes


def content_of(info: FieldLineageInfo) -> Content:
    """All rows that do not depend on the run. Raises TooLarge naming what exceeds a cell."""
    ends = Ends(info.checksum, info.sources, info.destinations)
    data = tuple(_data(info))
    return Content(ends, tuple(catalogue_puts(info)), data)


def head_of(truth: Truth) -> bytes:
    """The value of truth cells of a run told by events, which say the rest: as much as confirming takes."""
    return head_value(truth.checksum, truth.run.start_ms, truth.run.state)


def head_value(checksum: str, start_ms: int, state: State) -> bytes:
    """What `head_of` makes of a truth that says this."""
    return b"%b|%d|%b" % (checksum.encode(), start_ms, state.value.encode())


def encoded(truth: Truth) -> bytes:
    """The value of document cells, and of their truths. Raises TooLarge where no cell holds it."""
    run = truth.run
    names = (run.namespace, run.application, run.version, run.type, run.program)
    details = (run.details.encode(),) if run.details else ()
    value = SEPARATOR.join((head_of(truth), *map(escaped, names), *details))
    if len(value) > CELL_BYTES_MAX:
        raise TooLarge(
            f"run {run.run!r}: names and details of the run are {len(value)} bytes long; shorten them"
        )
    return value


def decoded(run_id: str, value: bytes) -> Truth:
    """The inverse of `encoded`. Raises CorruptRow for any other bytes."""
    try:
        checksum, start, state, *names = value.split(SEPARATOR, _NAMED)
        details = names.pop().decode() if len(names) == _NAMED - 2 else ""
        if details and not details.startswith("{"):
            raise ValueError("details are a JSON object")
        namespace, application, version, type_, program = map(unescaped, names)
        run = ProgramRun(
            namespace,
            application,
            version,
            type_,
            program,
            run_id,
            int(start),
            State(state.decode()),
            details,
        )
        return Truth(checksum.decode(), run)
    except (ValueError, TypeError) as error:
        raise CorruptRow(f"run {run_id!r}: {value!r} is not the truth about a run") from error


def claimed(value: bytes) -> Claim:
    """What `head_of` made, or `encoded` begins with. Raises CorruptRow for any other bytes."""
    try:
        checksum, start, state, *_ = value.split(SEPARATOR, 3)
        return Claim(checksum.decode(), int(start), State(state.decode()))
    except ValueError as error:
        raise CorruptRow(f"{value!r} is not the truth about a run") from error


def is_head(value: bytes) -> bool:
    """Whether it says no more than confirming takes."""
    return value.count(SEPARATOR) == 2


def document_put(row: bytes, number: int, value: bytes) -> Put:
    """The cell of one whole document."""
    return Put(row, layout.document_column(number, checksums.digest(value)), value)


def latest_document(row: Row) -> Latest | None:
    """Of all documents the one with the highest number; on a tie, the greatest digest."""
    latest = max((column for column in row if column.startswith(layout.DOCUMENT)), default=None)
    if latest is None:
        return None
    try:
        return Latest(int(latest[len(layout.DOCUMENT) :][:8], 16), row[latest].value)
    except ValueError as error:
        raise CorruptRow(f"{latest!r} is not the column of a document") from error


def document_values(row: Row) -> list[bytes]:
    """What all documents of a run row say, the latest last."""
    return [row[column].value for column in sorted(c for c in row if c.startswith(layout.DOCUMENT))]


def said_count(row: Row) -> int:
    """How many documents and events a run row holds."""
    return sum(column.startswith((layout.DOCUMENT, layout.EVENT)) for column in row)


def truth_count(row: Row, value: bytes) -> int:
    """The count under which this is the truth: that of what was said, unless another truth counts as much.

    One does where a purge took what it counted from under a writer: what is true now must win.
    """
    said = said_count(row)
    counts = {column: _counted(column) for column in row if column.startswith(layout.TRUTH)}
    count = max(counts.values(), default=0)
    if count < said:
        return said
    agreed = all(row[column].value == value for column in counts if counts[column] == count)
    return count if agreed else count + 1


def _counted(truth: bytes) -> int:
    return int(truth[len(layout.TRUTH) :][:8], 16)


def event_put(row: bytes, event: Event) -> Put:
    """The cell of one event."""
    value = SEPARATOR.join((event.kind.value.encode(), event.part.encode(), event.facts.encode()))
    return Put(row, layout.event_column(event.time_ms, checksums.digest(value)), value)


def events_of(row: Row) -> list[Event]:
    """The events of a run row, in order. Raises CorruptRow."""
    return in_order(_event(column, cell) for column, cell in row.items() if column.startswith(layout.EVENT))


def part_put(digest: str, text: bytes) -> Put:
    """The cell of what events say. Raises TooLarge where no cell holds it."""
    return _sized(layout.part_row(digest), layout.PART, text, "what the event says of lineage")


def truth_put(row: bytes, count: int, value: bytes) -> Put:
    """The cell that makes `value` the truth, unless a pass saw more documents than `count`."""
    return Put(row, layout.truth_column(count, checksums.digest(value)), value)


def truth_value(row: Mapping[bytes, Cell]) -> bytes | None:
    """The truth of the greatest count; None where no pass has finished yet."""
    truths = [column for column in row if column.startswith(layout.TRUTH)]
    return row[max(truths)].value if truths else None


def reference_puts(truth: Truth, ends: Ends, *, program: bytes) -> Iterator[Put]:
    """One row per end point that the run read or wrote."""
    run = truth.run
    column = reference_column(truth.checksum, failed=run.state.failed)
    tail = layout.reference_tail(run.start_ms, run.run)
    for head in _reference_heads(ends):
        yield Put(measured(head + tail), column, program)


@lru_cache(maxsize=4_096)
def _reference_heads(ends: Ends) -> tuple[bytes, ...]:
    """What the references of a content begin with."""
    return tuple(layout.references(direction, end_point) for direction, end_point in ends.directed())


def reference_column(checksum: str, *, failed: bool) -> bytes:
    """The cell of a content in references of a run, which may have failed."""
    return (layout.FAILED_REFERENCE if failed else layout.REFERENCE) + checksum.encode()


def program_of(run: ProgramRun) -> bytes:
    """The value of references to a run told by a document."""
    return SEPARATOR.join(map(escaped, (run.application, run.version, run.type, run.program)))


def longest_prefix_bytes(ends: Ends) -> int:
    """What the longest reference key of a content takes before its tail."""
    return max(map(len, _reference_heads(ends)), default=0)


def witnesses(truths: Iterable[Truth]) -> Iterable[Truth]:
    """Of the runs that share their index rows, the last one."""
    return {
        (truth.checksum, truth.run.state.failed, day_of(truth.run.start_ms)): truth for truth in truths
    }.values()


def index_puts(truth: Truth, ends: Ends) -> Iterator[Put]:
    """One row per end point, day and content; its witness is the run."""
    run = truth.run
    column = layout.FAILED_WITNESS if run.state.failed else layout.WITNESS
    tail = layout.index_tail(day_of(run.start_ms), truth.checksum)
    witness = layout.reference_tail(run.start_ms, run.run)
    for direction, end_point in ends.directed():
        yield Put(layout.index(direction, end_point) + tail, column, witness)


def ends_of(checksum: str, row: Row) -> Ends:
    """The end points of a data row. Raises CorruptRow."""
    return Ends(checksum, _end_points(row, layout.SOURCES), _end_points(row, layout.DESTINATIONS))


def field_map_of(row: Row) -> FieldMap:
    """The field map of a data row. Raises CorruptRow."""
    try:
        return _parsed_field_map(json.loads(row[layout.FIELD_MAP].value))
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise CorruptRow("the field map of a data row cannot be read") from error


def operation_of(cell: Cell) -> Operation:
    """The operation of one cell. Raises CorruptRow."""
    try:
        return checksums.parsed(cell.value)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise CorruptRow(f"{cell.value[:200]!r} is not an operation") from error


def operation_names_of(cell: Cell) -> list[str]:
    """All operation names of a data row, sorted. Raises CorruptRow."""
    try:
        return [str(name) for name in json.loads(cell.value)]
    except (ValueError, TypeError, RecursionError) as error:
        raise CorruptRow(f"{cell.value[:200]!r} is not a list of operation names") from error


def numbers_of(cell: Cell) -> Iterator[int]:
    """The operations of a graph cell, as numbers into the sorted names. Raises CorruptRow."""
    if not _RANGES.fullmatch(cell.value):
        raise CorruptRow(f"{cell.value[:200]!r} is not a list of operation numbers")
    for piece in cell.value.decode().split(","):
        first, _, last = piece.partition("-")
        yield from range(int(first), int(last or first) + 1)


def same_content(row: Row, content: Content) -> bool:
    """Whether a stored data row holds the very operations of the content."""
    stored = {column: cell.value for column, cell in row.items() if column.startswith(layout.OPERATION)}
    return stored == {
        put.column: put.value for put in content.data if put.column.startswith(layout.OPERATION)
    }


def ranges(bits: int) -> bytes:
    """A set of numbers as text: `0-2,7` for bits 0, 1, 2 and 7."""
    digits = bin(bits)[:1:-1]
    found = (match.span() for match in re.finditer("1+", digits))
    return ",".join(str(a) if b - a == 1 else f"{a}-{b - 1}" for a, b in found).encode()


def _event(column: bytes, cell: Cell) -> Event:
    try:
        kind, part, facts = cell.value.decode().split("|")
        return Event(layout.event_time_ms(column), Kind(kind), part, facts)
    except ValueError as error:
        raise CorruptRow(f"{column!r}: {cell.value!r} is not an event") from error


def catalogue_puts(info: FieldLineageInfo) -> Iterator[Put]:
    """What a content says of end points: each cell is true whatever else is recorded, in any order."""
    types = {
        (operation.name, output.name): output.type
        for operation in info.operations
        for output in outputs_of(operation)
    }
    for end_point in {*info.sources, *info.destinations}:
        yield Put(layout.end_point_row(end_point), layout.EXISTS, b"")
    for field in info.field_map.fields:
        yield from _field_puts(Direction.FORWARD, field, "")
    for operation in info.operations:
        if isinstance(operation, Read):
            yield from _description_puts(operation.source, operation.source_description)
            for output in operation.outputs:
                yield from _field_puts(
                    Direction.FORWARD, EndPointField(operation.source, output.name), output.type
                )
        elif isinstance(operation, Write):
            yield from _description_puts(operation.destination, operation.destination_description)
            for taken in operation.inputs:
                if taken.influence is Influence.DIRECT:
                    target = EndPointField(operation.destination, taken.name)
                    yield from _field_puts(
                        Direction.BACKWARD, target, types.get((taken.origin, taken.name), "")
                    )


def schema_puts(schema: Schema) -> Iterator[Put]:
    """Catalogue cells of what is known of an end point without any run; an alias is told at both ends."""
    row = layout.end_point_row(schema.end_point)
    yield Put(row, layout.EXISTS, b"")
    yield from _description_puts(schema.end_point, schema.description)
    for field in schema.fields:
        yield from _said_puts(row, layout.stated_column(field.name), field.type)
    for alias in schema.aliases:
        yield Put(layout.end_point_row(alias), layout.EXISTS, b"")
        yield Put(layout.alias_row(schema.end_point), layout.alias_column(alias), b"")
        yield Put(layout.alias_row(alias), layout.alias_column(schema.end_point), b"")


def _field_puts(direction: Direction, field: EndPointField, type_: str) -> Iterator[Put]:
    yield from _said_puts(
        layout.end_point_row(field.end_point), layout.field_column(direction, field.name), type_
    )


def _said_puts(row: bytes, column: bytes, type_: str) -> Iterator[Put]:
    yield Put(row, column, b"")
    if type_:
        yield _sized(row, layout.said_column(column, checksums.digest(type_.encode())), type_.encode())


def _description_puts(end_point: EndPoint, description: str) -> Iterator[Put]:
    if description:
        column = layout.DESCRIPTION + checksums.digest(description.encode()).encode()
        yield _sized(layout.end_point_row(end_point), column, description.encode())


def _data(info: FieldLineageInfo) -> Iterator[Put]:
    """Operations first, so that one which no cell holds is named itself."""
    row = layout.data_row(info.checksum)
    size = 0
    for operation in info.operations:
        value = checksums.canonical(operation).encode()
        size += len(value)
        yield _sized(row, layout.operation_column(operation.name), value, f"operation {operation.name!r}")
    yield Put(row, layout.VERSION, checksums.VERSION.encode())
    yield _sized(row, layout.SOURCES, _json([[e.namespace, e.name] for e in info.sources]))
    yield _sized(row, layout.DESTINATIONS, _json([[e.namespace, e.name] for e in info.destinations]))
    yield _sized(row, layout.FIELD_MAP, _json(_described_field_map(info.field_map)))
    yield _sized(row, layout.OPERATION_NAMES, _json([operation.name for operation in info.operations]))
    yield from _graphs(row, info, size)


def _graphs(row: bytes, info: FieldLineageInfo, size_bytes: int) -> Iterator[Put]:
    """One cell per field, or none at all where they would outgrow the operations themselves."""
    sets = [*info.backward.values(), *info.forward.values()]
    if len(info.operations) > GRAPHED_OPERATIONS_MAX or sum(map(_runs_of_bits, sets)) > size_bytes:
        return
    puts = [
        Put(row, layout.graph_column(direction, field.end_point, field.name), ranges(bits))
        for direction, graphs in ((Direction.BACKWARD, info.backward), (Direction.FORWARD, info.forward))
        for field, bits in graphs.items()
    ]
    if sum(len(put.value) for put in puts) <= size_bytes:
        yield from puts


def _runs_of_bits(bits: int) -> int:
    return (bits & ~(bits << 1)).bit_count()


def _sized(row: bytes, column: bytes, value: bytes, what: str = "") -> Put:
    if len(value) > CELL_BYTES_MAX:
        said = what or column.decode("ascii", "replace")
        raise TooLarge(f"{said} is {len(value)} bytes long, one cell holds {CELL_BYTES_MAX}; split it")
    return Put(row, column, value)


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def _end_points(row: Row, column: bytes) -> tuple[EndPoint, ...]:
    try:
        said = json.loads(row[column].value)
        "".join(name for pair in said for name in pair).encode()
        return tuple(EndPoint(namespace, name) for namespace, name in said)
    except (ValueError, KeyError, TypeError) as error:
        raise CorruptRow(f"{column!r} of a data row is not a list of end points") from error


def _described_field_map(field_map: FieldMap) -> dict[str, Any]:
    """Source fields by end point, then everything as numbers into them; sets as hex, bit n is field n."""
    fields: dict[EndPoint, list[str]] = {source: [] for source in field_map.sources}
    for field in field_map.fields:
        fields[field.end_point].append(field.name)
    place = {end_point: number for number, end_point in enumerate(field_map.destinations)}
    generated: dict[int, list[str]] = {}
    for field in field_map.generated:
        generated.setdefault(place[field.end_point], []).append(field.name)
    return {
        "sources": [[end_point.namespace, end_point.name, names] for end_point, names in fields.items()],
        "destinations": [[end_point.namespace, end_point.name] for end_point in field_map.destinations],
        "flows": [
            [place[flow.destination], flow.fields, f"{flow.direct:x}", f"{flow.indirect:x}"]
            for flow in field_map.flows
        ],
        "generated": list(generated.items()),
        "dropped": [f"{field_map.dropped_direct:x}", f"{field_map.dropped_indirect:x}"],
        "whole": [[place[end_point], f"{bits:x}"] for end_point, bits in field_map.whole],
        "unread": [field_map.sources.index(end_point) for end_point in field_map.unread],
        "unwritten": [place[end_point] for end_point in field_map.unwritten],
    }


def _parsed_field_map(said: dict[str, Any]) -> FieldMap:
    sources = tuple(EndPoint(namespace, name) for namespace, name, _ in said["sources"])
    destinations = tuple(EndPoint(namespace, name) for namespace, name in said["destinations"])
    dropped_direct, dropped_indirect = (int(bits, 16) for bits in said["dropped"])
    return FieldMap(
        fields=tuple(
            EndPointField(source, name)
            for source, (_, _, names) in zip(sources, said["sources"], strict=True)
            for name in names
        ),
        sources=sources,
        destinations=destinations,
        flows=tuple(
            Flow(destinations[place], tuple(names), int(direct, 16), int(indirect, 16))
            for place, names, direct, indirect in said["flows"]
        ),
        generated=tuple(
            EndPointField(destinations[place], name) for place, names in said["generated"] for name in names
        ),
        dropped_direct=dropped_direct,
        dropped_indirect=dropped_indirect,
        whole=tuple((destinations[place], int(bits, 16)) for place, bits in said["whole"]),
        unread=tuple(sources[place] for place in said["unread"]),
        unwritten=tuple(destinations[place] for place in said["unwritten"]),
    )


def unique(puts: Iterable[Put]) -> list[Put]:
    """One put per cell, the last one."""
    return list({(put.row, put.column): put for put in puts}.values())
