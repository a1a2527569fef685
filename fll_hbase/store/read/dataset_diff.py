"""The difference between how the fields of a dataset were derived in two windows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from fll_hbase import deadline
from fll_hbase.config import Settings
from fll_hbase.model.datasets import Dataset, DatasetField
from fll_hbase.model.window import Direction, Window
from fll_hbase.store.read.catalogue import Catalogue
from fll_hbase.store.read.content_cache import ContentCache
from fll_hbase.store.read.content_decoding import DatasetOfContent, FieldOfContent
from fll_hbase.store.read.field_diff import ContentsOfWindows, FieldDiffReader
from fll_hbase.store.read.window_query import WindowQuery, WindowReader
from fll_hbase.store.results import ChangedField, DatasetDiff, FieldDiff

_Contents: TypeAlias = frozenset[DatasetOfContent]
_Ways: TypeAlias = dict[str, FieldOfContent]
"""One content for each digest of how a field is derived; others with the digest have the same parts."""


class DatasetDiffReader:
    """Compares the derivations of all fields of a dataset in two windows. Threads may share it."""

    def __init__(
        self,
        windows: WindowReader,
        contents: ContentCache,
        fields: FieldDiffReader,
        catalogue: Catalogue,
        settings: Settings,
    ) -> None:
        self._windows = windows
        self._contents = contents
        self._fields = fields
        self._catalogue = catalogue
        self._settings = settings

    def diff(
        self, dataset: Dataset, window: Window, base: Window, *, indirect: bool, failed: bool
    ) -> DatasetDiff:
        """Return the fields whose derivations differ between the windows, by name, with what differs.

        Where both windows have the same contents none is read; else digests of all of them decide, and only
        fields that differ are compared, by one content for each way of deriving them: at most
        `list_limit_max` fields and about `connections_max` edges in all. Raises NotFound for a dataset that
        was never recorded, and DeadlineExceeded if no field was compared in time.
        """
        queries = [WindowQuery(Direction.BACKWARD, dataset, bounds, failed) for bounds in (window, base)]
        contents, base_contents = (
            frozenset(
                DatasetOfContent(checksum, name)
                for name, checksums in by_name.items()
                for checksum in checksums
            )
            for by_name in self._windows.checksums_by_name(queries)
        )
        if not contents | base_contents:
            self._catalogue.require_dataset(dataset)
        changed = self._changed_fields(contents, base_contents, indirect=indirect)
        return self._compare(changed, indirect=indirect)

    def _changed_fields(
        self, contents: _Contents, base_contents: _Contents, *, indirect: bool
    ) -> dict[str, ContentsOfWindows]:
        """Return the fields that are not derived in the same ways in both windows, by name."""
        differing, common = contents ^ base_contents, contents & base_contents
        digests = self._read_digests(differing, indirect=indirect)
        names = frozenset(name for by_field in digests.values() for name in by_field)
        if names:
            digests |= self._read_digests(common, indirect=indirect)
        ways, base_ways = (_ways(listed, digests, names) for listed in (contents, base_contents))
        return {
            name: (frozenset(ways[name].values()), frozenset(base_ways[name].values()))
            for name in sorted(names)
            if ways[name].keys() != base_ways[name].keys()
        }

    def _read_digests(self, contents: _Contents, *, indirect: bool) -> dict[DatasetOfContent, dict[str, str]]:
        listed = sorted(contents)
        digests = {}
        for content, by_field in zip(
            listed, self._contents.derivation_digests(listed, indirect=indirect), strict=True
        ):
            # Here, because contents that are all cached never wait for the store.
            deadline.check()
            digests[content] = by_field
        return digests

    def _compare(self, changed: Mapping[str, ContentsOfWindows], *, indirect: bool) -> DatasetDiff:
        names, limits = list(changed), set[str]()
        if len(names) > self._settings.list_limit_max:
            del names[self._settings.list_limit_max :]
            limits.add(f"list_limit_max={self._settings.list_limit_max}")
        diffs = self._fields.diffs([changed[name] for name in names], indirect=indirect)
        fields: list[ChangedField] = []
        for field in deadline.until_over(self._bounded(names, diffs, limits), truncated_by=limits):
            fields.append(field)
            limits.update(field.diff.truncated_by)
        return DatasetDiff(tuple(fields), tuple(sorted(limits)))

    def _bounded(
        self, names: Sequence[str], diffs: Iterable[FieldDiff], limits: set[str]
    ) -> Iterator[ChangedField]:
        """Yield fields with what differs, until they have more than `connections_max` edges."""
        edges = 0
        for name, diff in zip(names, diffs, strict=True):
            if edges > self._settings.connections_max:
                limits.add(f"connections_max={self._settings.connections_max}")
                return
            edges += sum(len(parts.edges) for parts in (diff.gained, diff.lost) if parts)
            yield ChangedField(name, diff)


def _ways(
    contents: _Contents,
    digests: Mapping[DatasetOfContent, Mapping[str, str]],
    names: frozenset[str],
) -> dict[str, _Ways]:
    """Return the ways in which contents derive each of the fields."""
    ways: dict[str, _Ways] = {name: {} for name in names}
    # Sorted, so that every process compares the same one of several contents with the same way.
    for content in sorted(contents):
        for name in names & digests.get(content, {}).keys():
            field = FieldOfContent(content.checksum, DatasetField(content.dataset, name))
            ways[name].setdefault(digests[content][name], field)
    return ways
