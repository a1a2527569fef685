"""The difference between how a field, or the fields of a dataset, were derived in two windows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from fll_hbase.model.datasets import Dataset, DatasetField
from fll_hbase.model.derivation_parts import ContentDerivations, DerivationParts, Edge, OperationIdentity
from fll_hbase.model.operations import Operation
from fll_hbase.model.window import Direction, Window
from fll_hbase.runtime import deadline
from fll_hbase.store.components import Reader, StoreComponents
from fll_hbase.store.read.content_cache import ContentCache, DatasetOfContent, FieldOfContent
from fll_hbase.store.read.field_graphs import FieldGraphReader
from fll_hbase.store.read.window_query import WindowQuery
from fll_hbase.store.results import ChangedField, DatasetDiff, FieldDiff

ContentsOfWindows: TypeAlias = tuple[frozenset[FieldOfContent], frozenset[FieldOfContent]]
"""The contents of a window, and of its base window, that write one field."""

_INDEXED_INPUTS_MAX = 500_000
"""Inputs of operations that a diff of a dataset keeps in memory: about 150 MB."""

_Contents: TypeAlias = frozenset[DatasetOfContent]
_Ways: TypeAlias = dict[str, FieldOfContent]
"""One content for each digest of how a field is derived; others with the digest have the same parts."""


class _WindowUnion:
    """The derivations of one window under construction: its contents, and the limits that cut their union."""

    def __init__(self, contents: frozenset[FieldOfContent]) -> None:
        self.contents = contents
        self.truncated_by: set[str] = set()
        # Added to, never copied: of thousands of contents each may add a few parts.
        self._operations: set[OperationIdentity] = set()
        self._edges: set[Edge] = set()
        self._sources: set[DatasetField] = set()

    def add(self, parts: DerivationParts, *, connections_max: int) -> None:
        """Add the parts of a content, unless there were more than `connections_max` edges in all."""
        # All of the first content, however large: its own graph is bounded, too.
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
        if checksum not in self._indexed:
            derivations = ContentDerivations(self._read(checksum).values(), indirect=self._indirect)
            # All or nothing: fields that differ mostly do so between the same few contents.
            if self._size + derivations.size > _INDEXED_INPUTS_MAX:
                self._indexed.clear()
                self._size = 0
            self._size += derivations.size
            self._indexed[checksum] = derivations
        return self._indexed[checksum]

    def _read(self, checksum: str) -> Mapping[str, Operation]:
        """Return a content's operations by name; first reads must come in the order of the contents."""
        if checksum not in self._seen:
            self._seen.add(checksum)
            return next(self._operations)
        (operations,) = self._contents.iter_all_operations([checksum])
        return operations


class FieldDiffReader(FieldGraphReader):
    """Compares the derivations of a field in two windows. Threads may share it."""

    def diff(
        self,
        field: DatasetField,
        window: Window,
        base: Window,
        *,
        indirect: bool = True,
        failed: bool = False,
    ) -> FieldDiff:
        """Return which derivations of `window` are missing in `base`, and the reverse.

        Takes time by the days and distinct contents of both windows, not their runs. A part that only a limit
        may have cut is neither gained nor lost (see `FieldDiff`). Raises NotFound for a field that was never
        recorded, and DeadlineExceeded if no content was read in time.
        """
        queries = [
            WindowQuery(Direction.BACKWARD, field.dataset, bounds, failed) for bounds in (window, base)
        ]
        contents, base_contents = self.contents_of_field(queries, field.name)
        if not contents | base_contents:
            self._catalogue.require_field(field)
        unions = _WindowUnion(contents), _WindowUnion(base_contents)
        # Sorted, so that a limit cuts the same part each time; a content of both windows is read once.
        listed, count = sorted(contents | base_contents), 0
        late: set[str] = set()
        derived = deadline.until_over(self._derivations(listed, indirect=indirect), truncated_by=late)
        for count, item in enumerate(derived, 1):  # noqa: B007 (used below)
            self._add(unions, *item)
        for union in unions:
            union.truncated_by |= late if union.contents.intersection(listed[count:]) else set()
        return _compare(*unions)

    def diffs(self, fields: Sequence[ContentsOfWindows], *, indirect: bool) -> Iterator[FieldDiff]:
        """Yield for each field, in order, what differs between its two windows, up to the limits it names.

        Contents are read whole, mostly once. Raises DeadlineExceeded.
        """
        by_field = [(window, base, sorted(window | base)) for window, base in fields]
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

    def _derivations(
        self, contents: Sequence[FieldOfContent], *, indirect: bool
    ) -> Iterator[tuple[FieldOfContent, ContentDerivations]]:
        """Yield each content, in order, with the derivation of its field. Raises DeadlineExceeded."""
        operations = self._contents.iter_operations(contents, Direction.BACKWARD)
        for content, listed in zip(contents, operations, strict=True):
            deadline.check()
            yield content, ContentDerivations(listed, indirect=indirect)


def _compare(union: _WindowUnion, base_union: _WindowUnion) -> FieldDiff:
    """Return what one window has and the other does not; None if a limit cut the other one's union."""
    parts, base_parts = union.build(), base_union.build()
    # A part that a truncated window lacks may be in what was cut, so nothing is reported as missing from it.
    return FieldDiff(
        gained=None if base_union.truncated_by else parts.without(base_parts),
        lost=None if union.truncated_by else base_parts.without(parts),
        common=parts.count_common(base_parts),
        truncated_by=tuple(sorted(union.truncated_by | base_union.truncated_by)),
    )


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
