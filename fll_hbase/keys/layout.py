"""Which row and which column holds it: every key, key range and column name of the table.

`start` of a range is in, `stop` is out. The format is written down in docs/row-keys.md, whose vectors are
tested against this module.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import xxhash

from fll_hbase.errors import CorruptRow
from fll_hbase.keys.codec import (
    SEPARATOR,
    day_of,
    escape,
    inverted_day,
    inverted_start,
    join_key,
    parse_inverted_day,
    parse_inverted_start,
    unescape,
)
from fll_hbase.model.datasets import Dataset
from fll_hbase.model.window import Direction, Window

Range: TypeAlias = tuple[bytes, bytes]

CHECKSUM_DIGITS = 32

LIGHT, HEAVY = b"d:", b"o:"
"""The column families: what high-level questions read, and operations with their graphs."""

VERSION = b"d:v"
SOURCES, DESTINATIONS = b"d:s", b"d:t"
FIELD_MAP = b"d:m"
OPERATION_NAMES = b"o:n"
OPERATION = b"o:op|"

DOCUMENT = b"d:v|"
EVENT = b"d:ev|"
COMMIT = b"d:z|"

EVENT_BODY = b"o:d"

REFERENCE, FAILED_REFERENCE = b"d:c|", b"d:x|"
SAMPLE_RUN, FAILED_SAMPLE_RUN = b"d:w", b"d:x"

EXISTS, WRITTEN, READ, DESCRIPTION = b"d:e", b"d:b|", b"d:f|", b"d:d|"
DECLARED, ALIAS, HORIZON = b"d:s|", b"d:a|", b"d:h|"

CONTENTS, RUNS, DATASETS, EVENT_BODIES, ALIASES = b"c|", b"r|", b"e|", b"p|", b"a|"
REFERENCES, INDEX = (b"b|", b"f|"), b"i|"
"""What all data rows begin with, all run rows, and all catalogue rows; then come namespace and name."""

_LETTER = {Direction.BACKWARD: b"b", Direction.FORWARD: b"f"}


class Reference(NamedTuple):
    """What a reference key, or the tail of one, tells."""

    start_ms: int
    run: str


def content_row(checksum: str) -> bytes:
    """The content of one distinct set of operations."""
    return b"c|" + checksum.encode()


def run_row(run: str) -> bytes:
    """The truth about one run, salted so that runs in order of time do not heat one region."""
    return join_key(b"r", salt(run.encode()), escape(run))


def salt(run: bytes) -> bytes:
    """What comes before a run, unescaped, in the key of its row."""
    return b"%02x" % (xxhash.xxh3_64_intdigest(run) >> 56)


def reference_prefix(direction: Direction, end_point: Dataset) -> bytes:
    """What all references of an end point begin with."""
    return join_key(_LETTER[direction], escape(end_point.namespace), escape(end_point.name), b"")


def direction_prefix(direction: Direction, namespace: str = "") -> bytes:
    """What all references of one direction begin with, or those of a namespace."""
    return join_key(_LETTER[direction], *([escape(namespace)] if namespace else []), b"")


def reference_tail(start_ms: int, run: str) -> bytes:
    """The end of a reference key, and what a witness holds."""
    return escaped_reference_tail(start_ms, escape(run))


def escaped_reference_tail(start_ms: int, run: bytes) -> bytes:
    """The end of a reference key of a run that is escaped already."""
    return b"%b|%b" % (inverted_start(start_ms), run)


def parse_reference_tail(tail: bytes) -> Reference:
    """The inverse of `reference_tail`. Raises CorruptRow for any other bytes."""
    start, separator, run = tail.partition(SEPARATOR)
    if not separator:
        raise CorruptRow(f"{tail!r} is not the tail of a reference key")
    return Reference(parse_inverted_start(start), unescape(run))


def window_range(direction: Direction, end_point: Dataset, asked: Window) -> Range:
    """The references of an end point whose runs start in the window, newest first."""
    prefix = reference_prefix(direction, end_point)
    start, stop = start_bounds(asked)
    return prefix + start, prefix + stop


def start_bounds(asked: Window) -> Range:
    """Between which bytes the tails of references lie whose runs start in the window."""
    if asked.empty:
        return b"", b""
    return inverted_start(asked.stop_ms - 1), b"%016x" % (int(inverted_start(asked.start_ms), 16) + 1)


def index_prefix(direction: Direction, end_point: Dataset) -> bytes:
    """What all index rows of an end point begin with."""
    return join_key(b"i", _LETTER[direction], escape(end_point.namespace), escape(end_point.name), b"")


def index_tail(day: int, checksum: str) -> bytes:
    """The end of a key of the day index."""
    return inverted_day(day) + SEPARATOR + checksum.encode()


def index_range(direction: Direction, end_point: Dataset, asked: Window) -> Range:
    """The index rows of all days that the window touches, newest first."""
    prefix = index_prefix(direction, end_point)
    if asked.empty:
        return prefix, prefix
    newest, oldest = inverted_day(day_of(asked.stop_ms - 1)), inverted_day(day_of(asked.start_ms))
    return prefix + newest, prefix + oldest + b"}"


def index_checksum(index_key: bytes) -> bytes:
    """The content that a key of the day index names."""
    return index_key[-CHECKSUM_DIGITS:]


def decode_checksum(checksum: bytes) -> str:
    """What `checksum_in` found, as text. Raises CorruptRow where it is no checksum."""
    if len(checksum) != CHECKSUM_DIGITS or checksum.strip(b"0123456789abcdef"):
        raise CorruptRow(f"{checksum!r} at the end of an index key is no checksum")
    return checksum.decode()


def index_day(index_key: bytes) -> int:
    """The day that a key of the day index is of. Raises CorruptRow."""
    return parse_inverted_day(index_key[-CHECKSUM_DIGITS - 9 : -CHECKSUM_DIGITS - 1])


def dataset_row(end_point: Dataset) -> bytes:
    """The catalogue row of an end point."""
    return join_key(b"e", escape(end_point.namespace), escape(end_point.name))


def dataset_prefix(namespace: str) -> bytes:
    """What the catalogue rows of one namespace begin with."""
    return join_key(b"e", escape(namespace), b"")


def operation_column(name: str) -> bytes:
    """The cell of one operation in a data row."""
    return OPERATION + escape(name)


def graph_column(direction: Direction, end_point: Dataset, field: str) -> bytes:
    """The cell of one field's graph in a data row."""
    head = b"o:" + _LETTER[direction]
    return join_key(head, escape(end_point.namespace), escape(end_point.name), escape(field))


def document_column(number: int, digest: str) -> bytes:
    """The cell of one whole document in a run row."""
    return DOCUMENT + b"%08x|" % number + digest.encode()


def event_column(time_ms: int, digest: str) -> bytes:
    """The cell of one event in a run row."""
    return EVENT + b"%016x|" % time_ms + digest.encode()


def event_time_ms(column: bytes) -> int:
    """The time in an event's column. Raises CorruptRow for any other column."""
    said = column[len(EVENT) : len(EVENT) + 16]
    try:
        return int(said, 16)
    except ValueError as error:
        raise CorruptRow(f"{column!r} is not the column of an event") from error


def event_body_row(digest: str) -> bytes:
    """What events say, once however many say it."""
    return b"p|" + digest.encode()


def commit_column(count: int, digest: str) -> bytes:
    """The cell of what a pass derived from `count` cells of a run row."""
    return COMMIT + b"%08x|" % count + digest.encode()


def field_column(direction: Direction, field: str) -> bytes:
    """The catalogue cell of a field written (backward) or read (forward)."""
    return (WRITTEN if direction is Direction.BACKWARD else READ) + escape(field)


def declared_field_column(field: str) -> bytes:
    """The catalogue cell of a field that a schema names, whatever runs did to it."""
    return DECLARED + escape(field)


def horizon_column(start_ms: int) -> bytes:
    """The catalogue cell that says that references of runs which started earlier were purged."""
    return HORIZON + b"%016x" % start_ms


def parse_horizon(column: bytes) -> int:
    """The inverse of `horizon_column`. Raises CorruptRow for any other column."""
    said = column[len(HORIZON) :]
    if not column.startswith(HORIZON) or len(said) != 16 or said.strip(b"0123456789abcdef"):
        raise CorruptRow(f"{column!r} is not the column of a horizon")
    return int(said, 16)


def alias_row(end_point: Dataset) -> bytes:
    """Under which further names an end point is known."""
    return join_key(b"a", escape(end_point.namespace), escape(end_point.name))


def alias_column(end_point: Dataset) -> bytes:
    """The cell of one further name of an end point."""
    return ALIAS + join_key(escape(end_point.namespace), escape(end_point.name))


def parse_alias(column: bytes) -> Dataset:
    """The inverse of `alias_column`. Raises CorruptRow for any other column."""
    if not column.startswith(ALIAS):
        raise CorruptRow(f"{column!r} is not the column of a further name")
    namespace, _, name = column[len(ALIAS) :].partition(SEPARATOR)
    return Dataset(unescape(namespace), unescape(name))


def typed_value_column(field: bytes, digest: str) -> bytes:
    """The catalogue cell of one type that a field was said to have."""
    return field + SEPARATOR + digest.encode()


def parse_field_column(column: bytes) -> tuple[Direction | None, str, bool] | None:
    """Direction and name of a field's catalogue cell, and whether it holds a type; None for others.

    A field that only a schema names has no direction.
    """
    for direction, head in ((Direction.BACKWARD, WRITTEN), (Direction.FORWARD, READ), (None, DECLARED)):
        if column.startswith(head):
            name, separator, _ = column[len(head) :].partition(SEPARATOR)
            return direction, unescape(name), bool(separator)
    return None
