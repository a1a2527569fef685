"""Tags that a field inherits from upstream fields over direct edges, each with its path."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from fll_hbase.model.datasets import DatasetField
from fll_hbase.model.tags import FieldTag
from fll_hbase.model.window import Direction, Window
from fll_hbase.runtime import deadline
from fll_hbase.runtime.errors import DeadlineExceeded, NotFound
from fll_hbase.store.query_parameters import BATCH_FIELDS, ReachQuery
from fll_hbase.store.read.field_paths import FieldPath, next_fields, path_between
from fll_hbase.store.results import Reach

if TYPE_CHECKING:
    from fll_hbase.store.lineage_store import LineageStore


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
    truncated. Raises DeadlineExceeded if no edge is read in time, and NotFound for a field that was never
    recorded and has no tag.
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
    """Yield the tags of fields in their order, each with its field, until the deadline."""
    remaining = iter(fields)
    try:
        while batch := list(islice(remaining, BATCH_FIELDS)):
            deadline.check()
            stored = store.tags.tags_of_all_names(batch)
            for field in batch:
                yield from ((field, tag) for tag in stored[field])
    except DeadlineExceeded:
        truncated_by.add(deadline.limit())
