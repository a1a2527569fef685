"""The source fields of each destination field of a field map, from its copied and derived fields."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain
from typing import TypeVar

from fll_hbase.model.datasets import Dataset
from fll_hbase.model.field_map import CopiedFields, DerivedFields, FieldMap
from fll_hbase.model.field_sets import FieldSetResolver, Members

E = TypeVar("E", CopiedFields, DerivedFields)


class SourceFields:
    """The source fields within a range of positions that lead to each destination."""

    def __init__(self, field_map: FieldMap, positions: range) -> None:
        """Prepare to resolve the fields of a map, returning only source fields at `positions`."""
        self.field_map = field_map
        self._positions = positions
        self._resolver = FieldSetResolver(field_map.sets, positions)
        self._copied = _by_destination(field_map.copied)
        self._derived = _by_destination(field_map.derived)
        self._dataset_wide = dict(field_map.dataset_wide)

    @property
    def steps(self) -> int:
        """The number of sets entered so far."""
        return self._resolver.steps

    def by_field(
        self, destination: Dataset | None, *, names: Collection[str] | None = None
    ) -> Iterator[tuple[str | None, Members]]:
        """Yield each field of a destination, in name order, with the source fields that lead to it.

        Fields without a source in the range are left out. With `names`, yield only these fields. For the
        destination None, yield the dropped fields, possibly none, with None as the name. A field that several
        Writes write may have members that are both direct and indirect.
        """
        if destination is None:
            yield from ((None, self._resolver.members(number)) for number in self._numbers(None))
            return
        positions = self._copied_positions(destination)
        numbers_by_field = self._derived_numbers(destination)
        listed = positions.keys() | numbers_by_field.keys()
        for name in sorted(listed if names is None else listed.intersection(names)):
            yield name, self._members(positions.get(name, []), numbers_by_field.get(name, []))

    def dataset_wide(self, destination: Dataset | None) -> tuple[int, ...]:
        """Return the sorted positions of the fields that influence a whole destination, or () for None."""
        number = self._dataset_wide.get(destination) if destination else None
        return self._resolver.members(number).indirect if number is not None else ()

    def datasets(self, destination: Dataset | None) -> set[Dataset]:
        """Return the datasets of all fields that lead to fields of a destination, without building pairs."""
        numbers = [number for number in self._numbers(destination) if self._resolver.reaches(number)]
        copied = list(chain(*self._copied_positions(destination).values())) if destination else []
        fields = self.field_map.fields
        if not numbers and not copied:
            return set()
        first, last = fields[self._positions[0]].dataset, fields[self._positions[-1]].dataset
        if first == last:
            return {first}
        members = self._resolver.union(numbers)
        return {fields[position].dataset for position in chain(members.direct, members.indirect, copied)}

    def _numbers(self, destination: Dataset | None) -> list[int]:
        """Return the numbers of a destination's derived sets, or of the dropped fields' set for None."""
        if destination is None:
            return [self.field_map.dropped] if self.field_map.dropped is not None else []
        return [entry.number for entry in self._derived.get(destination, ())]

    def _copied_positions(self, destination: Dataset) -> dict[str, list[int]]:
        """Return, by copied field of a destination, the positions of its sources within the range."""
        positions: dict[str, list[int]] = {}
        for entry in self._copied.get(destination, ()):
            for name, position in zip(entry.fields, entry.positions, strict=True):
                if position in self._positions:
                    positions.setdefault(name, []).append(position)
        return positions

    def _derived_numbers(self, destination: Dataset) -> dict[str, list[int]]:
        """Return, by derived field of a destination, the numbers of its sets that reach into the range."""
        numbers: dict[str, list[int]] = {}
        for entry in self._derived.get(destination, ()):
            if self._resolver.reaches(entry.number):
                for name in entry.fields:
                    numbers.setdefault(name, []).append(entry.number)
        return numbers

    def _members(self, positions: Sequence[int], numbers: Sequence[int]) -> Members:
        """Return the union of copied positions, which are direct, and the members of field sets."""
        members = [self._resolver.members(number) for number in numbers]
        if len(members) == 1 and not positions:
            return members[0]
        # Several Writes may have the same sources: unite them, so that no edge is repeated.
        return Members(
            tuple(sorted({*positions, *chain.from_iterable(item.direct for item in members)})),
            tuple(sorted(set(chain.from_iterable(item.indirect for item in members)))),
        )


def _by_destination(entries: Iterable[E]) -> dict[Dataset, list[E]]:
    """Return the entries grouped by destination, keeping their order."""
    grouped: dict[Dataset, list[E]] = {}
    for entry in entries:
        grouped.setdefault(entry.destination, []).append(entry)
    return grouped
