"""In which order could operations have run: topological order and cycles, without recursion.

An origin that is not among the operations given is ignored, so that a subset can be ordered too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import heapify, heappop, heappush

from fll_hbase.errors import FieldError, InvalidLineage
from fll_hbase.model.operations import Operation, inputs_of


def topological(operations: Sequence[Operation]) -> tuple[Operation, ...]:
    """The operations, each after all its origins; by name where the order is free.

    Raises InvalidLineage where operations feed one another in a cycle.
    """
    by_name = {operation.name: operation for operation in operations}
    origins = _origins(operations)
    waiting = {name: len(names) for name, names in origins.items()}
    consumers = _consumers(origins)
    ready = [name for name, count in waiting.items() if count == 0]
    heapify(ready)
    ordered = []
    while ready:
        name = heappop(ready)
        ordered.append(by_name[name])
        for consumer in consumers[name]:
            waiting[consumer] -= 1
            if waiting[consumer] == 0:
                heappush(ready, consumer)
    if len(ordered) < len(by_name):
        raise InvalidLineage(
            FieldError("operations", f"a cycle: {', '.join(map(repr, names))}")
            for names in cycles(operations)
        )
    return tuple(ordered)


def cycles(operations: Sequence[Operation]) -> Iterator[tuple[str, ...]]:
    """Each set of operations that feed one another, or the one that feeds itself; names sorted.

    Kosaraju's strongly connected components.
    """
    origins = _origins(operations)
    seen: set[str] = set()
    finished = [name for root in origins for name in _postorder(root, origins, seen)]
    consumers = _consumers(origins)
    seen = set()
    for root in reversed(finished):
        component = list(_postorder(root, consumers, seen))
        if len(component) > 1 or (component and root in origins[root]):
            yield tuple(sorted(component))


def _postorder(root: str, steps: Mapping[str, Iterable[str]], seen: set[str]) -> Iterator[str]:
    """All names on from `root` that are not `seen` yet, each after those on from it."""
    if root in seen:
        return
    seen.add(root)
    path = [(root, iter(steps[root]))]
    while path:
        name, rest = path[-1]
        step = next((step for step in rest if step not in seen), None)
        if step is None:
            path.pop()
            yield name
        else:
            seen.add(step)
            path.append((step, iter(steps[step])))


def _origins(operations: Sequence[Operation]) -> dict[str, set[str]]:
    """Per operation the operations it takes fields from, those not given left out."""
    names = {operation.name for operation in operations}
    origins: dict[str, set[str]] = {name: set() for name in sorted(names)}
    for operation in operations:
        origins[operation.name].update(
            field.origin for field in inputs_of(operation) if field.origin in names
        )
    return origins


def _consumers(origins: dict[str, set[str]]) -> dict[str, list[str]]:
    consumers: dict[str, list[str]] = {name: [] for name in origins}
    for name, names in origins.items():
        for origin in names:
            consumers[origin].append(name)
    return consumers
