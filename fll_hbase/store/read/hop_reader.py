"""How the hops of a reach were made: the operations between two fields in the newest run with the edge."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from fll_hbase.model.datasets import DatasetField
from fll_hbase.model.hop_operations import HopOperations
from fll_hbase.model.operations import Operation
from fll_hbase.runtime import deadline
from fll_hbase.store.components import Reader
from fll_hbase.store.results import ReachEdge

HOPS_MAX = 1_000
"""Hops of one report that are explained."""

Ends: TypeAlias = tuple[DatasetField, DatasetField]
"""The source and the destination of a hop."""


class HopReader(Reader):
    """Reads the operations of hops. Threads may share it."""

    def hop_operations(
        self, edges: Sequence[ReachEdge], truncated_by: set[str]
    ) -> dict[Ends, tuple[Operation, ...]]:
        """Return the transforms of each edge in its newest content, by its ends; see `HopOperations.between`.

        Edges without counted runs, or whose way is hidden or not known, are left out. Of many edges the first
        `HOPS_MAX` are read, until the deadline; `truncated_by` gets the limit.
        """
        counted = [edge for edge in edges if edge.checksum]
        if len(counted) > HOPS_MAX:
            truncated_by.add(f"hops_explained_max={HOPS_MAX}")
        found = self._found(counted[:HOPS_MAX])
        return dict(deadline.until_over(found, truncated_by=truncated_by))

    def _found(self, edges: Sequence[ReachEdge]) -> Iterator[tuple[Ends, tuple[Operation, ...]]]:
        """Yield the ends and the transforms of each edge, content by content."""
        by_content: dict[str, list[ReachEdge]] = defaultdict(list)
        for edge in edges:
            by_content[edge.checksum].append(edge)
        datasets = {end.dataset for edge in edges for end in (edge.source, edge.destination)}
        aliases = self._catalogue.aliases(datasets)
        names = {dataset: (dataset, *aliases.get(dataset, ())) for dataset in datasets}
        for checksum, listed in by_content.items():
            hops = HopOperations(self._contents.content(checksum).operations)
            for edge in listed:
                deadline.check()
                source, destination = edge.source, edge.destination
                between = hops.between(
                    names[source.dataset], source.name, names[destination.dataset], destination.name
                )
                if between is not None:
                    yield (source, destination), between
