"""Under which name does an operation go: each name once in a run."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count


class UniqueNames:
    """Gives every name once: `a`, then `a#2`, `a#3`."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def assign(self, name: str) -> str:
        """The name, or with `#2`, `#3`, … where it is taken."""
        number = self._numbers.get(name, 0) + 1
        found = name if number == 1 else f"{name}#{number}"
        while found in self._numbers:
            number += 1
            found = f"{name}#{number}"
        self._numbers[name] = number
        self._numbers.setdefault(found, 1)
        return found


def candidate_names(name: str) -> Iterator[str]:
    """Yield `name`, `name#2`, `name#3`, … without end."""
    yield name
    for number in count(2):
        yield f"{name}#{number}"
