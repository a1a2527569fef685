"""Topological order and cycles of a directed graph of names, without recursion.

A graph maps each name to its origins: the names that must come before it. Origins that are not names of the
graph are ignored, so that a part of a graph can be sorted too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from heapq import heapify, heappop, heappush

from fll_hbase.model.operations import Operation, inputs_of
from fll_hbase.runtime import deadline
from fll_hbase.runtime.errors import FieldError, InvalidLineage


def topological_sort(
    origins: Mapping[str, Iterable[str]], *, rank: Callable[[str], int] = lambda _: 0
) -> list[str]:
    """Return the names, each after all its origins. Ties are ordered by `rank`, then by name.

    Names on a cycle, and names after one, are left out.
    """
    graph = _without_unknown(origins)
    consumers = _consumers(graph)
    missing = {name: len(names) for name, names in graph.items()}
    ready = [(rank(name), name) for name, count in missing.items() if count == 0]
    # A heap makes the order depend only on ranks and names, since answers show it.
    heapify(ready)
    ordered = []
    while ready:
        _, name = heappop(ready)
        ordered.append(name)
        for consumer in consumers[name]:
            missing[consumer] -= 1
            if missing[consumer] == 0:
                heappush(ready, (rank(consumer), consumer))
    return ordered


def cycles(origins: Mapping[str, Iterable[str]]) -> Iterator[tuple[str, ...]]:
    """Yield the sorted names of each strongly connected component that is a cycle (Kosaraju's algorithm).

    The names of a cycle are origins of each other, directly or not; a single name is its own origin.
    """
    graph = _without_unknown(origins)
    visited: set[str] = set()
    finished = [name for root in deadline.watched(graph) for name in _postorder(root, graph, visited)]
    consumers = _consumers(graph)
    visited = set()
    # Second pass of Kosaraju: over the reversed graph, starting with the name that finished last.
    for root in deadline.watched(finished[::-1]):
        component = list(_postorder(root, consumers, visited))
        # A single name is also a component, but a cycle only if it is its own origin.
        if len(component) > 1 or (component and root in graph[root]):
            yield tuple(sorted(component))


def operation_origins(operations: Iterable[Operation]) -> dict[str, set[str]]:
    """Return the graph of operations: each name with the operations whose fields are its inputs."""
    origins: dict[str, set[str]] = {}
    for operation in deadline.watched(operations):
        origins.setdefault(operation.name, set()).update(field.origin for field in inputs_of(operation))
    return origins


def sort_operations(operations: Sequence[Operation]) -> tuple[Operation, ...]:
    """Return the operations, each after all its origins, with ties in name order.

    Only the last operation of each name is returned. Raises InvalidLineage if operations feed one another in
    a cycle and, while a document is read, the errors of `deadline.check`.
    """
    by_name = {operation.name: operation for operation in operations}
    origins = operation_origins(operations)
    ordered = topological_sort(origins)
    if len(ordered) < len(by_name):
        raise InvalidLineage(
            FieldError("operations", f"a cycle: {', '.join(map(repr, names))}") for names in cycles(origins)
        )
    return tuple(by_name[name] for name in ordered)


def _postorder(root: str, steps: Mapping[str, Iterable[str]], visited: set[str]) -> Iterator[str]:
    """Yield the names that `root` reaches and `visited`, to which they are added, lacks.

    Each name comes after the names reachable from it.
    """
    if root in visited:
        return
    visited.add(root)
    # A stack of iterators, not recursion: operations may form a chain of any length.
    path = [(root, iter(steps[root]))]
    while path:
        name, rest = path[-1]
        step = next((step for step in rest if step not in visited), None)
        if step is None:
            path.pop()
            yield name
        else:
            visited.add(step)
            path.append((step, iter(steps[step])))


def _without_unknown(origins: Mapping[str, Iterable[str]]) -> dict[str, set[str]]:
    """Return the graph with sorted names and without origins that are not in it."""
    return {
        name: {origin for origin in origins[name] if origin in origins}
        for name in deadline.watched(sorted(origins))
    }


def _consumers(graph: Mapping[str, Iterable[str]]) -> dict[str, list[str]]:
    """Return the graph reversed: for each name, the names that have it as origin."""
    consumers: dict[str, list[str]] = {name: [] for name in graph}
    for name, origins in deadline.watched(graph.items()):
        for origin in origins:
            consumers[origin].append(name)
    return consumers
