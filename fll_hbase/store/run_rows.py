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
from fll_hbase.keys.codec import SEPARATOR, check_key_length, day_of, escape, unescape
from fll_hbase.model import checksum as checksums
from fll_hbase.model.datasets import Dataset
from fll_hbase.model.run_events import EventType, RunEvent, sort_events
from fll_hbase.model.runs import ProgramRun, State
from fll_hbase.model.window import Direction
from fll_hbase.tables import Cell, Put, Row

_NAMED = 8
"""So many pieces of a truth come before the details, which hold any character."""

_STATES = {state.value.encode(): state for state in State}

CELL_BYTES_MAX = 8 * 2**20
"""HBase refuses cells at about 10 MiB, and with them every row of the batch."""


class CommittedRun(NamedTuple):
    """What a run row says of its run."""

    checksum: str
    run: ProgramRun


class CommittedHead(NamedTuple):
    """As much of a truth as confirming a candidate takes."""

    checksum: str
    start_ms: int
    state: State


@dataclass(frozen=True, slots=True)
class ContentEndpoints:
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


class LatestDocument(NamedTuple):
    """The document of a run row that counts."""

    number: int
    value: bytes


def encode_head(truth: CommittedRun) -> bytes:
    """The value of truth cells of a run told by events, which say the rest: as much as confirming takes."""
    return encode_head_values(truth.checksum, truth.run.start_ms, truth.run.state)


def encode_head_values(checksum: str, start_ms: int, state: State) -> bytes:
    """What `head_of` makes of a truth that says this."""
    return b"%b|%d|%b" % (checksum.encode(), start_ms, state.value.encode())


def encode_run(truth: CommittedRun) -> bytes:
    """The value of document cells, and of their truths. Raises TooLarge where no cell holds it."""
    run = truth.run
    names = (run.namespace, run.application, run.version, run.type, run.program)
    details = (run.details.encode(),) if run.details else ()
    value = SEPARATOR.join((encode_head(truth), *map(escape, names), *details))
    if len(value) > CELL_BYTES_MAX:
        raise TooLarge(
            f"run {run.run!r}: names and details of the run are {len(value)} bytes long; shorten them"
        )
    return value


def decode_run(run_id: str, value: bytes) -> CommittedRun:
    """The inverse of `encoded`. Raises CorruptRow for any other bytes."""
    try:
        checksum, start, state, *names = value.split(SEPARATOR, _NAMED)
        details = names.pop().decode() if len(names) == _NAMED - 2 else ""
        if details and not details.startswith("{"):
            raise ValueError("details are a JSON object")
        namespace, application, version, type_, program = map(unescape, names)
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
        return CommittedRun(checksum.decode(), run)
    except (ValueError, TypeError) as error:
        raise CorruptRow(f"run {run_id!r}: {value!r} is not the truth about a run") from error


def decode_head(value: bytes) -> CommittedHead:
    """What `head_of` made, or `encoded` begins with. Raises CorruptRow for any other bytes."""
    try:
        checksum, start, state, *_ = value.split(SEPARATOR, 3)
        return CommittedHead(checksum.decode(), int(start), _STATES[state])
    except (ValueError, KeyError) as error:
        raise CorruptRow(f"{value!r} is not the truth about a run") from error


def is_head_only(value: bytes) -> bool:
    """Whether it says no more than confirming takes."""
    return value.count(SEPARATOR) == 2


def document_put(row: bytes, number: int, value: bytes) -> Put:
    """The cell of one whole document."""
    return Put(row, layout.document_column(number, checksums.digest(value)), value)


def latest_document(row: Row) -> LatestDocument | None:
    """Of all documents the one with the highest number; on a tie, the greatest digest."""
    latest = max((column for column in row if column.startswith(layout.DOCUMENT)), default=None)
    if latest is None:
        return None
    try:
        return LatestDocument(int(latest[len(layout.DOCUMENT) :][:8], 16), row[latest].value)
    except ValueError as error:
        raise CorruptRow(f"{latest!r} is not the column of a document") from error


def document_values(row: Row) -> list[bytes]:
    """What all documents of a run row say, the latest last."""
    return [row[column].value for column in sorted(c for c in row if c.startswith(layout.DOCUMENT))]


def input_count(row: Row) -> int:
    """How many documents and events a run row holds."""
    return sum(column.startswith((layout.DOCUMENT, layout.EVENT)) for column in row)


def commit_count(row: Row, value: bytes) -> int:
    """The count under which this is the truth: that of what was said, unless another truth counts as much.

    One does where a purge took what it counted from under a writer: what is true now must win.
    """
    said = input_count(row)
    counts = {column: _counted(column) for column in row if column.startswith(layout.COMMIT)}
    count = max(counts.values(), default=0)
    if count < said:
        return said
    agreed = all(row[column].value == value for column in counts if counts[column] == count)
    return count if agreed else count + 1


def _counted(truth: bytes) -> int:
    return int(truth[len(layout.COMMIT) :][:8], 16)


def event_put(row: bytes, event: RunEvent) -> Put:
    """The cell of one event."""
    value = SEPARATOR.join((event.type.value.encode(), event.lineage_digest.encode(), event.facts_digest.encode()))
    return Put(row, layout.event_column(event.time_ms, checksums.digest(value)), value)


def decode_events(row: Row) -> list[RunEvent]:
    """The events of a run row, in order. Raises CorruptRow."""
    return sort_events(_event(column, cell) for column, cell in row.items() if column.startswith(layout.EVENT))


def event_body_put(digest: str, text: bytes) -> Put:
    """The cell of what events say. Raises TooLarge where no cell holds it."""
    return checked_put(layout.event_body_row(digest), layout.EVENT_BODY, text, "what the event says of lineage")


def commit_put(row: bytes, count: int, value: bytes) -> Put:
    """The cell that makes `value` the truth, unless a pass saw more documents than `count`."""
    return Put(row, layout.commit_column(count, checksums.digest(value)), value)


def commit_value(row: Mapping[bytes, Cell]) -> bytes | None:
    """The truth of the greatest count; None where no pass has finished yet."""
    truths = [column for column in row if column.startswith(layout.COMMIT)]
    return row[max(truths)].value if truths else None


def reference_puts(truth: CommittedRun, ends: ContentEndpoints, *, program: bytes) -> Iterator[Put]:
    """One row per end point that the run read or wrote."""
    run = truth.run
    column = reference_column(truth.checksum, failed=run.state.failed)
    tail = layout.reference_tail(run.start_ms, run.run)
    for head in _reference_heads(ends):
        yield Put(check_key_length(head + tail), column, program)


@lru_cache(maxsize=4_096)
def _reference_heads(ends: ContentEndpoints) -> tuple[bytes, ...]:
    """What the references of a content begin with."""
    return tuple(layout.reference_prefix(direction, end_point) for direction, end_point in ends.directed())


def reference_column(checksum: str, *, failed: bool) -> bytes:
    """The cell of a content in references of a run, which may have failed."""
    return (layout.FAILED_REFERENCE if failed else layout.REFERENCE) + checksum.encode()


def encode_program(run: ProgramRun) -> bytes:
    """The value of references to a run told by a document."""
    return SEPARATOR.join(map(escape, (run.application, run.version, run.type, run.program)))


def longest_prefix_bytes(ends: ContentEndpoints) -> int:
    """What the longest reference key of a content takes before its tail."""
    return max(map(len, _reference_heads(ends)), default=0)


def one_run_per_index_row(truths: Iterable[CommittedRun]) -> Iterable[CommittedRun]:
    """Of the runs that share their index rows, the last one."""
    return {
        (truth.checksum, truth.run.state.failed, day_of(truth.run.start_ms)): truth for truth in truths
    }.values()


def index_puts(truth: CommittedRun, ends: ContentEndpoints) -> Iterator[Put]:
    """One row per end point, day and content; its witness is the run."""
    run = truth.run
    column = layout.FAILED_SAMPLE_RUN if run.state.failed else layout.SAMPLE_RUN
    tail = layout.index_tail(day_of(run.start_ms), truth.checksum)
    witness = layout.reference_tail(run.start_ms, run.run)
    for direction, end_point in ends.directed():
        yield Put(layout.index_prefix(direction, end_point) + tail, column, witness)


def _event(column: bytes, cell: Cell) -> RunEvent:
    try:
        kind, part, facts = cell.value.decode().split("|")
        return RunEvent(layout.event_time_ms(column), EventType(kind), part, facts)
    except ValueError as error:
        raise CorruptRow(f"{column!r}: {cell.value!r} is not an event") from error


def checked_put(row: bytes, column: bytes, value: bytes, what: str = "") -> Put:
    """The cell. Raises TooLarge, saying `what` it would be, where no cell holds it."""
    if len(value) > CELL_BYTES_MAX:
        said = what or column.decode("ascii", "replace")
        raise TooLarge(f"{said} is {len(value)} bytes long, one cell holds {CELL_BYTES_MAX}; split it")
    return Put(row, column, value)


def last_put_per_cell(puts: Iterable[Put]) -> list[Put]:
    """One put per cell, the last one."""
    return list({(put.row, put.column): put for put in puts}.values())
