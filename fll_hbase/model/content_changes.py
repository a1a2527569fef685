"""Changes between what a program wrote and what it would write: fields, their types, and rows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum

from fll_hbase.model.datasets import WHOLE_DATASET, Dataset, DatasetField
from fll_hbase.model.written_datasets import Way, WrittenDataset

UNWRITTEN = WrittenDataset({}, Way("", ""), is_partial=False)
"""A dataset that a program does not write."""


class ChangeKind(Enum):
    """Kind of a change, the most severe first.

    REMOVED and RENAMED fields are gone under their names. RETYPED fields have another type. ROWS: other rows,
    groups or order of the whole dataset. DERIVED: values of one field are made in another way. LITERALS: the
    SQL has other constants, which lineage lacks, so any value or row may differ. UNKNOWN: the change does not
    say which fields it writes. ADDED fields are new.
    """

    REMOVED = "removed"
    RENAMED = "renamed"
    RETYPED = "retyped"
    ROWS = "rows"
    DERIVED = "derived"
    LITERALS = "literals"
    UNKNOWN = "unknown"
    ADDED = "added"


_RANKS = {kind: rank for rank, kind in enumerate(ChangeKind)}


@dataclass(frozen=True, slots=True)
class Change:
    """A change of a field, or of a whole dataset, whose field is `*`.

    `to` is the new name of a renamed field, else "". `old` and `new` are the ways, None where there is none.
    """

    kind: ChangeKind
    field: DatasetField
    to: str = ""
    old: Way | None = None
    new: Way | None = None

    def sort_key(self) -> tuple[int, DatasetField]:
        """Return the key by which changes are ordered: the most severe kind first, then by name."""
        return _RANKS[self.kind], self.field


def find_changes(
    dataset: Dataset,
    old: WrittenDataset,
    new: WrittenDataset,
    *,
    types: Mapping[DatasetField, str],
    new_types: Mapping[DatasetField, str],
    type_key: Callable[[str], str] = str.casefold,
) -> Iterator[Change]:
    """Yield the changes of a dataset, unsorted. A type in `types` or `new_types` overrides the content's own.

    A field counts as renamed only if it is the only removed field, and the new one the only added field, that
    is made in the same way from the same inputs. Types are compared by their `type_key`, if both are known.
    If `new` is partial, no field counts as removed or renamed: missing fields, or a partial `old`, give one
    UNKNOWN change of the whole dataset. If `old` is partial, no field counts as added or renamed.
    """
    removed = {name: way for name, way in old.fields.items() if name not in new.fields}
    added = {name: way for name, way in new.fields.items() if name not in old.fields}
    if new.is_partial:
        if removed or old.is_partial:
            yield Change(ChangeKind.UNKNOWN, DatasetField(dataset, WHOLE_DATASET))
        removed = {}
    renamed = {} if new.is_partial or old.is_partial else _renames(removed, added)
    for name, way in removed.items():
        to = renamed.get(name, "")
        kind = ChangeKind.RENAMED if to else ChangeKind.REMOVED
        yield Change(kind, DatasetField(dataset, name), to, way, added.get(to))
    if not old.is_partial:
        for name, way in added.items():
            if name not in renamed.values():
                yield Change(ChangeKind.ADDED, DatasetField(dataset, name), new=way)
    for name in sorted(old.fields.keys() & new.fields.keys()):
        field = DatasetField(dataset, name)
        old_way, new_way = (
            replace(way, type=given.get(field) or way.type)
            for way, given in ((old.fields[name], types), (new.fields[name], new_types))
        )
        yield from _field_changes(field, old_way, new_way, type_key)
    if _has_rows(old) and _has_rows(new) and old.rows.digest != new.rows.digest:
        yield Change(ChangeKind.ROWS, DatasetField(dataset, WHOLE_DATASET), old=old.rows, new=new.rows)


def _has_rows(written: WrittenDataset) -> bool:
    """Return whether it is known how rows are selected: a Write without known fields has no inputs at all."""
    return written is not UNWRITTEN and (bool(written.fields) or not written.is_partial)


def _field_changes(
    field: DatasetField, old: Way, new: Way, type_key: Callable[[str], str]
) -> Iterator[Change]:
    """Yield the changes of a field that both contents write."""
    if old.type and new.type and type_key(old.type) != type_key(new.type):
        yield Change(ChangeKind.RETYPED, field, old=old, new=new)
    if old.digest != new.digest:
        yield Change(ChangeKind.DERIVED, field, old=old, new=new)


def _renames(removed: Mapping[str, Way], added: Mapping[str, Way]) -> dict[str, str]:
    """Return new names by old ones, if just one removed and one added field have equal ways with inputs."""
    old_names, new_names = _by_digest(removed.items()), _by_digest(added.items())
    return {
        names[0]: new_names[digest][0]
        for digest, names in old_names.items()
        if len(names) == 1 and len(new_names.get(digest, ())) == 1
    }


def _by_digest(ways: Iterable[tuple[str, Way]]) -> dict[str, list[str]]:
    """Return names by digest, without constants: nothing tells one constant from another."""
    names: dict[str, list[str]] = defaultdict(list)
    for name, way in ways:
        if way.has_inputs:
            names[way.digest].append(name)
    return names
