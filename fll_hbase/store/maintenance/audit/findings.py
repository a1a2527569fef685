"""Kinds of findings of an audit, and the repair of each."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from fll_hbase.keys import layout


class Kind(Enum):
    """A kind of finding: an error, or a note on something that a table may contain at any time."""

    UNREADABLE = "unreadable"
    ALTERED = "altered"
    WRONG_CHECKSUM = "wrong checksum"
    WRONG_CELLS = "wrong cells of a content"
    COMMITS_CONFLICT = "conflicting commit records"
    COMMIT_MISMATCH = "commit record differs from input"
    INPUT_MISSING = "input cells missing"
    MISSING_CONTENT = "missing content"
    MISSING_PART = "missing event body"
    MISSING_REFERENCE = "missing reference"
    MISSING_WAY = "missing way"
    MISSING_DAY = "missing day"
    WRONG_SEAL = "wrong seal"
    MISSING_RUN_INDEX = "missing in the run index"
    MISSING_CATALOGUE = "missing in the catalogue"
    MISSING_ALIAS = "one-sided alias"
    MISSING_TAG_INDEX = "missing in the tag index"
    UNKNOWN_COLUMN = "unknown column"
    OLD_FORM = "content in an older form"
    UNFINISHED = "unfinished run"
    OTHER_PROGRAM = "reference that names another program"
    REFERENCE_WITHOUT_RUN = "reference without run"
    REFERENCE_WITHOUT_CONTENT = "reference without content"
    REFERENCE_STALE = "stale reference"
    WAY_WITHOUT_RUN = "way without run"
    DAY_WITHOUT_RUN = "day without run"
    RUN_INDEX_WITHOUT_RUN = "run index without run"
    CONTENT_WITHOUT_RUN = "content without run"
    DATASET_WITHOUT_CONTENT = "dataset without content"
    PART_WITHOUT_EVENT = "event body without event"

    @property
    def is_error(self) -> bool:
        """Whether it has to be repaired; writers, garbage collection or a newer release resolve the notes."""
        return self not in _NOTES


# Readers ignore or understand all of these: leftovers of interrupted commits, hints of replaced runs, columns
# of newer releases, contents of older ones.
_NOTES = frozenset(
    {
        Kind.UNKNOWN_COLUMN,
        Kind.OLD_FORM,
        Kind.UNFINISHED,
        Kind.OTHER_PROGRAM,
        Kind.REFERENCE_WITHOUT_RUN,
        Kind.REFERENCE_WITHOUT_CONTENT,
        Kind.REFERENCE_STALE,
        Kind.WAY_WITHOUT_RUN,
        Kind.DAY_WITHOUT_RUN,
        Kind.RUN_INDEX_WITHOUT_RUN,
        Kind.CONTENT_WITHOUT_RUN,
        Kind.DATASET_WITHOUT_CONTENT,
        Kind.PART_WITHOUT_EVENT,
    }
)


class Repair(NamedTuple):
    """A row to write again: a run to re-commit, a content to put, aliases to put at their other datasets.

    Of a calendar the days get new tokens. The row is empty where there is no repair.
    """

    row: bytes = b""

    @property
    def is_run(self) -> bool:
        """Whether it is a re-commit of a run."""
        return self.row.startswith(layout.RUNS)


NO_REPAIR = Repair()


class Finding(NamedTuple):
    """One finding at a row, its description, and its repair, NO_REPAIR if there is none."""

    kind: Kind
    row: bytes
    detail: str
    repair: Repair = NO_REPAIR


def unknown_columns(key: bytes, columns: list[bytes]) -> list[Finding]:
    """Return one finding for all `columns` of a row, unknown to this release; an empty list without any."""
    names = ", ".join(column.decode(errors="backslashreplace") for column in sorted(columns))
    return [Finding(Kind.UNKNOWN_COLUMN, key, names)] if columns else []
