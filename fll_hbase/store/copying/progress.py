"""Progress of a copy, stored as a row of its target: the source, and the last key copied."""

from __future__ import annotations

import msgspec

from fll_hbase.keys import layout
from fll_hbase.keys.codec import escape_bytes, unescape_bytes
from fll_hbase.runtime.errors import ConfigurationError, in_row
from fll_hbase.store.rows.run_rows import decode_json
from fll_hbase.tables import Put, Table

ROW, COLUMN = layout.PROPERTIES + b"copy", b"d:v"


class Progress(msgspec.Struct, frozen=True, omit_defaults=True):
    """How far a copy of `source`, a canonical URL, has come.

    All rows of the kinds before `kind` are copied, and the rows of `kind` up to the escaped key `last_key`,
    as they were when the pass read them. Passes are numbered from 1. The pass began at `began_ms`
    (milliseconds since 1970), even if it was interrupted and resumed later.
    """

    source: str
    began_ms: int
    kind: str = ""
    last_key: str = ""
    number: int = 1
    is_complete: bool = False

    def moved_to(self, kind: str, key: bytes) -> Progress:
        """Return the progress after copying the row of this kind and key."""
        return msgspec.structs.replace(self, kind=kind, last_key=escape_bytes(key).decode())

    @property
    def last(self) -> bytes:
        """Return the unescaped key of the last copied row, b"" before the first one."""
        return unescape_bytes(self.last_key.encode())


def put_of(progress: Progress) -> Put:
    """Return the cell that stores this progress in the target of a copy."""
    return Put(ROW, COLUMN, msgspec.json.encode(progress))


def read_progress(table: Table) -> Progress | None:
    """Return the progress of the copy in a table, or None if the table is not a copy. Raises CorruptRow."""
    cell = table.get(ROW).get(COLUMN)
    if cell is None:
        return None
    with in_row(ROW):
        return decode_progress(cell.value)


def decode_progress(value: bytes) -> Progress:
    """Return the progress that a cell's value encodes. Raises CorruptRow."""
    return decode_json(value, Progress, "the progress of a copy")


def check_not_copying(table: Table) -> None:
    """Raise ConfigurationError for the target of an incomplete copy, CorruptRow for unreadable progress."""
    progress = read_progress(table)
    if progress is not None and not progress.is_complete:
        raise ConfigurationError(
            f"this store is an incomplete copy of {progress.source}: complete it with `fll store copy` first"
        )
