"""Hops of a reach: the operations between two fields in the contents of their edge."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from fll_hbase.model.datasets import DatasetField
from fll_hbase.model.hop_operations import Hop, HopOperations
from fll_hbase.runtime import deadline
from fll_hbase.store.components import Reader
from fll_hbase.store.results import ReachEdge

HOPS_MAX = 10_000
"""Maximum number of hop contents that one report reads to explain hops."""

Ends: TypeAlias = tuple[DatasetField, DatasetField]
"""The source and the destination of a hop."""


class HopReader(Reader):
    """Reads the operations of hops. Threads may share it. Raises StoreUnavailable and CorruptRow."""

    def hops(self, edges: Sequence[ReachEdge], truncated_by: set[str]) -> dict[Ends, list[Hop]]:
        """Return, by the ends of each edge, the hops in its contents, the newest first.

        Leaves out edges without counted runs, and hops that are hidden or unknown. Reads at most the first
        `HOPS_MAX` contents of edges, until the deadline; a reached limit is added to `truncated_by`.
        """
        counted = [(checksum, edge) for edge in edges for checksum in edge.checksums]
        if len(counted) > HOPS_MAX:
            truncated_by.add(f"hops_explained_max={HOPS_MAX}")
        hops_by_ends: dict[Ends, dict[str, Hop]] = defaultdict(dict)
        for checksum, edge, hop in deadline.until_over(
            self._hops(counted[:HOPS_MAX]), truncated_by=truncated_by, needs_first=False
        ):
            hops_by_ends[edge.source, edge.destination][checksum] = hop
        order = {(edge.source, edge.destination): edge.checksums for edge in edges}
        return {
            ends: [hops[checksum] for checksum in order[ends] if checksum in hops]
            for ends, hops in hops_by_ends.items()
        }

    def _hops(self, counted: Sequence[tuple[str, ReachEdge]]) -> Iterator[tuple[str, ReachEdge, Hop]]:
        """Yield the hop of each edge in each of its contents, content by content."""
        by_content: dict[str, list[ReachEdge]] = defaultdict(list)
        for checksum, edge in counted:
            by_content[checksum].append(edge)
        datasets = {end.dataset for _, edge in counted for end in (edge.source, edge.destination)}
        aliases = self._catalogue.aliases(datasets)
        names = {dataset: (dataset, *aliases.get(dataset, ())) for dataset in datasets}
        for checksum, listed in by_content.items():
            hops = HopOperations(self._contents.content(checksum).operations)
            # Sort by destination, so that the operations upstream of each field are searched only once.
            for edge in sorted(listed, key=lambda edge: edge.destination):
                deadline.check()
                source, destination = edge.source, edge.destination
                hop = hops.between(
                    names[source.dataset], source.name, names[destination.dataset], destination.name
                )
                if hop is not None:
                    yield checksum, edge, hop
