"""How is a run laid out as cells, and read back: its row, references and index rows. Its content is in
content_rows; both are pure, and the same for every way in.

The format is written down in docs/row-keys.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from fll_hbase.errors import CorruptRow, TooLarge
from fll_hbase.keys import layout
from fll_hbase.keys.codec import SEPARATOR, day_of, escaped, measured, unescaped
from fll_hbase.model import checksum as checksums
from fll_hbase.model.operations import (
    Dataset,
)
from fll_hbase.model.run_events import Event, Kind, in_order
from fll_hbase.model.runs import Direction, ProgramRun, State
from fll_hbase.tables import Cell, Put, Row

_NAMED = 8
"""So many pieces of a truth come before the details, which hold any character."""

_STATES = {state.value.encode(): state for state in State}

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
    sources: tuple[Dataset, ...]
    destinations: tuple[Dataset, ...]

    def __hash__(self) -> int:
        """A checksum names its content, so it says all; this is asked for every run."""
        return hash(self.checksum)

    def directed(self) -> Iterator[tuple[Direction, Dataset]]:
        for end_point in self.destinations:
            yield Direction.BACKWARD, end_point
        for end_point in self.sources:
            yield Direction.FORWARD, end_point


class Latest(NamedTuple):
    """The document of a run row that counts."""

    number: int
    value: bytes


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
        return Claim(checksum.decode(), int(start), _STATES[state])
    except (ValueError, KeyError) as error:
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
    return sized(layout.part_row(digest), layout.PART, text, "what the event says of lineage")


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


def _event(column: bytes, cell: Cell) -> Event:
    try:
        kind, part, facts = cell.value.decode().split("|")
        return Event(layout.event_time_ms(column), Kind(kind), part, facts)
    except ValueError as error:
        raise CorruptRow(f"{column!r}: {cell.value!r} is not an event") from error


def sized(row: bytes, column: bytes, value: bytes, what: str = "") -> Put:
    """The cell. Raises TooLarge, saying `what` it would be, where no cell holds it."""
    if len(value) > CELL_BYTES_MAX:
        said = what or column.decode("ascii", "replace")
        raise TooLarge(f"{said} is {len(value)} bytes long, one cell holds {CELL_BYTES_MAX}; split it")
    return Put(row, column, value)


def unique(puts: Iterable[Put]) -> list[Put]:
    """One put per cell, the last one."""
    return list({(put.row, put.column): put for put in puts}.values())
