"""Kinds of rows: their names for people, and the order in which a copy puts them."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

from fll_hbase.keys import layout, ranges
from fll_hbase.keys.layout import Range

EVERYTHING: Range = (b"", b"\xff")
"""The range of all rows: keys begin with a letter, names in them are escaped to ASCII."""

OTHERS = "other rows"


class RowKind(NamedTuple):
    """A kind of row by name, with its key prefix, b"" for all unknown kinds, and the ranges of its keys."""

    name: str
    prefix: bytes
    key_ranges: tuple[Range, ...]


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
"""In the order of the commit protocol (docs/row-keys.md): what a row relies on stands before it.

Run rows decide what is visible, so they come after everything that they lead to. That calendars are complete
is stated last.
"""


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
"""All kinds, whose ranges together are every key; unknown kinds stand before those that make runs visible."""


def kind_name(key: bytes) -> str:
    """Return the name of the kind of a row."""
    return _NAMES.get(key[:2], OTHERS)
