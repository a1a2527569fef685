"""Sets of source fields that refer to each other, so that their size grows with the operations.

A transform has the upstream fields of all its inputs. In a chain of n transforms that each add a field,
written-out sets would have n²/2 members. With references to the preceding set, they have n.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

MEMBERS_INLINE_MAX = 8
"""A union of at most this many fields is written out, so that equal small sets become one."""
SETS_INLINE_MAX = 64
"""A union of more sets is not written out, even if they have few members together."""
MEMBERS_CACHED_MAX = 200_000
"""Members of resolved sets that one resolver caches."""


@dataclass(frozen=True, slots=True)
class FieldSet:
    """Sorted positions of source fields, and the numbers of earlier sets that are included.

    A direct member has a direct influence. The members of `direct_sets` keep their influence; all members of
    `indirect_sets` become indirect. A member that is both direct and indirect counts as direct.
    """

    direct: tuple[int, ...] = ()
    indirect: tuple[int, ...] = ()
    direct_sets: tuple[int, ...] = ()
    indirect_sets: tuple[int, ...] = ()

    @property
    def is_small(self) -> bool:
        """True if it includes no other sets and has at most MEMBERS_INLINE_MAX members."""
        includes = self.direct_sets or self.indirect_sets
        return not includes and len(self.direct) + len(self.indirect) <= MEMBERS_INLINE_MAX


EMPTY = FieldSet()


class FieldSetBuilder:
    """Numbers distinct sets. Each set refers only to sets with smaller numbers."""

    def __init__(self) -> None:
        self._sets: list[FieldSet] = []
        self._numbers: dict[FieldSet, int] = {}
        self._has_direct: list[bool] = []

    def __getitem__(self, number: int) -> FieldSet:
        """Return the set of a number that `add` returned. Raises IndexError for any other number."""
        return self._sets[number]

    def has_direct(self, number: int) -> bool:
        """Return whether a set has a direct member, its own or from `direct_sets`."""
        return self._has_direct[number]

    def add(
        self,
        direct: Iterable[int] = (),
        indirect: Iterable[int] = (),
        direct_sets: Iterable[int] = (),
        indirect_sets: Iterable[int] = (),
    ) -> int:
        """Return the number of the union of positions and sets; duplicates and empty sets are ignored."""
        members = set(direct)
        field_set = FieldSet(
            _sorted(members),
            _sorted(set(indirect) - members),
            self._without_empty(direct_sets),
            self._without_empty(indirect_sets),
        )
        if len(field_set.direct_sets) == 1 and field_set == FieldSet(direct_sets=field_set.direct_sets):
            return field_set.direct_sets[0]
        return self._number(self._inline(field_set))

    def extract(self, roots: Iterable[int]) -> tuple[tuple[FieldSet, ...], dict[int, int]]:
        """Return the sets that `roots` lead to, renumbered in the same order, and new numbers by old ones."""
        needed = set(roots)
        for number in range(len(self._sets) - 1, -1, -1):
            if number in needed:
                needed.update(self._sets[number].direct_sets, self._sets[number].indirect_sets)
        numbers = {old: new for new, old in enumerate(sorted(needed))}
        return tuple(_renumber(self._sets[old], numbers) for old in numbers), numbers

    def _without_empty(self, numbers: Iterable[int]) -> tuple[int, ...]:
        """Return the numbers of the sets that are not empty, sorted, each once."""
        return tuple(sorted({number for number in numbers if self._sets[number] != EMPTY}))

    def _inline(self, field_set: FieldSet) -> FieldSet:
        """Return a set with its included sets written out if they and the result are small, else the set."""
        included = [*field_set.direct_sets, *field_set.indirect_sets]
        is_candidate = len(included) <= SETS_INLINE_MAX and all(
            self._sets[number].is_small for number in included
        )
        if not included or not is_candidate:
            return field_set
        direct, indirect = set(field_set.direct), set(field_set.indirect)
        for number in field_set.direct_sets:
            direct.update(self._sets[number].direct)
            indirect.update(self._sets[number].indirect)
        for number in field_set.indirect_sets:
            indirect.update(self._sets[number].direct, self._sets[number].indirect)
        indirect -= direct
        is_small = len(direct) + len(indirect) <= MEMBERS_INLINE_MAX
        return FieldSet(_sorted(direct), _sorted(indirect)) if is_small else field_set

    def _number(self, field_set: FieldSet) -> int:
        """Return the number of a field set, a new number if the set is new."""
        number = self._numbers.setdefault(field_set, len(self._sets))
        if number == len(self._sets):
            self._sets.append(field_set)
            has_direct = any(self._has_direct[other] for other in field_set.direct_sets)
            self._has_direct.append(bool(field_set.direct) or has_direct)
        return number


@dataclass(frozen=True, slots=True)
class Members:
    """Sorted positions of the direct and the indirect members of a set, or None for both."""

    direct: tuple[int, ...] = ()
    indirect: tuple[int, ...] = ()


class FieldSetResolver:
    """Lists the members of sets within a range of positions; `steps` counts the sets entered for it."""

    def __init__(self, sets: Sequence[FieldSet], positions: range) -> None:
        """Prepare to list members of `sets` in the range `positions`. Sets may include only earlier sets."""
        self.steps = 0
        self._sets = sets
        self._positions = positions
        self._cache: dict[int, Members] = {}
        self._members_cached = 0
        # Sets without a member in the range are never entered.
        self._reaching = self._sets_reaching()

    def reaches(self, number: int) -> bool:
        """Return whether a set has a member in the range."""
        return self._reaching[number]

    def members(self, number: int) -> Members:
        """Return the members of a set in the range; the work grows with included sets not in the cache."""
        if not self._reaching[number]:
            return Members()
        cached = self._cache.get(number)
        if cached is None:
            cached = self.union([number])
            self._add_to_cache(number, cached)
        return cached

    def union(self, numbers: Iterable[int]) -> Members:
        """Return the members of all sets together that are in the range, without caching the result.

        Anything that only indirect edges reach is indirect.
        """
        direct: set[int] = set()
        indirect: set[int] = set()
        visited: dict[int, bool] = {}
        # A stack, not recursion: sets may form a chain of any length.
        pending = [(number, True) for number in numbers]
        while pending:
            number, is_direct = pending.pop()
            # A direct visit (True) covers everything that an indirect visit would add.
            if not self._reaching[number] or visited.get(number, -1) >= is_direct:
                continue
            visited[number] = is_direct
            self.steps += 1
            field_set = self._sets[number]
            cached = self._cache.get(number)
            members = cached or Members(self._within(field_set.direct), self._within(field_set.indirect))
            (direct if is_direct else indirect).update(members.direct)
            indirect.update(members.indirect)
            if cached is None:
                pending += [(included, is_direct) for included in field_set.direct_sets]
                pending += [(included, False) for included in field_set.indirect_sets]
        return Members(_sorted(direct), _sorted(indirect - direct))

    def _add_to_cache(self, number: int, members: Members) -> None:
        """Cache the members of a set; clear the cache first if it has no room. A larger set is not cached."""
        size = len(members.direct) + len(members.indirect)
        if self._members_cached + size > MEMBERS_CACHED_MAX:
            self._cache.clear()
            self._members_cached = 0
        if size <= MEMBERS_CACHED_MAX:
            self._cache[number] = members
            self._members_cached += size

    def _within(self, positions: tuple[int, ...]) -> tuple[int, ...]:
        """Return the sorted positions that are in the range of this resolver."""
        if not positions or (positions[0] >= self._positions.start and positions[-1] < self._positions.stop):
            return positions
        first = bisect_left(positions, self._positions.start)
        return positions[first : bisect_left(positions, self._positions.stop)]

    def _sets_reaching(self) -> list[bool]:
        """Return for each set whether it leads to a position in the range of this resolver."""
        reaching: list[bool] = []
        for field_set in self._sets:
            reaching.append(
                bool(self._within(field_set.direct) or self._within(field_set.indirect))
                or any(reaching[number] for number in field_set.direct_sets)
                or any(reaching[number] for number in field_set.indirect_sets)
            )
        return reaching


def _sorted(positions: Iterable[int]) -> tuple[int, ...]:
    """Return positions sorted, as a tuple."""
    return tuple(sorted(positions))


def _renumber(field_set: FieldSet, numbers: dict[int, int]) -> FieldSet:
    """Return the set with its included sets renumbered by `numbers`. Raises KeyError."""
    return FieldSet(
        field_set.direct,
        field_set.indirect,
        tuple(numbers[number] for number in field_set.direct_sets),
        tuple(numbers[number] for number in field_set.indirect_sets),
    )
