"""The difference between the derivations of a field, or of a dataset's fields, in two windows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeAlias

from fll_hbase.model.datasets import Dataset, DatasetField
from fll_hbase.model.derivation_parts import (
    ContentDerivations,
    DerivationParts,
    Edge,
    OperationIdentity,
    field_digest,
)
from fll_hbase.model.operations import Operation
from fll_hbase.model.window import Direction, Window
from fll_hbase.runtime import deadline
from fll_hbase.store.components import Reader, StoreComponents
from fll_hbase.store.query_parameters import WindowQuery
from fll_hbase.store.read.content_cache import ContentCache, DatasetOfContent, FieldOfContent
from fll_hbase.store.read.derivation_runs import DerivationRunsReader, Ways, WaysOfWindow
from fll_hbase.store.read.field_graphs import FieldGraphReader
from fll_hbase.store.results import ChangedField, DatasetDiff, FieldDiff

_INDEXED_INPUTS_MAX = 500_000
"""Maximum number of operation inputs that a diff of a dataset keeps in memory: about 150 MB."""

_Contents: TypeAlias = frozenset[DatasetOfContent]
_Ways: TypeAlias = dict[str, list[DatasetOfContent]]


class WaysOfField(NamedTuple):
    """The derivations of a field in a window and in its base window, with the contents of each."""

    field: str
    window: Ways
    base: Ways

    def changes(self, queries: Sequence[WindowQuery]) -> list[WaysOfWindow]:
        """Return the ways that only the window has, then the ways that only the base window has."""
        window, base = queries
        gained = {digest: self.window[digest] for digest in self.window.keys() - self.base.keys()}
        lost = {digest: self.base[digest] for digest in self.base.keys() - self.window.keys()}
        return [WaysOfWindow(window, self.field, gained), WaysOfWindow(base, self.field, lost)]


class _WindowUnion:
    """The derivations of one window under construction: its contents, and the limits that cut their union.

    `ways` contains the contents read so far, by digest.
    """

    def __init__(self, contents: frozenset[FieldOfContent]) -> None:
        self.contents = contents
        self.ways: _Ways = {}
        self.truncated_by: set[str] = set()
        # Extended in place, not copied, because each of thousands of contents may add a few parts.
        self._operations: set[OperationIdentity] = set()
        self._edges: set[Edge] = set()
        self._sources: set[DatasetField] = set()

    def add(self, parts: DerivationParts, *, connections_max: int) -> None:
        """Add all parts of a content, or none if the union would exceed `connections_max` edges; note that.

        The first content with edges is always added. The caller updates `ways`.
        """
        # Add the whole first content, however large: its own graph is also bounded.
        size = len(self._edges) + len(parts.edges - self._edges)
        if self._edges and size > connections_max:
            self.truncated_by.add(f"connections_max={connections_max}")
            return
        self._operations |= parts.operations
        self._edges |= parts.edges
        self._sources |= parts.sources

    def build(self) -> DerivationParts:
        """Return the union of the parts of all contents that were added."""
        return DerivationParts(frozenset(self._operations), frozenset(self._edges), frozenset(self._sources))


class _IndexedContents:
    """Derivations of contents, which are read in the order in which they are first needed."""

    def __init__(self, contents: ContentCache, checksums: Sequence[str], *, indirect: bool) -> None:
        self._contents = contents
        self._operations = contents.iter_all_operations(checksums)
        self._seen: set[str] = set()
        self._indirect = indirect
        self._indexed: dict[str, ContentDerivations] = {}
        self._size = 0

    def __getitem__(self, checksum: str) -> ContentDerivations:
        """Return a content's derivations, from memory or read; if memory is full, forget all others first."""
        if checksum not in self._indexed:
            derivations = ContentDerivations(self._read(checksum).values(), indirect=self._indirect)
            # Clear everything at once, because fields usually differ between the same few contents.
            if self._size + derivations.size > _INDEXED_INPUTS_MAX:
                self._indexed.clear()
                self._size = 0
            self._size += derivations.size
            self._indexed[checksum] = derivations
        return self._indexed[checksum]

    def _read(self, checksum: str) -> Mapping[str, Operation]:
        """Return a content's operations by name; first reads must follow the order of the contents."""
        if checksum not in self._seen:
            self._seen.add(checksum)
            return next(self._operations)
        (operations,) = self._contents.iter_all_operations([checksum])
        return operations


class FieldDiffReader(FieldGraphReader):
    """Compares a field's derivations. Threads may share it. Raises StoreUnavailable and CorruptRow."""

    def __init__(self, components: StoreComponents) -> None:
        super().__init__(components)
        self._runs = DerivationRunsReader(components)

    def diff(
        self,
        field: DatasetField,
        window: Window,
        base: Window,
        *,
        indirect: bool = True,
    ) -> FieldDiff:
        """Return which derivations of `window` are missing in `base`, and the reverse.

        The work grows with the days and distinct contents of both windows, not with their runs; runs are
        counted only for derivations that one window lacks. A part that a limit may have cut is neither gained
        nor lost (see `FieldDiff`). Raises NotFound for a field that was never recorded, and DeadlineExceeded
        if no content was read in time.
        """
        queries = [WindowQuery(Direction.BACKWARD, field.dataset, bounds) for bounds in (window, base)]
        contents, base_contents = self.contents_of_field(queries, field.name)
        if not contents | base_contents:
            self._catalogue.require_field(field)
        unions = _WindowUnion(contents), _WindowUnion(base_contents)
        unread = self._unite(unions, indirect=indirect)
        changes = []
        alone = WaysOfField(field.name, *(union.ways for union in unions)).changes(queries)
        for change, other in zip(alone, reversed(unions), strict=True):
            is_late = bool(unread & other.contents)
            if is_late:
                other.truncated_by.add(deadline.limit())
            # Any of these ways may also exist in the unread contents of the other window.
            changes.append(change._replace(ways={}) if is_late else change)
        diff = _compare(*unions)
        limits = set(diff.truncated_by)
        gained, lost = self._runs.read(changes, indirect=indirect, truncated_by=limits)
        return replace(
            diff, gained_derivations=gained, lost_derivations=lost, truncated_by=tuple(sorted(limits))
        )

    def _unite(self, unions: Sequence[_WindowUnion], *, indirect: bool) -> set[FieldOfContent]:
        """Add contents to the windows that have them, in place; return the contents not read in time.

        Raises DeadlineExceeded if none was read in time.
        """
        # Sorted, so that a limit always cuts the same part; a content of both windows is read once.
        listed, count = sorted(frozenset().union(*(union.contents for union in unions))), 0
        derived = deadline.until_over(self._operations(listed), truncated_by=set())
        for count, (content, operations) in enumerate(derived, 1):  # noqa: B007 (used below)
            digest = field_digest(operations, content.field, indirect=indirect)
            windows = [union for union in unions if content in union.contents]
            # Contents that derive the field in the same way have equal parts.
            if new := [union for union in windows if digest not in union.ways]:
                self._add(new, content, ContentDerivations(operations, indirect=indirect))
            for union in windows:
                union.ways.setdefault(digest, []).append(
                    DatasetOfContent(content.checksum, content.field.dataset)
                )
        return set(listed[count:])

    def diffs(self, fields: Sequence[WaysOfField], *, indirect: bool) -> Iterator[FieldDiff]:
        """Yield for each field, in order, the difference between its two windows, up to the limits it names.

        Contents are read whole, mostly once. Raises DeadlineExceeded.
        """
        by_field = []
        for field in fields:
            window, base = (
                frozenset(_field_of(contents[0], field.field) for contents in ways.values())
                for ways in (field.window, field.base)
            )
            by_field.append((window, base, sorted(window | base)))
        checksums = dict.fromkeys(content.checksum for *_, listed in by_field for content in listed)
        derivations = _IndexedContents(self._contents, list(checksums), indirect=indirect)
        for window, base, listed in by_field:
            unions = _WindowUnion(window), _WindowUnion(base)
            for content in listed:
                deadline.check()
                self._add(unions, content, derivations[content.checksum])
            yield _compare(*unions)

    def _add(
        self, unions: Sequence[_WindowUnion], content: FieldOfContent, derivations: ContentDerivations
    ) -> None:
        """Add the parts of a content to the windows that have it."""
        limit = self._settings.connections_max
        parts, is_cut = derivations.parts(content.field, connections_max=limit)
        for union in unions:
            if content in union.contents:
                union.add(parts, connections_max=limit)
                union.truncated_by |= {f"connections_max={limit}"} if is_cut else set()

    def _operations(
        self, contents: Sequence[FieldOfContent]
    ) -> Iterator[tuple[FieldOfContent, tuple[Operation, ...]]]:
        """Yield each content, in order, with the operations into its field. Raises DeadlineExceeded."""
        for item in zip(contents, self._contents.iter_operations(contents, Direction.BACKWARD), strict=True):
            deadline.check()
            yield item


def _field_of(content: DatasetOfContent, name: str) -> FieldOfContent:
    """Return a field of the dataset of a content."""
    return FieldOfContent(content.checksum, DatasetField(content.dataset, name))


def _compare(union: _WindowUnion, base_union: _WindowUnion) -> FieldDiff:
    """Return the parts that each window has and the other lacks, each None if a limit cut the other one."""
    parts, base_parts = union.build(), base_union.build()
    # A part that a truncated window lacks may have been cut, so no part is reported as missing from it.
    return FieldDiff(
        gained=None if base_union.truncated_by else parts.without(base_parts),
        lost=None if union.truncated_by else base_parts.without(parts),
        common=parts.count_common(base_parts),
        truncated_by=tuple(sorted(union.truncated_by | base_union.truncated_by)),
    )


class DatasetDiffReader(Reader):
    """Compares a dataset's derivations. Threads may share it. Raises StoreUnavailable and CorruptRow."""

    def __init__(self, components: StoreComponents) -> None:
        super().__init__(components)
        self._fields = FieldDiffReader(components)
        self._runs = DerivationRunsReader(components)

    def dataset_diff(
        self,
        dataset: Dataset,
        window: Window,
        base: Window,
        *,
        indirect: bool = True,
    ) -> DatasetDiff:
        """Return the fields whose derivations differ between the windows, by name, with the differences.

        If both windows have the same contents, no content is read. Otherwise digests of all contents decide,
        and only fields that differ are compared, by one content for each way of deriving them. The result has
        at most `list_limit_max` fields, `pairs_max` ways and about `connections_max` edges and derivations in
        all. Runs are counted only for contents with derivations that one window lacks. Raises NotFound for a
        dataset that was never recorded, and DeadlineExceeded if no field was compared in time.
        """
        queries = [WindowQuery(Direction.BACKWARD, dataset, bounds) for bounds in (window, base)]
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
        return self._compare(changed, queries, limits, indirect=indirect)

    def _changed_fields(
        self, contents: _Contents, base_contents: _Contents, limits: set[str], *, indirect: bool
    ) -> list[WaysOfField]:
        """Return, by name, the fields that the two windows derive in different ways.

        Each content may derive each field in a different way. If there are more than `pairs_max` ways in all,
        only the first fields are compared, and the limit is added to `limits`.
        """
        differing = self._digests(contents ^ base_contents, indirect=indirect)
        names = sorted({name for _, by_field in differing for name in by_field})
        if not names:
            return []
        names_max = max(1, self._settings.pairs_max // len(contents | base_contents))
        if len(names) > names_max:
            del names[names_max:]
            limits.add(f"pairs_max={self._settings.pairs_max}")
        ways: dict[str, tuple[_Ways, _Ways]] = {name: ({}, {}) for name in names}
        # Sorted, so that every process compares the same one of several contents with equal ways.
        for content, by_field in self._digests(contents | base_contents, indirect=indirect):
            for name in ways.keys() & by_field.keys():
                for listed, in_window in zip((contents, base_contents), ways[name], strict=True):
                    if content in listed:
                        in_window.setdefault(by_field[name], []).append(content)
        return [
            WaysOfField(name, in_window, in_base)
            for name, (in_window, in_base) in ways.items()
            if in_window.keys() != in_base.keys()
        ]

    def _digests(
        self, contents: _Contents, *, indirect: bool
    ) -> Iterator[tuple[DatasetOfContent, dict[str, str]]]:
        """Yield each content, in order, with its digests by field. Raises DeadlineExceeded."""
        listed = sorted(contents)
        for content in zip(listed, self._contents.derivation_digests(listed, indirect=indirect), strict=True):
            # Check here, because fully cached contents never wait for the store.
            deadline.check()
            yield content

    def _compare(
        self, changed: list[WaysOfField], queries: Sequence[WindowQuery], limits: set[str], *, indirect: bool
    ) -> DatasetDiff:
        """Return the diffs of the changed fields, up to the bounds; add reached bounds to `limits`."""
        if len(changed) > self._settings.list_limit_max:
            del changed[self._settings.list_limit_max :]
            limits.add(f"list_limit_max={self._settings.list_limit_max}")
        diffs = self._diffs(changed, queries, limits, indirect=indirect)
        fields: list[ChangedField] = []
        for field in deadline.until_over(self._bounded(diffs, limits), truncated_by=limits):
            fields.append(field)
            limits.update(field.diff.truncated_by)
        return DatasetDiff(tuple(fields), tuple(sorted(limits)))

    def _diffs(
        self,
        changed: Sequence[WaysOfField],
        queries: Sequence[WindowQuery],
        limits: set[str],
        *,
        indirect: bool,
    ) -> Iterator[ChangedField]:
        """Yield the changed fields with what differs. Raises DeadlineExceeded."""
        changes = [change for field in changed for change in field.changes(queries)]
        runs = iter(self._runs.read(changes, indirect=indirect, truncated_by=limits))
        diffs = self._fields.diffs(changed, indirect=indirect)
        for field, diff, gained, lost in zip(changed, diffs, runs, runs, strict=True):
            yield ChangedField(field.field, replace(diff, gained_derivations=gained, lost_derivations=lost))

    def _bounded(self, fields: Iterable[ChangedField], limits: set[str]) -> Iterator[ChangedField]:
        """Yield fields until these have more than `connections_max` edges and derivations; note a cut."""
        size = 0
        for field in fields:
            if size > self._settings.connections_max:
                limits.add(f"connections_max={self._settings.connections_max}")
                return
            diff = field.diff
            size += sum(len(parts.edges) for parts in (diff.gained, diff.lost) if parts)
            size += len(diff.gained_derivations) + len(diff.lost_derivations)
            yield field
