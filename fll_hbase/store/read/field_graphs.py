"""The operation graph of one field in a window, merged from all contents that touch the field."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain

from fll_hbase.model import operation_graph, simple_view
from fll_hbase.model.datasets import Dataset, DatasetField
from fll_hbase.model.operation_graph import OperationGraph
from fll_hbase.model.window import Direction, Window
from fll_hbase.runtime import deadline
from fll_hbase.store.components import Reader
from fll_hbase.store.query_parameters import WindowQuery
from fll_hbase.store.read.content_cache import FieldOfContent
from fll_hbase.store.results import FieldLineageResult

_AFTER_ALL_TAILS = b"~"
"""Sorts after every reference tail, which begins with a hex digit."""

_BUILDERS: Mapping[tuple[Direction, bool], Callable[..., OperationGraph]] = {
    (Direction.BACKWARD, False): operation_graph.upstream_graph,
    (Direction.FORWARD, False): operation_graph.downstream_graph,
    (Direction.BACKWARD, True): simple_view.upstream_simple_view,
    (Direction.FORWARD, True): simple_view.downstream_simple_view,
}
"""Builders of the graph of a field, by direction and whether the view is simple."""


class FieldGraphReader(Reader):
    """Merges operation graphs of a field. Threads may share it. Raises StoreUnavailable and CorruptRow."""

    def field_lineage(
        self,
        field: DatasetField,
        window: Window,
        *,
        direction: Direction = Direction.BACKWARD,
        simple: bool = False,
        indirect: bool = True,
    ) -> FieldLineageResult:
        """Return the operations that produce the field (backward) or use it (forward), one hop.

        `simple` reduces the graph to sources, targets and the operations between each pair. Without
        `indirect`, inputs that only select or arrange rows are left out. Contents are merged newest first,
        until a limit or the deadline. Raises NotFound for a field that was never recorded, and
        DeadlineExceeded if the deadline passes before the first content.
        """
        query = WindowQuery(direction, field.dataset, window)
        contents, failed_alone = self._newest_first(query, field.name)
        if not contents:
            self._catalogue.require_field(field)
        truncated_by: set[str] = set()
        graphs = self.graphs(contents, query.direction, simple=simple, indirect=indirect)
        merged = operation_graph.merge(
            deadline.until_over(graphs, truncated_by=truncated_by),
            connections_max=self._settings.connections_max,
            failed=failed_alone,
            public_checksum=self._contents.public_checksum,
        )
        truncated_by |= merged.truncated_by
        if truncated_by:
            # Graphs that were left out may belong to complete runs.
            merged = replace(merged, failed=frozenset())
        checksums = dict.fromkeys(content.checksum for content in contents)
        return FieldLineageResult(merged, tuple(checksums), tuple(sorted(truncated_by)))

    def _newest_first(self, query: WindowQuery, name: str) -> tuple[list[FieldOfContent], set[str]]:
        """Return the contents that touch a field, newest run first, under each dataset name that they use.

        If failed runs count, also return the checksums of contents that only failed runs have, else none.
        """
        # If failed runs count, the same calls also read the contents of complete runs.
        queries = [query, query.without_failed()] if query.window.failed else [query]
        by_name, *_ = by_names = self._windows.checksums_by_name(queries)
        failed = set(chain(*by_name.values())) - set(chain(*by_names[-1].values()))
        by_dataset = {
            dataset: contents
            for dataset, checksums in by_name.items()
            if (contents := self._touching(query.direction, DatasetField(dataset, name), checksums))
        }
        contents = [content for contents in by_dataset.values() for content in contents]
        tails = self._newest_tails(query, by_dataset)
        # Checksums break ties, so that every process merges in the same order.
        newest_first = sorted(
            contents,
            key=lambda content: (tails.get(content.checksum, _AFTER_ALL_TAILS), content.checksum),
        )
        return newest_first, failed

    def _touching(
        self, direction: Direction, field: DatasetField, checksums: frozenset[str]
    ) -> list[FieldOfContent]:
        """Return the contents that write (backward) or read (forward) a field. Raises DeadlineExceeded."""
        touching = []
        for content in (FieldOfContent(checksum, field) for checksum in checksums):
            # Check here, because fully cached contents never wait for the store.
            deadline.check()
            if self._contents.mentions_field(content, direction):
                touching.append(content)
        return touching

    def _newest_tails(
        self, query: WindowQuery, by_dataset: dict[Dataset, list[FieldOfContent]]
    ) -> dict[str, bytes]:
        """Return the reference tail of the newest run of each content, or {} for a single content."""
        checksums = {
            replace(query, dataset=dataset): [content.checksum for content in contents]
            for dataset, contents in by_dataset.items()
        }
        # A single content needs no order, and finding its newest run would read references.
        if len({checksum for listed in checksums.values() for checksum in listed}) <= 1:
            return {}
        tails: dict[str, bytes] = {}
        for newest in self._windows.newest_references(checksums):
            for checksum, tail in newest.items():
                tails[checksum] = min(tail, tails.get(checksum, tail))
        return tails

    def contents_of_field(self, queries: Sequence[WindowQuery], name: str) -> list[frozenset[FieldOfContent]]:
        """Return for each query the contents that touch the field `name`, under each name of its dataset."""
        return [
            frozenset(
                content
                for dataset, checksums in by_name.items()
                for content in self._touching(query.direction, DatasetField(dataset, name), checksums)
            )
            for query, by_name in zip(queries, self._windows.checksums_by_name(queries), strict=True)
        ]

    def graphs(
        self, contents: Sequence[FieldOfContent], direction: Direction, *, simple: bool, indirect: bool
    ) -> Iterator[tuple[str, OperationGraph]]:
        """Yield the graph of each content with its checksum. Raises DeadlineExceeded."""
        limits = {"connections_max": self._settings.connections_max}
        if simple:
            limits["steps_max"] = self._settings.steps_max
        build = _BUILDERS[direction, simple]
        operations = self._contents.iter_operations(contents, direction)
        for content, operations_of_field in zip(contents, operations, strict=True):
            deadline.check()
            yield content.checksum, build(operations_of_field, content.field, indirect=indirect, **limits)
