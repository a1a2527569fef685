"""Cells of a run, encoded and decoded by pure functions: run row, references and row of the run index.

docs/reference/row-keys.md defines the format. Contents are in `content_rows`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import NamedTuple, TypeVar

import msgspec

from fll_hbase.keys import layout
from fll_hbase.keys.codec import (
    CACHED_CHARACTERS_MAX,
    SEPARATOR,
    check_key_length,
    escape,
    parse_hex,
    unescape,
)
from fll_hbase.model import checksum as checksums
from fll_hbase.model.run_events import EventType, RunEvent, sort_events
from fll_hbase.model.runs import ProgramRun, RunKey, State
from fll_hbase.runtime import typed_json
from fll_hbase.runtime.errors import CorruptRow, TooLarge
from fll_hbase.store.endpoints import ContentEndpoints
from fll_hbase.tables import Cell, Put, Row, Table, read_rows

T = TypeVar("T")

_FIELDS_BEFORE_DETAILS = 8
"""Number of separators at which a value is split; the JSON details that follow may contain more of them."""

_STATES = {state.value.encode(): state for state in State}

CELL_BYTES_MAX = 8 * 2**20
"""Maximum length of a value. HBase rejects cells of about 10 MiB, together with all rows of the batch."""


class CommittedRun(NamedTuple):
    """The committed state of a run: its content, the run as its row describes it, and its key."""

    checksum: str
    run: ProgramRun
    key: RunKey


class CommittedHead(NamedTuple):
    """The first fields of a commit value, enough to confirm that a run is in a window."""

    checksum: str
    start_ms: int
    state: State


class LatestDocument(NamedTuple):
    """The valid document of a run row, and its number."""

    number: int
    value: bytes


def head_of(committed: CommittedRun) -> CommittedHead:
    """Return the checksum, start and state of a committed run."""
    return CommittedHead(committed.checksum, committed.run.start_ms, committed.run.state)


def encode_head(head: CommittedHead) -> bytes:
    """Return the commit value of a run recorded by events, without names, which are read from its events."""
    # With names in each commit record and reference, a run would need 50 % more space (decision 12).
    return b"%b|%d|%b" % (head.checksum.encode(), head.start_ms, head.state.value.encode())


def encode_run(committed: CommittedRun) -> bytes:
    """Encode the value of a document cell and of its commit record. Raises TooLarge."""
    run = committed.run
    head = encode_head(CommittedHead(committed.checksum, run.start_ms, run.state))
    details = (run.details.encode(),) if run.details else ()
    value = SEPARATOR.join((head, escape(run.namespace), encode_program(run), *details))
    if len(value) > CELL_BYTES_MAX:
        raise TooLarge(
            f"run {run.run!r}: names and details of the run are {len(value)} bytes long; shorten them"
        )
    return value


def decode_run(key: RunKey, value: bytes) -> CommittedRun:
    """Decode a value from `encode_run`. Raises CorruptRow for any other bytes."""
    try:
        checksum, start, state, *names = value.split(SEPARATOR, _FIELDS_BEFORE_DETAILS)
        details = names.pop().decode() if len(names) == _FIELDS_BEFORE_DETAILS - 2 else ""
        if details:
            typed_json.decode(details, dict[str, msgspec.Raw])
        namespace, application, version, type_, program = map(unescape, names)
        run = ProgramRun(
            namespace,
            application,
            version,
            type_,
            program,
            key.run,
            int(start),
            State(state.decode()),
            details,
        )
        return CommittedRun(checksum.decode(), run, key)
    except (ValueError, TypeError) as error:
        raise CorruptRow(f"run {key.run!r}: {value!r} is not the value of a document") from error


def decode_head(value: bytes) -> CommittedHead:
    """Decode the head of a commit value or document. Raises CorruptRow for any other bytes."""
    try:
        checksum, start, state, *_ = value.split(SEPARATOR, 3)
        return CommittedHead(checksum.decode(), int(start), _STATES[state])
    except (ValueError, KeyError) as error:
        raise CorruptRow(f"{value!r} is not a commit value") from error


def is_head_only(value: bytes) -> bool:
    """Return whether a commit value has no names, as for a run recorded by events."""
    return value.count(SEPARATOR) == 2


def read_run_rows(table: Table, runs: Iterable[RunKey]) -> dict[RunKey, Row]:
    """Read the rows of runs in one call, or in none without runs; return the existing ones by run."""
    keys = {layout.run_row(*run): run for run in sorted(set(runs))}
    return read_rows(table, keys, columns=(layout.LIGHT,))


def document_put(row: bytes, number: int, value: bytes) -> Put:
    """Return the cell of one document; the column has its number and the digest of its value."""
    # If two writers choose the same number at once, they put two cells, and neither overwrites the other.
    return Put(row, layout.document_column(number, checksums.digest(value)), value)


def latest_document(row: Row) -> LatestDocument | None:
    """Return the document with the highest number and digest, or None if there is none. Raises CorruptRow."""
    # Numbers have a fixed width in hex, followed by digests, so the greatest column is the latest.
    latest = max([column for column in row if column.startswith(layout.DOCUMENT)], default=None)
    if latest is None:
        return None
    try:
        return LatestDocument(int(latest[len(layout.DOCUMENT) :][:8], 16), row[latest].value)
    except ValueError as error:
        raise CorruptRow(f"{latest!r} is not the column of a document") from error


def stored_document(key: bytes, row: Row, value: bytes) -> Put:
    """Return the put that repeats the latest document with this value, which the run row must have."""
    column = max(
        column for column, cell in row.items() if column.startswith(layout.DOCUMENT) and cell.value == value
    )
    return Put(key, column, value)


def document_values(row: Row) -> list[bytes]:
    """Return the values of all documents of a run row, lowest number first."""
    return [row[column].value for column in sorted(c for c in row if c.startswith(layout.DOCUMENT))]


def input_columns(row: Row) -> list[bytes]:
    """Return the columns of the documents and events of a run row."""
    return [column for column in row if column.startswith((layout.DOCUMENT, layout.EVENT))]


def input_count(row: Row) -> int:
    """Return the number of documents and events of a run row."""
    return len(input_columns(row))


def commit_count(row: Row, value: bytes, *, inputs: int) -> int:
    """Return the count under which `value` becomes the valid commit record of a run row.

    The count is `inputs`, unless a record already has that count or more. Then it is the greatest count of
    all records, plus one if a record with that count has another value. Raises CorruptRow.
    """
    counts = {column: count_in(column) for column in row if column.startswith(layout.COMMIT)}
    # A purge that overtakes a writer leaves a commit record with a count above the number of cells, which
    # would hide every later record (decision 15, found by simulation).
    count = max(counts.values(), default=0)
    if count < inputs:
        return inputs
    # An equal value needs no new count: a re-commit of an unchanged row puts the same cell again.
    agreed = all(row[column].value == value for column in counts if counts[column] == count)
    return count if agreed else count + 1


def is_finished(row: Row) -> bool:
    """Return whether a run row has a valid commit record that counts all its inputs. Raises CorruptRow."""
    column = commit_column_of(row)
    return column is not None and count_in(column) >= input_count(row)


def count_in(column: bytes) -> int:
    """Return the count in the column of a commit record. Raises CorruptRow for a column without one."""
    return parse_hex(column[len(layout.COMMIT) :][:8], digits=8, largest=2**32 - 1)


def event_put(row: bytes, event: RunEvent) -> Put:
    """Return the cell of one event; the column has its time and the digest of its value."""
    value = SEPARATOR.join(
        (event.type.value.encode(), event.lineage_digest.encode(), event.facts_digest.encode())
    )
    return Put(row, layout.event_column(event.time_ms, checksums.digest(value)), value)


def decode_events(row: Row) -> list[RunEvent]:
    """Return the events of a run row, sorted; [] if there are none. Raises CorruptRow."""
    return sort_events(
        _decode_event(column, cell) for column, cell in row.items() if column.startswith(layout.EVENT)
    )


def event_body_put(digest: str, body: bytes) -> Put:
    """Return the cell of one event body, given its digest. Raises TooLarge above CELL_BYTES_MAX."""
    return checked_put(layout.event_body_row(digest), layout.EVENT_BODY, body, "the lineage of the event")


def commit_put(row: bytes, count: int, value: bytes) -> Put:
    """Return the commit record of `value`; the record with the greatest count is valid."""
    return Put(row, layout.commit_column(count, checksums.digest(value)), value)


def commit_value(row: Mapping[bytes, Cell]) -> bytes | None:
    """Return the value of the valid commit record, or None without one, or for a run in another row."""
    column = commit_column_of(row)
    return None if column is None else row[column].value


def commit_column_of(row: Iterable[bytes]) -> bytes | None:
    """Return the column of the valid commit record, or None without one, or for a run in another row."""
    # A repair moved the run to another row, which has its commit record.
    if layout.MOVED in row:
        return None
    # Counts also have a fixed width in hex, so the greatest column has the greatest count.
    return max([column for column in row if column.startswith(layout.COMMIT)], default=None)


def reference_puts(committed: CommittedRun, endpoints: ContentEndpoints, *, program: bytes) -> list[Put]:
    """Return a reference, with value `program`, per dataset read and per dataset written. Raises TooLarge."""
    run = committed.run
    # Each content has its own cell, so a later document of the run adds a cell and hides none.
    column = reference_column(committed.checksum, failed=run.state.failed)
    tail = layout.reference_tail(run.start_ms, *committed.key)
    return [
        Put(check_key_length(prefix + tail), column, program) for prefix in _reference_prefixes(endpoints)
    ]


@lru_cache(maxsize=4_096)
def _reference_prefixes(endpoints: ContentEndpoints) -> tuple[bytes, ...]:
    """Return a content's reference prefixes: one per dataset written, and one per dataset read; cached."""
    return tuple(
        layout.reference_prefix(direction, dataset) for direction, dataset in endpoints.by_direction()
    )


def reference_column(checksum: str, *, failed: bool) -> bytes:
    """Return the column of a run's references, by content, and by whether the run failed."""
    return (layout.FAILED_REFERENCE if failed else layout.REFERENCE) + checksum.encode()


def encode_program(run: ProgramRun) -> bytes:
    """Return application, version, type and program of a run, escaped and joined, as value of references."""
    names = run.application, run.version, run.type, run.program
    # Runs of a program repeat these names. Long names are not cached, because clients may send many.
    is_short = sum(map(len, names)) <= CACHED_CHARACTERS_MAX
    return _joined_names(names) if is_short else SEPARATOR.join(map(escape, names))


@lru_cache(maxsize=65_536)
def _joined_names(names: tuple[str, ...]) -> bytes:
    """Return names, escaped and joined; cached."""
    return SEPARATOR.join(map(escape, names))


def longest_prefix_bytes(endpoints: ContentEndpoints) -> int:
    """Return the length in bytes of the longest prefix of a content's references, or 0 without datasets."""
    return max(map(len, _reference_prefixes(endpoints)), default=0)


def run_index_put(committed: CommittedRun) -> Put:
    """Return the cell of a run in the index of its program's namespace. Raises TooLarge."""
    run = committed.run
    prefix, column = _run_index_parts(run.namespace, run.program)
    return Put(check_key_length(prefix + layout.run_index_tail(run.start_ms, *committed.key)), column, b"")


@lru_cache(maxsize=4_096)
def _run_index_parts(namespace: str, program: str) -> tuple[bytes, bytes]:
    """Return the key prefix and the column of a program in the run index; cached."""
    return layout.run_index_prefix(namespace), layout.run_index_column(program)


def _decode_event(column: bytes, cell: Cell) -> RunEvent:
    """Return the event in a cell of a run row. Raises CorruptRow."""
    try:
        event_type, lineage_digest, facts_digest = cell.value.decode().split("|")
        return RunEvent(layout.event_time_ms(column), EventType(event_type), lineage_digest, facts_digest)
    except ValueError as error:
        raise CorruptRow(f"{column!r}: {cell.value!r} is not an event") from error


def checked_put(row: bytes, column: bytes, value: bytes, label: str) -> Put:
    """Return the cell. Raises TooLarge, with `label` as the name of the value, above CELL_BYTES_MAX."""
    if len(value) > CELL_BYTES_MAX:
        raise TooLarge(f"{label} is {len(value)} bytes long, one cell holds {CELL_BYTES_MAX}; split it")
    return Put(row, column, value)


def decode_json(value: bytes, shape: type[T], label: str) -> T:
    """Return a value of JSON as a `shape` of msgspec. Raises CorruptRow, with `label` as what it is not."""
    try:
        return typed_json.decode(value, shape)
    except msgspec.DecodeError as error:
        raise CorruptRow(f"{value[:200]!r} is not {label}: {error}") from error


def last_put_per_cell(puts: Iterable[Put]) -> list[Put]:
    """Return the last put of each cell, in the order in which cells first appear."""
    return list({(put.row, put.column): put for put in puts}.values())
