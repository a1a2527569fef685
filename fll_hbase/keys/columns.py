"""Columns that this release knows, by kind of row; newer releases may write others in the same rows."""

from __future__ import annotations

from typing import NamedTuple

from fll_hbase.keys import access_rows, calendars, layout, retention


class KnownColumns(NamedTuple):
    """The columns of one kind of row: whole names, and prefixes of names that carry a value."""

    names: frozenset[bytes] = frozenset()
    prefixes: tuple[bytes, ...] = ()


_REFERENCE = KnownColumns(prefixes=(layout.REFERENCE, layout.FAILED_REFERENCE))
_BY_ROW = {
    layout.CONTENTS: KnownColumns(
        frozenset(
            {layout.VERSION, layout.SOURCES, layout.DESTINATIONS, layout.FIELD_MAP, layout.OPERATION_NAMES}
        ),
        (layout.OPERATION, *layout.GRAPHS),
    ),
    layout.RUNS: KnownColumns(prefixes=(layout.DOCUMENT, layout.EVENT, layout.COMMIT)),
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
    layout.PROPERTIES: KnownColumns(frozenset({calendars.MARK_COLUMN}), (retention.REQUEST,)),
}


def is_known(key: bytes, column: bytes) -> bool:
    """Return whether this release knows the column in a row of that key; False for any other kind of row.

    Readers, the audit and garbage collection ignore a column that this release does not know.
    """
    # Every key begins with the letter of its kind of row and a separator (docs/row-keys.md, Rows).
    columns = _BY_ROW.get(key[:2])
    return columns is not None and (column in columns.names or column.startswith(columns.prefixes))
