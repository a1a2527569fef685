"""Tags of the fields that a report lists, and facts about its subject."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Annotated, TypeAlias

import msgspec

from fll_hbase.model.datasets import Dataset, DatasetField
from fll_hbase.model.masking import is_hidden
from fll_hbase.queries import name_json
from fll_hbase.queries.names import FieldName
from fll_hbase.runtime import damage, deadline
from fll_hbase.runtime.errors import DeadlineExceeded
from fll_hbase.store.query_parameters import BATCH_FIELDS

if TYPE_CHECKING:
    from fll_hbase.store.lineage_store import LineageStore

TagNames: TypeAlias = Mapping[DatasetField, tuple[str, ...]]
"""The sorted names of the tags of fields; fields without tags are left out."""


class FieldWithTags(FieldName, frozen=True, kw_only=True):
    """A field, and the names of its own tags."""

    tags: Annotated[
        tuple[str, ...],
        msgspec.Meta(description="The names of its own tags when the report was made; left out without any"),
    ] = ()


class SubjectField(FieldWithTags, frozen=True, kw_only=True):
    """The field that a report is about, with the description of its dataset."""

    dataset_description: Annotated[
        str, msgspec.Meta(description="The latest description of its dataset; left out without one")
    ] = ""


def field_with_tags(field: DatasetField, tags: TagNames) -> FieldWithTags:
    """Return a field with its tags."""
    return FieldWithTags(**name_json.field(field), tags=tags.get(field, ()))


def subject_field(
    store: LineageStore, field: DatasetField, tags: TagNames, truncated_by: set[str]
) -> SubjectField:
    """Return the field that a report is about, without a description that is damaged.

    If the time of the request ends, the description is left out and the limit is added to `truncated_by`.
    """
    return SubjectField(
        **name_json.field(field),
        tags=tags.get(field, ()),
        dataset_description=_description(store, field.dataset, truncated_by),
    )


def read_tags(store: LineageStore, fields: Collection[DatasetField], truncated_by: set[str]) -> TagNames:
    """Return the tags of fields, including tags under other names of their datasets.

    Hidden fields have no tags, and tags in damaged rows are left out. Each BATCH_FIELDS fields take two calls
    to the table. If the time of the request ends, the tags that were read until then are returned, and the
    limit is added to `truncated_by`.
    """
    tags: dict[DatasetField, tuple[str, ...]] = {}
    remaining = iter(sorted(field for field in fields if not is_hidden(field.dataset)))
    try:
        while batch := list(islice(remaining, BATCH_FIELDS)):
            deadline.check()
            stored = store.tags.listed_tags_of_all_names(batch)
            tags |= {field: tuple(tag.tag for tag in listed) for field, listed in stored.items() if listed}
    except DeadlineExceeded:
        truncated_by.add(deadline.limit())
    return tags


def _description(store: LineageStore, dataset: Dataset, truncated_by: set[str]) -> str:
    """Return the description of a dataset, or "" if there is none, it is damaged or the time is over."""
    try:
        with damage.leaving_out():
            return store.catalogue.description(dataset)
    except DeadlineExceeded:
        truncated_by.add(deadline.limit())
    return ""
