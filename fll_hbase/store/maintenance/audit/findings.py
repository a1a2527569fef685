"""What can be wrong with a table, in words, and which of it can be mended."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from fll_hbase.keys import layout


class Kind(Enum):
    """A kind of finding: something wrong, or a note of what a table may hold at any time."""

    UNREADABLE = "unreadable"
    ALTERED = "altered"
    WRONG_CHECKSUM = "wrong checksum"
    WRONG_CELLS = "wrong cells of a content"
    TRUTHS_DISAGREE = "truths that disagree"
    UNTRUE = "truth that is not what was said"
    LOST = "what was said is lost"
    MISSING_CONTENT = "missing content"
    MISSING_PART = "missing part"
    MISSING_REFERENCE = "missing reference"
    MISSING_INDEX = "missing index"
    MISSING_CATALOGUE = "missing in the catalogue"
    MISSING_ALIAS = "alias of one end only"
    UNFINISHED = "unfinished run"
    OTHER_PROGRAM = "reference that names another program"
    REFERENCE_WITHOUT_RUN = "reference without run"
    REFERENCE_WITHOUT_CONTENT = "reference without content"
    REFERENCE_DISOWNED = "reference its run disowns"
    INDEX_WITHOUT_WITNESS = "index without witness"
    CONTENT_WITHOUT_RUN = "content without run"
    PART_WITHOUT_EVENT = "part without event"

    @property
    def wrong(self) -> bool:
        """Whether something has to be mended; the others are left for a writer, or for the sweep."""
        return self not in _NOTES


_NOTES = frozenset(
    {
        Kind.UNFINISHED,
        Kind.OTHER_PROGRAM,
        Kind.REFERENCE_WITHOUT_RUN,
        Kind.REFERENCE_WITHOUT_CONTENT,
        Kind.REFERENCE_DISOWNED,
        Kind.INDEX_WITHOUT_WITNESS,
        Kind.CONTENT_WITHOUT_RUN,
        Kind.PART_WITHOUT_EVENT,
    }
)


class Mend(NamedTuple):
    """What is done anew: a run settled, a content put, the further names of an end point put at both ends.

    The row is that of the run, the content or the aliases; empty where nothing helps.
    """

    row: bytes = b""

    @property
    def of_run(self) -> bool:
        return self.row.startswith(layout.RUNS)


NOTHING = Mend()


class Finding(NamedTuple):
    """One thing found, at a row, and what mends it."""

    kind: Kind
    row: bytes
    detail: str
    mend: Mend = NOTHING
