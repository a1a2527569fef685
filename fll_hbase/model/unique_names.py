"""Unique names of operations: `a`, then `a#2`, `a#3`."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count


class UniqueNames:
    """Assigns names that are unique within one instance."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}

    def assign(self, name: str) -> str:
        """Return and remember the name, with the first free suffix `#2`, `#3`, ... if it is taken."""
        number = self._counts.get(name, 0) + 1
        unique = name if number == 1 else f"{name}#{number}"
        # Count per name: starting at #2 each time would be quadratic in the number of equal names.
        while unique in self._counts:
            number += 1
            unique = f"{name}#{number}"
        self._counts[name] = number
        # A document may itself use the name `a#2`, so reserve it from now on.
        self._counts.setdefault(unique, 1)
        return unique


def candidate_names(name: str) -> Iterator[str]:
    """Yield `name`, `name#2`, `name#3`, ... without end."""
    yield name
    for number in count(2):
        yield f"{name}#{number}"
