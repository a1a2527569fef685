"""The difference between how the fields of a dataset were derived in two windows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from fll_hbase.model.datasets import Dataset, DatasetField
from fll_hbase.model.window import Direction, Window
from fll_hbase.runtime import deadline
from fll_hbase.store.components import Reader, StoreComponents
from fll_hbase.store.read.content_cache import DatasetOfContent, FieldOfContent
from fll_hbase.store.read.field_diff import ContentsOfWindows, FieldDiffReader
from fll_hbase.store.read.window_query import WindowQuery
from fll_hbase.store.results import ChangedField, DatasetDiff, FieldDiff

_Contents: TypeAlias = frozenset[DatasetOfContent]
_Ways: TypeAlias = dict[str, FieldOfContent]
"""One content for each digest of how a field is derived; others with the digest have the same parts."""


class DatasetDiffReader(Reader):
    """Compares the derivations of all fields of a dataset in two windows. Threads may share it."""

    def __init__(self, components: StoreComponents) -> None:
        super().__init__(components)
        self._fields = FieldDiffReader(components)

    def dataset_diff(
        self,
        dataset: Dataset,
        window: Window,
        base: Window,
        *,
        indirect: bool = True,
        failed: bool = False,
    ) -> DatasetDiff:
        """Return the fields whose derivations differ between the windows, by name, with what differs.

        Where both windows have the same contents none is read; else digests of all of them decide, and only
        fields that differ are compared, by one content for each way of deriving them: at most
        `list_limit_max` fields, `pairs_max` ways and about `connections_max` edges in all. Raises NotFound
        for a dataset that was never recorded, and DeadlineExceeded if no field was compared in time.
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
        limits: set[str] = set()
        changed = self._changed_fields(contents, base_contents, limits, indirect=indirect)
        return self._compare(changed, limits, indirect=indirect)

    def _changed_fields(
        self, contents: _Contents, base_contents: _Contents, limits: set[str], *, indirect: bool
    ) -> dict[str, ContentsOfWindows]:
        """Return the fields that are not derived in the same ways in both windows, by name.

        Each content may derive each field in a way of its own, so that only the first fields are compared if
        all have more than `pairs_max` ways; then this limit is added.
        """
        differing = self._digests(contents ^ base_contents, indirect=indirect)
        names = sorted({name for _, by_field in differing for name in by_field})
        if not names:
            return {}
        names_max = max(1, self._settings.pairs_max // len(contents | base_contents))
        if len(names) > names_max:
            del names[names_max:]
            limits.add(f"pairs_max={self._settings.pairs_max}")
        ways: dict[str, tuple[_Ways, _Ways]] = {name: ({}, {}) for name in names}
        # Sorted, so that every process compares the same one of several contents with the same way.
        for content, by_field in self._digests(contents | base_contents, indirect=indirect):
            for name in ways.keys() & by_field.keys():
                field = FieldOfContent(content.checksum, DatasetField(content.dataset, name))
                for listed, in_window in zip((contents, base_contents), ways[name], strict=True):
                    if content in listed:
                        in_window.setdefault(by_field[name], field)
        return {
            name: (frozenset(in_window.values()), frozenset(in_base.values()))
            for name, (in_window, in_base) in ways.items()
            if in_window.keys() != in_base.keys()
        }

    def _digests(
        self, contents: _Contents, *, indirect: bool
    ) -> Iterator[tuple[DatasetOfContent, dict[str, str]]]:
        """Yield each content, in order, with its digests by field. Raises DeadlineExceeded."""
        listed = sorted(contents)
        for content in zip(listed, self._contents.derivation_digests(listed, indirect=indirect), strict=True):
            # Here, because contents that are all cached never wait for the store.
            deadline.check()
            yield content

    def _compare(
        self, changed: Mapping[str, ContentsOfWindows], limits: set[str], *, indirect: bool
    ) -> DatasetDiff:
        """Return the diffs of the changed fields, up to the bounds; `limits` gets those reached."""
        names = list(changed)
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
