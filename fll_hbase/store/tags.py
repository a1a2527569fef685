"""Tags of fields: stored, removed, listed by field, dataset and tag, and inherited from upstream fields."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import merge
from itertools import groupby, islice
from typing import TYPE_CHECKING

from fll_hbase.keys import layout
from fll_hbase.keys.codec import escape
from fll_hbase.model.datasets import Dataset, DatasetField, DatasetMetadata
from fll_hbase.model.tags import FieldTag, TagNote
from fll_hbase.model.window import BOTH, Direction, Window
from fll_hbase.runtime import damage, deadline
from fll_hbase.runtime.clock import now_ms
from fll_hbase.runtime.errors import DeadlineExceeded, NotFound
from fll_hbase.store.query_parameters import BATCH_FIELDS, ReachQuery
from fll_hbase.store.read.catalogue import Catalogue
from fll_hbase.store.read.field_paths import FieldPath, next_fields, path_between
from fll_hbase.store.read.name_listing import LastNames, MiddleNames, list_names
from fll_hbase.store.results import Reach
from fll_hbase.store.rows import tag_rows
from fll_hbase.tables import Put, Row, Scan, Table

if TYPE_CHECKING:
    from fll_hbase.store.lineage_store import LineageStore

CANDIDATES_MAX = 10_000
"""Maximum number of index rows read for a page of tagged fields. Removed tags leave rows behind."""


@dataclass(frozen=True, slots=True)
class TagPage:
    """Tags of fields in order; `next_after` is the `start_after` of the next page, None on the last page."""

    tags: tuple[FieldTag, ...]
    next_after: DatasetField | None


class TagStore:
    """Tags of fields: statements of people and producers that runs and retention do not change.

    A field has the tags put under any name of its dataset. Threads and processes may share the table: if two
    writers put one tag, the later put wins. Methods raise StoreUnavailable and CorruptRow.
    """

    def __init__(self, table: Table, catalogue: Catalogue, *, clock: Callable[[], int] = now_ms) -> None:
        self._table = table
        self._catalogue = catalogue
        self._clock = clock

    def put(self, field: DatasetField, tag: str, note: TagNote) -> tuple[FieldTag, bool]:
        """Give a field a tag; return the tag, and whether it is new to the field. Durable on return.

        The same tag with the same note keeps its time. A tag stored under another name of the dataset stays
        there. Raises NotFound for a field that was never recorded and never had a tag, and TooLarge.
        """
        rows = self._rows(field)
        stored = _tags_named(rows, tag)
        if not rows:
            self._require_field(field)
        same = next((entry for entry in stored if entry.note == note), None)
        # Put it under its stored name, so that the index has it once, whatever name a client uses.
        current = same or FieldTag(stored[0].field if stored else field, tag, self._clock(), note)
        # Put even an unchanged tag: a concurrent removal may come between the read and this write.
        self._table.write(tag_rows.tag_batches([current]))
        return current, not stored

    def remove(self, field: DatasetField, tag: str) -> None:
        """Remove a tag from a field under all its names, durably. Raises NotFound if it does not have it."""
        self._table.write([[tag_rows.removal(entry.field, tag) for entry in self._stored(field, tag)]])

    def get(self, field: DatasetField, tag: str) -> FieldTag:
        """Return a tag of a field, under the given name if it is there. Raises NotFound if it has none."""
        return self._stored(field, tag)[0]

    def _stored(self, field: DatasetField, tag: str) -> list[FieldTag]:
        """Return a tag of a field under each name of its dataset. Raises NotFound if there is none."""
        if stored := _tags_named(self._rows(field), tag):
            return stored
        raise NotFound(
            f"field {field.name!r} of {field.dataset} does not have the tag {tag!r}; list its tags"
        )

    def field_tags(self, field: DatasetField) -> list[FieldTag]:
        """Return a field's tags, sorted. Raises NotFound if it was never recorded and never had a tag."""
        rows = self._rows(field)
        if not rows:
            self._require_field(field)
        return _merge_names(rows)

    def tags_by_field(self, fields: Collection[DatasetField]) -> dict[DatasetField, list[FieldTag]]:
        """Return the sorted tags of the fields with any, as put under the given names of their datasets."""
        tags = {field: sorted(tag_rows.decode_tags(key, row)) for field, key, row in self._tag_rows(fields)}
        return {field: entry for field, entry in tags.items() if entry}

    def _listed_tags(self, fields: Collection[DatasetField]) -> dict[DatasetField, list[FieldTag]]:
        """Return the sorted tags, or [], of each field that has a row of tags, leaving out damaged rows."""
        tags: dict[DatasetField, list[FieldTag]] = {}
        for field, key, row in self._tag_rows(fields):
            with damage.leaving_out():
                tags[field] = sorted(tag_rows.decode_tags(key, row))
        return tags

    def _tag_rows(self, fields: Collection[DatasetField]) -> Iterator[tuple[DatasetField, bytes, Row]]:
        """Yield the fields that have a row of tags, with its key and cells, in one call."""
        keys = {layout.tags_row(field): field for field in fields}
        for key, row in self._table.rows(list(keys), columns=(layout.LIGHT,)).items():
            yield keys[key], key, row

    def tags_of_all_names(self, fields: Collection[DatasetField]) -> dict[DatasetField, list[FieldTag]]:
        """Return the sorted tags of each field, [] without any, as put under any name of its dataset."""
        return self._under_all_names(fields, self.tags_by_field)

    def listed_tags_of_all_names(
        self, fields: Collection[DatasetField]
    ) -> dict[DatasetField, list[FieldTag]]:
        """Return the result of `tags_of_all_names`, leaving out tags in damaged rows."""
        return self._under_all_names(fields, self._listed_tags)

    def _under_all_names(
        self,
        fields: Collection[DatasetField],
        read: Callable[[Collection[DatasetField]], Mapping[DatasetField, list[FieldTag]]],
    ) -> dict[DatasetField, list[FieldTag]]:
        """Return each field's tags, maybe none, under all names of its dataset, with one call of `read`."""
        aliases = self._catalogue.aliases({field.dataset for field in fields})
        names = {
            field: [field, *(DatasetField(name, field.name) for name in aliases.get(field.dataset, ()))]
            for field in fields
        }
        stored = read({name for listed in names.values() for name in listed})
        return {
            field: _merge_names([stored.get(name, []) for name in listed]) for field, listed in names.items()
        }

    def dataset_tags(
        self, dataset: Dataset, *, start_after: tuple[str, str] = ("", "")
    ) -> Iterator[FieldTag]:
        """Yield the tags of all fields of a dataset, sorted by field and tag, after `start_after`.

        Leaves out damaged rows. Without `start_after`, raises NotFound for a dataset that was never recorded
        and never had tags.
        """
        names = self._catalogue.names(dataset)
        fields = self._tagged_fields(names, start_after[0])
        first = list(islice(fields, BATCH_FIELDS))
        if not first and not start_after[0]:
            self._catalogue.require_dataset(dataset)
        while first:
            deadline.check()
            rows = self._listed_tags([DatasetField(name, field) for field in first for name in names])
            for field in first:
                tags = _merge_names([rows.get(DatasetField(name, field), []) for name in names])
                yield from (tag for tag in tags if (field, tag.tag) > start_after)
            first = list(islice(fields, BATCH_FIELDS))

    def tags(self, *, start_after: str = "") -> Iterator[str]:
        """Yield the names of the tags that any field has, sorted, after `start_after`."""
        names = list_names(
            MiddleNames(self._table, layout.TAG_INDEX, column=layout.TAGGED), start_after=start_after.encode()
        )
        while batch := list(islice(names, BATCH_FIELDS)):
            deadline.check()
            yield from self._in_use(batch)

    def tagged(self, tag: str, *, limit: int, start_after: DatasetField | None = None) -> TagPage:
        """Return a page of the fields that have a tag, at most `limit`, by namespace, dataset and field.

        A page reads at most CANDIDATES_MAX rows, so it may have fewer fields than `limit` and still a next
        page. Leaves out fields with damaged rows.
        """
        candidates = islice(self._candidates(tag, start_after), CANDIDATES_MAX)
        tags: list[FieldTag] = []
        while batch := list(islice(candidates, BATCH_FIELDS)):
            deadline.check()
            stored = self._listed_tags(batch)
            for field in batch:
                confirmed = [entry for entry in stored.get(field, ()) if entry.tag == tag]
                if confirmed and len(tags) == limit:
                    return TagPage(tuple(tags), tags[-1].field)
                tags += confirmed
            start_after = batch[-1]
        # Only another read can tell whether fields follow the bound, so the next page may be empty.
        return TagPage(tuple(tags), start_after if next(self._candidates(tag, start_after), None) else None)

    def missing_puts(self, metadata: Iterable[DatasetMetadata]) -> list[Sequence[Put]]:
        """Return the puts, for one write, of tags that metadata declares and their fields lack.

        Only tags put under the declared name of the dataset count as present. Raises TooLarge.
        A stored tag keeps its time and note, so a person's note outlives a producer's repetition.
        """
        now = self._clock()
        declared = {
            (DatasetField(item.dataset, tag.field), tag.tag): tag.by for item in metadata for tag in item.tags
        }
        missing: list[FieldTag] = []
        pairs = iter(declared.items())
        while batch := list(islice(pairs, BATCH_FIELDS)):
            stored = self.tags_by_field({field for (field, _), _ in batch})
            present = {(field, tag.tag) for field, tags in stored.items() for tag in tags}
            missing += [FieldTag(*key, now, TagNote(by=by)) for key, by in batch if key not in present]
        return list(tag_rows.tag_batches(missing)) if missing else []

    def _rows(self, field: DatasetField) -> list[list[FieldTag]]:
        """Return the tags of a field under each name of its dataset that has a row of tags."""
        keys = [
            layout.tags_row(DatasetField(name, field.name)) for name in self._catalogue.names(field.dataset)
        ]
        rows = self._table.rows(keys, columns=(layout.LIGHT,))
        return [sorted(tag_rows.decode_tags(key, rows[key])) for key in keys if key in rows]

    def _require_field(self, field: DatasetField) -> None:
        """Raise NotFound unless the field was ever recorded: read, written or declared."""
        columns = [layout.declared_field_column(field.name)]
        columns += [layout.field_column(direction, field.name) for direction in BOTH]
        # Read three cells, not the row: a dataset may have thousands of fields.
        if not self._table.get(layout.dataset_row(field.dataset), columns=columns):
            self._catalogue.require_field(field)

    def _tagged_fields(self, names: Sequence[Dataset], start_from: str) -> Iterator[str]:
        """Yield the fields with a row of tags under any of the names, by code point, from `start_from`."""
        listed = [LastNames(self._table, layout.tags_prefix(name), column=layout.LIGHT) for name in names]
        if start_from and any(names.contains(escape(start_from)) for names in listed):
            yield start_from
        merged = merge(*(list_names(names, start_after=start_from.encode()) for names in listed))
        yield from (field for field, _ in groupby(merged))

    def _candidates(self, tag: str, start_after: DatasetField | None) -> Iterator[DatasetField]:
        """Yield the indexed fields of a tag, in order, after `start_after`."""
        first = start_after.dataset if start_after else Dataset("", "")
        if start_after is not None:
            yield from self._indexed_fields(tag, first, start_after.name)
            yield from self._indexed_datasets(tag, first.namespace, first.name)
        namespaces = MiddleNames(self._table, layout.tag_index_prefix(tag), column=layout.TAGGED)
        for namespace in list_names(namespaces, start_after=first.namespace.encode()):
            yield from self._indexed_datasets(tag, namespace)

    def _indexed_datasets(self, tag: str, namespace: str, start_after: str = "") -> Iterator[DatasetField]:
        """Yield the fields in the index of a tag, sorted, of a namespace's datasets after `start_after`."""
        names = MiddleNames(self._table, layout.tag_index_prefix(tag, namespace), column=layout.TAGGED)
        for name in list_names(names, start_after=start_after.encode()):
            yield from self._indexed_fields(tag, Dataset(namespace, name))

    def _indexed_fields(self, tag: str, dataset: Dataset, start_after: str = "") -> Iterator[DatasetField]:
        """Yield the fields of a dataset in the index of a tag, by name; some may no longer have it."""
        prefix = layout.tag_index_prefix(tag, dataset.namespace, dataset.name)
        names = LastNames(self._table, prefix, column=layout.TAGGED)
        for name in list_names(names, start_after=start_after.encode()):
            yield DatasetField(dataset, name)

    def _in_use(self, tags: Sequence[str]) -> Iterator[str]:
        """Yield the given tags that at least one field has, in their order."""
        scans = [
            Scan(prefix, prefix + b"\x7f", (layout.TAGGED,), 1)
            for prefix in (layout.tag_index_prefix(tag) for tag in tags)
        ]
        # One call reads the first field of each tag, and others only if that field has lost the tag.
        firsts = {
            tag: layout.parse_tag_index(rows[0][0])[1]
            for tag, rows in zip(tags, self._table.scan_many(scans), strict=True)
            if rows
        }
        stored = self._listed_tags(set(firsts.values()))
        for tag, field in firsts.items():
            if any(entry.tag == tag for entry in stored.get(field, ())) or self._is_in_use(tag):
                yield tag

    def _is_in_use(self, tag: str) -> bool:
        """Return whether at least one field has a tag, reading its index up to the first such field."""
        page = self.tagged(tag, limit=1)
        while not page.tags and page.next_after is not None:
            page = self.tagged(tag, limit=1, start_after=page.next_after)
        return bool(page.tags)


def _tags_named(rows: Iterable[Iterable[FieldTag]], tag: str) -> list[FieldTag]:
    """Return the entries of one tag in the rows of a field, in the order of the rows."""
    return [entry for row in rows for entry in row if entry.tag == tag]


def _merge_names(rows: Iterable[Iterable[FieldTag]]) -> list[FieldTag]:
    """Return the tags of one field under several names, each once, sorted by tag; the first row wins."""
    # The first name is the query's: its tag takes precedence over tags of aliases.
    by_tag = {entry.tag: entry for row in reversed(list(rows)) for entry in row}
    return [by_tag[tag] for tag in sorted(by_tag)]


@dataclass(frozen=True, slots=True)
class PathTag:
    """A tag of the first field of a path, inherited by the last one. In a path of one field, its own tag."""

    tag: FieldTag
    path: FieldPath


@dataclass(frozen=True, slots=True)
class InheritedTags:
    """Own and inherited tags by name; `truncated_by` lists the limits that cut the upstream fields."""

    tags: tuple[PathTag, ...]
    truncated_by: tuple[str, ...]


def inherited_tags(
    store: LineageStore, field: DatasetField, window: Window, *, level: int | None = None
) -> InheritedTags:
    """Return the tags of a field and of everything its values come from in the runs of a window, by name.

    Each tag is listed once, with a shortest path; a tag of the field itself is listed as its own. Indirect
    dependencies do not carry tags. At the deadline of a request, the result has what was read until then,
    truncated. Raises DeadlineExceeded if no edge is read in time, NotFound for a field that was never
    recorded and has no tag, StoreUnavailable and CorruptRow.
    """
    direct_tags = store.tags.field_tags(field)
    query = ReachQuery(field, window, level=level, indirect=False, counts=False)
    try:
        reach = store.reach(query)
    except NotFound:
        if not direct_tags:
            raise
        # Retention removed all runs of the field.
        reach = Reach({}, (), (), ())
    following = next_fields(reach, field, Direction.BACKWARD)
    truncated_by = set(reach.truncated_by)
    nearest = {tag.tag: PathTag(tag, (field,)) for tag in direct_tags}
    # The nearest fields come first, so the first field with a tag has a shortest path.
    for upstream, tag in _upstream_tags(store, list(following), truncated_by):
        if tag.tag not in nearest:
            nearest[tag.tag] = PathTag(tag, path_between(upstream, following, Direction.BACKWARD))
    tags = tuple(nearest[name] for name in sorted(nearest))
    return InheritedTags(tags, tuple(sorted(truncated_by)))


def _upstream_tags(
    store: LineageStore, fields: list[DatasetField], truncated_by: set[str]
) -> Iterator[tuple[DatasetField, FieldTag]]:
    """Yield the tags of fields in their order, each with its field, until the deadline, a noted limit."""
    remaining = iter(fields)
    try:
        while batch := list(islice(remaining, BATCH_FIELDS)):
            deadline.check()
            stored = store.tags.tags_of_all_names(batch)
            for field in batch:
                yield from ((field, tag) for tag in stored[field])
    except DeadlineExceeded:
        truncated_by.add(deadline.limit())
