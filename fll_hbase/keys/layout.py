"""Row keys, key ranges and column names of the table.

A range includes its start and excludes its stop. docs/reference/row-keys.md specifies the format; the tests
check this module against its vectors. Functions that put the names of a dataset into a key or column, and
`run_row`, raise TooLarge as `join_key` does, except `tag_index_prefix`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, TypeAlias

import xxhash

from fll_hbase.keys.codec import (
    SEPARATOR,
    escape,
    inverted_start,
    is_hex,
    join_key,
    pack_escaped_run,
    parse_inverted_start,
    parse_run_segment,
    run_segment,
    unescape,
    unpack_run,
)
from fll_hbase.model.datasets import Dataset, DatasetField
from fll_hbase.model.runs import RunKey
from fll_hbase.model.window import Direction, Window
from fll_hbase.runtime.errors import CorruptRow

Range: TypeAlias = tuple[bytes, bytes]

CHECKSUM_DIGITS = 32
CELL_DIGEST_DIGITS = 16
"""Digest digits that distinguish the events of one millisecond, and commit records of one count. Earlier
releases wrote all 32."""

LIGHT, HEAVY = b"d:", b"o:"
"""The column families: what dataset-level queries read, and operations with their graphs."""

# Columns of content rows.
VERSION = b"d:v"
SOURCES, DESTINATIONS = b"d:s", b"d:t"
FIELD_MAP = b"d:m"
OPERATION_NAMES = b"o:n"
OPERATION = b"o:op|"
GRAPHS = b"o:b|", b"o:f|"

# Columns of run rows, then of event bodies, references and rows of the run index.
DOCUMENT = b"d:v|"
EVENT = b"d:ev|"
COMMIT = b"d:z|"
MOVED = b"d:m"
EVENT_BODY = b"o:d"
REFERENCE, FAILED_REFERENCE = b"d:c|", b"d:x|"
INDEXED_PROGRAM = b"d:n"
"""The column of the run index, followed by the hash of a program's name."""

# Columns of catalogue rows and of alias rows.
EXISTS, WRITTEN, READ, DESCRIPTION = b"d:e", b"d:b|", b"d:f|", b"d:d|"
DECLARED, ALIAS, HORIZON = b"d:s|", b"d:a|", b"d:h|"

# Columns of the rows of tags and of policies.
TAG, TAGGED, POLICY = b"d:t|", b"d:t", b"d:p"

# Columns of the state of checks of a flow policy.
LAST_LOOK, REPORTED = b"d:l", b"d:f|"

CONTENTS, RUNS, DATASETS, EVENT_BODIES, ALIASES = b"c|", b"r|", b"e|", b"p|", b"a|"
TAGS, TAG_INDEX, POLICIES = b"t|", b"g|", b"y|"
REFERENCES, RUN_INDEX, WAYS, CALENDARS = (b"b|", b"f|"), b"n|", b"w|", b"u|"
PROPERTIES, ACCESS = b"v|", b"k|"
"""Key prefixes of the kinds of rows."""

FLOW_STATES = PROPERTIES + b"flow:"

INDEXES_BEFORE_CALENDARS = b"i|", b"j|"
"""Kinds of rows of earlier releases, which nothing reads."""

LETTERS = {Direction.BACKWARD: b"b", Direction.FORWARD: b"f"}


class Reference(NamedTuple):
    """Start and key of a run, as decoded from the tail of a reference key."""

    start_ms: int
    run: RunKey


def content_row(checksum: str) -> bytes:
    """Return the key of the content row with this checksum."""
    # Do not use `join_key`: a checksum needs no escapes, and the key is always 34 bytes long.
    return b"c|" + checksum.encode()


def run_row(run: str, namespace: str = "") -> bytes:
    """Return the key of a run row, given the id and the namespace of its `RunKey`."""
    # Salted, since run ids that grow with time would all go to one region; queries read run rows by key.
    return join_key(b"r", salt(run.encode()), run_segment(run, namespace))


def salt(run: bytes) -> bytes:
    """Return the first byte of the 64-bit xxh3 of an unescaped run id or program name, as 2 hex digits."""
    return b"%02x" % (xxhash.xxh3_64_intdigest(run) >> 56)


def reference_prefix(direction: Direction, dataset: Dataset) -> bytes:
    """Return the key prefix of all references of a dataset."""
    return join_key(LETTERS[direction], escape(dataset.namespace), escape(dataset.name), b"")


def direction_prefix(direction: Direction, namespace: str = "") -> bytes:
    """Return the key prefix of all references of a direction, or of references to datasets of `namespace`."""
    # Ends with the separator, so that namespace `ns` does not include `ns1`.
    return join_key(LETTERS[direction], *([escape(namespace)] if namespace else []), b"")


def run_rows_of_id(run: str) -> Range:
    """Return the range of the run rows of an id in all namespaces, without the row of `RunKey(run)`."""
    # In ASCII, `,` follows the `+` between id and namespace.
    prefix = run_row(run)
    return prefix + b"+", prefix + b","


def reference_tail(start_ms: int, run: str, namespace: str = "") -> bytes:
    """Return the end of a reference key, after its prefix: inverted start (ms) and the run's segment."""
    return escaped_reference_tail(start_ms, run_segment(run, namespace))


def escaped_reference_tail(start_ms: int, run: bytes) -> bytes:
    """Return `reference_tail` of a run, given its segment."""
    return b"%b|%b" % (inverted_start(start_ms), run)


def parse_reference_tail(tail: bytes) -> Reference:
    """Return the start and run in the end of a reference key. Raises CorruptRow for any other bytes."""
    start, separator, run = tail.partition(SEPARATOR)
    if not separator:
        raise CorruptRow(f"{tail!r} is not the tail of a reference key")
    return Reference(parse_inverted_start(start), parse_run_segment(run))


def window_range(direction: Direction, dataset: Dataset, window: Window) -> Range:
    """Return the key range of a dataset's references to runs that start in the window, newest first."""
    prefix = reference_prefix(direction, dataset)
    start, stop = start_bounds(window)
    return prefix + start, prefix + stop


def start_bounds(window: Window) -> Range:
    """Return the range of the reference tails of runs that start in a window, or b"" twice if it is empty."""
    if window.empty:
        return b"", b""
    # Neither bound has a run id, so all runs of the first and of the last millisecond are included.
    return inverted_start(window.stop_ms - 1), b"%016x" % (int(inverted_start(window.start_ms), 16) + 1)


def decode_checksum(checksum: bytes) -> str:
    """Return the checksum as text. Raises CorruptRow if it is not 32 hex digits."""
    if not is_hex(checksum, digits=CHECKSUM_DIGITS):
        raise CorruptRow(f"{checksum!r} is not a checksum")
    return checksum.decode()


def run_index_prefix(namespace: str) -> bytes:
    """Return the key prefix of the run index for programs of a namespace."""
    return join_key(b"n", escape(namespace), b"")


def run_index_tail(start_ms: int, run: str, namespace: str = "") -> bytes:
    """Return the end of a run index key: inverted start (ms) and packed run, which sort newest first."""
    return escaped_run_index_tail(start_ms, run_segment(run, namespace))


def escaped_run_index_tail(start_ms: int, run: bytes) -> bytes:
    """Return `run_index_tail` of a run, given its segment."""
    return b"%b|%b" % (inverted_start(start_ms), pack_escaped_run(run))


def parse_run_index_tail(tail: bytes) -> Reference:
    """Return the start and run in the end of a run index key. Raises CorruptRow for any other bytes."""
    start, separator, run = tail.partition(SEPARATOR)
    if not separator:
        raise CorruptRow(f"{tail!r} is not the tail of a key of the run index")
    return Reference(parse_inverted_start(start), unpack_run(run))


def split_run_index_key(key: bytes) -> tuple[bytes, bytes]:
    """Return the escaped namespace and the tail of a key of the run index, without validating them."""
    namespace, _, tail = key[len(RUN_INDEX) :].partition(SEPARATOR)
    return namespace, tail


def run_index_column(program: str) -> bytes:
    """Return the column of a program name in the run index: one of 256, so other names may share it."""
    return INDEXED_PROGRAM + salt(program.encode())


def dataset_row(dataset: Dataset) -> bytes:
    """Return the key of the catalogue row of a dataset."""
    return join_key(b"e", escape(dataset.namespace), escape(dataset.name))


def dataset_prefix(namespace: str) -> bytes:
    """Return the key prefix of the catalogue rows of all datasets of a namespace."""
    return join_key(b"e", escape(namespace), b"")


def operation_column(name: str) -> bytes:
    """Return the column of an operation in a content row."""
    return OPERATION + escape(name)


def graph_column(direction: Direction, dataset: Dataset, field: str) -> bytes:
    """Return the column, in a content row, of the graph of a written (backward) or read (forward) field."""
    head = b"o:" + LETTERS[direction]
    return join_key(head, escape(dataset.namespace), escape(dataset.name), escape(field))


def document_column(number: int, digest: str) -> bytes:
    """Return the column of a whole document in a run row: its number, from 1, and the digest of its value."""
    return DOCUMENT + b"%08x|" % number + digest.encode()


def event_column(time_ms: int, digest: str) -> bytes:
    """Return the column of an event in a run row, with the beginning of the digest of its value."""
    return EVENT + b"%016x|" % time_ms + digest[:CELL_DIGEST_DIGITS].encode()


def event_time_ms(column: bytes) -> int:
    """Return the time (ms) in the column of an event, whose prefix is not checked.

    Raises CorruptRow if no hexadecimal number follows the prefix.
    """
    try:
        return int(column[len(EVENT) : len(EVENT) + 16], 16)
    except ValueError as error:
        raise CorruptRow(f"{column!r} is not the column of an event") from error


def event_body_row(digest: str) -> bytes:
    """Return the key of the event body with this digest, which all events with equal bodies share."""
    return b"p|" + digest.encode()


def commit_column(count: int, digest: str) -> bytes:
    """Return the column of a commit record computed from `count` documents and events of a run row.

    The first CELL_DIGEST_DIGITS digits of the digest of its value follow the count.
    """
    return COMMIT + b"%08x|" % count + digest[:CELL_DIGEST_DIGITS].encode()


def field_column(direction: Direction, field: str) -> bytes:
    """Return the catalogue column of a field that was written (backward) or read (forward)."""
    return (WRITTEN if direction is Direction.BACKWARD else READ) + escape(field)


def declared_field_column(field: str) -> bytes:
    """Return the catalogue column of a field that dataset metadata declares, independently of runs."""
    return DECLARED + escape(field)


def horizon_column(start_ms: int) -> bytes:
    """Return the catalogue column that marks references of runs started before `start_ms` as purged."""
    return HORIZON + b"%016x" % start_ms


def parse_horizon(column: bytes) -> int:
    """Return the start (ms) of a horizon's column. Raises CorruptRow for any other column."""
    digits = column[len(HORIZON) :]
    if not column.startswith(HORIZON) or not is_hex(digits, digits=16):
        raise CorruptRow(f"{column!r} is not the column of a horizon")
    return int(digits, 16)


def latest_horizon_ms(columns: Iterable[bytes]) -> int:
    """Return the latest horizon among the columns of a row, or 0 without one. Raises CorruptRow."""
    return max((parse_horizon(column) for column in columns if column.startswith(HORIZON)), default=0)


def alias_row(dataset: Dataset) -> bytes:
    """Return the key of the row that lists the aliases of a dataset."""
    return join_key(b"a", escape(dataset.namespace), escape(dataset.name))


def alias_column(dataset: Dataset) -> bytes:
    """Return the column that lists `dataset` as an alias in the row of another dataset."""
    return ALIAS + join_key(escape(dataset.namespace), escape(dataset.name))


def parse_alias(column: bytes) -> Dataset:
    """Invert `alias_column`. Raises CorruptRow for any other column, and for names that are not escaped."""
    namespace, separator, name = column[len(ALIAS) :].partition(SEPARATOR)
    if not column.startswith(ALIAS) or not separator:
        raise CorruptRow(f"{column!r} is not the column of an alias")
    return Dataset(unescape(namespace), unescape(name))


def aliases_in(columns: Iterable[bytes]) -> list[Dataset]:
    """Return the aliases of an alias row, sorted. Ignores columns of other prefixes. Raises CorruptRow."""
    return sorted(parse_alias(column) for column in columns if column.startswith(ALIAS))


def tags_row(field: DatasetField) -> bytes:
    """Return the key of the row that holds the tags of a field."""
    return join_key(b"t", escape(field.dataset.namespace), escape(field.dataset.name), escape(field.name))


def tags_prefix(dataset: Dataset) -> bytes:
    """Return the key prefix of the tags of all fields of a dataset."""
    return join_key(b"t", escape(dataset.namespace), escape(dataset.name), b"")


def tag_column(tag: str) -> bytes:
    """Return the column of one tag of a field."""
    return TAG + escape(tag)


def parse_tag(column: bytes) -> str:
    """Return the tag of a column in a row of tags. Raises CorruptRow for any other column."""
    if not column.startswith(TAG):
        raise CorruptRow(f"{column!r} is not the column of a tag")
    return unescape(column[len(TAG) :])


def tag_index_prefix(*names: str) -> bytes:
    """Return the key prefix of index rows, given a tag and maybe a namespace and the name of a dataset."""
    return TAG_INDEX + b"".join(escape(name) + SEPARATOR for name in names)


def tag_index_row(tag: str, field: DatasetField) -> bytes:
    """Return the key of the index row that lists a field under one of its tags."""
    return join_key(
        b"g", escape(tag), escape(field.dataset.namespace), escape(field.dataset.name), escape(field.name)
    )


def parse_tagged_field(key: bytes) -> DatasetField:
    """Return the field of the key of a row of tags, whose prefix is not checked. Raises CorruptRow."""
    segments = key.split(SEPARATOR)
    if len(segments) != 4:
        raise CorruptRow(f"{key!r} is not the key of a row of tags")
    namespace, name, field = map(unescape, segments[1:])
    return DatasetField(Dataset(namespace, name), field)


def parse_tag_index(key: bytes) -> tuple[str, DatasetField]:
    """Return tag and field of a key of the tag index, whose prefix is not checked. Raises CorruptRow."""
    segments = key.split(SEPARATOR)
    if len(segments) != 5:
        raise CorruptRow(f"{key!r} is not the key of the tag index")
    tag, namespace, name, field = map(unescape, segments[1:])
    return tag, DatasetField(Dataset(namespace, name), field)


def policy_row(name: str, namespace: str = "") -> bytes:
    """Return the key of the row of the policy `name`: on a field of `namespace`, or on a tag if it is ""."""
    return POLICIES + SEPARATOR.join(map(escape, (name, namespace) if namespace else (name,)))


def flow_state_row(policy: str) -> bytes:
    """Return the key of the row with the state of the checks of a flow policy."""
    return FLOW_STATES + escape(policy)


def reported_column(digest: str) -> bytes:
    """Return the column of a violation that a check has reported, given its digest."""
    return REPORTED + digest.encode()


def policies_of_name(name: str) -> bytes:
    """Return the key prefix of the field policies of a name, in all namespaces."""
    return policy_row(name) + SEPARATOR


def parse_policy(key: bytes) -> tuple[str, str]:
    """Return the name and namespace ("" without one) of a policy from its row key. Raises CorruptRow."""
    name, separator, namespace = key[len(POLICIES) :].partition(SEPARATOR)
    if not key.startswith(POLICIES) or bool(separator) is not bool(namespace):
        raise CorruptRow(f"{key!r} is not the key of a policy")
    return unescape(name), unescape(namespace)


def typed_value_column(field: bytes, digest: str) -> bytes:
    """Return the catalogue column of one type of a field, from the field's column and the type's digest."""
    return field + SEPARATOR + digest.encode()


def is_type_column(column: bytes) -> bool:
    """Return whether the catalogue column of a field holds a type, by counting its separators only."""
    # Names have the separator escaped, so it occurs only after the kind of the column and after the name.
    return column.count(SEPARATOR) == 2


def parse_field_column(column: bytes) -> tuple[Direction | None, str, bool] | None:
    """Return direction and name of a field's catalogue column and whether the cell holds a type.

    The direction is None if dataset metadata declares the field. Returns None for other columns. Raises
    CorruptRow for a name that is not escaped.
    """
    for direction, head in ((Direction.BACKWARD, WRITTEN), (Direction.FORWARD, READ), (None, DECLARED)):
        if column.startswith(head):
            # Names have the separator escaped: a further segment is the digest of a type.
            name, separator, _ = column[len(head) :].partition(SEPARATOR)
            return direction, unescape(name), bool(separator)
    return None
