"""Kinds of rows: their names for users, the order in which a copy puts them, and their known columns."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import NamedTuple

from fll_hbase.keys import access_rows, calendars, layout, ranges, retention
from fll_hbase.keys.layout import Range

EVERYTHING: Range = (b"", b"\xff")
"""The range of all rows: keys begin with a letter, and names in them are escaped to ASCII."""

OTHERS = "other rows"

_NAMES = {
    layout.DATASETS: "datasets",
    layout.ALIASES: "aliases",
    layout.CONTENTS: "contents",
    layout.EVENT_BODIES: "event bodies",
    layout.TAG_INDEX: "tag index rows",
    layout.TAGS: "tags",
    layout.POLICIES: "policies",
    layout.ACCESS: "tokens and grants",
    b"": OTHERS,
    layout.REFERENCES[0]: "backward references",
    layout.REFERENCES[1]: "forward references",
    layout.RUN_INDEX: "run index rows",
    layout.WAYS: "ways",
    layout.CALENDARS: "calendars",
    layout.RUNS: "runs",
    layout.PROPERTIES: "properties",
}
"""In the order of the commit protocol (docs/reference/row-keys.md): a row comes after all rows it relies on.

Run rows decide what is visible, so they come after everything that they lead to. The mark that calendars are
complete comes last.
"""


class RowKind(NamedTuple):
    """A kind of row: name, key prefix (b"" for all unknown kinds), and the ranges of its keys."""

    name: str
    prefix: bytes
    key_ranges: tuple[Range, ...]


def _other_ranges() -> tuple[Range, ...]:
    """Return the ranges between the known kinds of rows, where a newer release may have rows."""
    bounds = [EVERYTHING[0]]
    for prefix in sorted(prefix for prefix in _NAMES if prefix):
        bounds += ranges.prefix_range(prefix)
    bounds.append(EVERYTHING[1])
    return tuple((start, stop) for start, stop in list(pairwise(bounds))[::2] if start < stop)


COPY_ORDER: tuple[RowKind, ...] = tuple(
    RowKind(name, prefix, (ranges.prefix_range(prefix),) if prefix else _other_ranges())
    for prefix, name in _NAMES.items()
)
"""All kinds, with ranges that cover every key. Unknown kinds precede those that make runs visible."""


def kind_name(key: bytes) -> str:
    """Return the name, in the plural, of a key's kind of row; OTHERS for an unknown kind."""
    return _NAMES.get(key[:2], OTHERS)


class KnownColumns(NamedTuple):
    """The columns of one kind of row: whole names, and prefixes of names that carry a value."""

    names: frozenset[bytes] = frozenset()
    prefixes: tuple[bytes, ...] = ()


_NO_COLUMNS = KnownColumns()
_REFERENCE = KnownColumns(prefixes=(layout.REFERENCE, layout.FAILED_REFERENCE))

_BY_ROW = {
    layout.CONTENTS: KnownColumns(
        frozenset(
            {layout.VERSION, layout.SOURCES, layout.DESTINATIONS, layout.FIELD_MAP, layout.OPERATION_NAMES}
        ),
        (layout.OPERATION, *layout.GRAPHS),
    ),
    layout.RUNS: KnownColumns(
        frozenset({layout.MOVED}), prefixes=(layout.DOCUMENT, layout.EVENT, layout.COMMIT)
    ),
    **dict.fromkeys(layout.REFERENCES, _REFERENCE),
    layout.WAYS: KnownColumns(frozenset({calendars.WAY}), (layout.HORIZON,)),
    layout.CALENDARS: KnownColumns(prefixes=calendars.DAY_COLUMNS),
    layout.RUN_INDEX: KnownColumns(prefixes=(layout.INDEXED_PROGRAM,)),
    layout.DATASETS: KnownColumns(
        frozenset({layout.EXISTS}),
        (layout.WRITTEN, layout.READ, layout.DECLARED, layout.DESCRIPTION, layout.HORIZON),
    ),
    layout.ALIASES: KnownColumns(prefixes=(layout.ALIAS,)),
    layout.EVENT_BODIES: KnownColumns(frozenset({layout.EVENT_BODY})),
    layout.TAGS: KnownColumns(prefixes=(layout.TAG,)),
    layout.TAG_INDEX: KnownColumns(frozenset({layout.TAGGED})),
    layout.POLICIES: KnownColumns(frozenset({layout.POLICY})),
    layout.ACCESS: KnownColumns(frozenset({access_rows.TOKEN, access_rows.REVOKED}), (access_rows.GRANT,)),
    layout.PROPERTIES: KnownColumns(
        frozenset({calendars.MARK_COLUMN, calendars.RUN_KEYS_COLUMN, layout.LAST_LOOK}),
        (retention.REQUEST, retention.PURGE, layout.REPORTED),
    ),
}


def is_known(key: bytes, column: bytes) -> bool:
    """Return whether this release knows the column in a row of that key; False for an unknown kind of row.

    Readers, the audit and garbage collection ignore a column that this release does not know.
    """
    return not unknown_names(key, (column,))


def unknown_names(key: bytes, columns: Iterable[bytes]) -> list[bytes]:
    """Return the columns in a row of that key that `is_known` rejects, in their order."""
    # Every key begins with the letter of its kind of row and a separator (docs/reference/row-keys.md, Rows).
    names, prefixes = _BY_ROW.get(key[:2], _NO_COLUMNS)
    return [column for column in columns if not column.startswith(prefixes) and column not in names]
