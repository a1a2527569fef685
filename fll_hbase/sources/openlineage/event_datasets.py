"""Datasets of an event: read or written, with fields, aliases, lineage and lifecycle changes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from fll_hbase.model import run_events
from fll_hbase.model.datasets import Dataset, DatasetMetadata, DeclaredTag, Field
from fll_hbase.model.run_events import DatasetMention, InputColumn, OutputColumn
from fll_hbase.sources.name_rules import NameRules
from fll_hbase.sources.openlineage import column_lineage
from fll_hbase.sources.openlineage.facets import CATALOGUE, EXPORTER
from fll_hbase.sources.openlineage.json_access import facet, list_items, members, text
from fll_hbase.sources.validation import ID_BYTES_MAX, NAME_BYTES_MAX, Validator, child_path, items_with_path

Name: TypeAlias = tuple[str, str]
"""Namespace and name of a dataset."""

# Bounds the recursion over a schema that a client sends; docs/sources/openlineage.md states it.
DEPTH_MAX = 50
PRODUCER_MAX = 1_000
"""Characters of a producer that a tag names; docs/sources/openlineage.md states it."""

JOB = "JOB"
SPARK = "/integration/spark"
"""End of the producer URL of the Spark agent."""

_LINEAGES = {"columnLineage": column_lineage.COLUMN_LINEAGE, "lineage": column_lineage.LINEAGE}
_DOUBLED_DIRECTORY = re.compile(r"(/[^/]+)\1(?=/)")
"""A directory that occurs twice in a row in a path, as the Spark agent writes it for dropped tables."""


@dataclass(slots=True)
class _ListedDataset:
    """One dataset of an event; `lineages` are its lineage facets, not yet parsed, with their JSON paths."""

    name: Name
    written: bool
    path: str
    fields: dict[str, str] | None = None
    lineages: list[tuple[column_lineage.FacetLayout, dict[str, Any], str]] = field(default_factory=list)
    aliases: set[Name] = field(default_factory=set)
    lifecycle: str = ""
    previous: Name | None = None
    description: str = ""
    tags: list[DeclaredTag] = field(default_factory=list)
    has_catalogue_facet: bool = False


class DatasetCollector:
    """Collects the datasets of one event. `physical_names` has (namespace, logical name, physical name).

    Datasets whose namespace is empty have `namespace`, that of the job. A part that cannot be read is left
    out with a warning, and costs no other part.
    """

    def __init__(self, validator: Validator, rules: NameRules, *, producer: str, namespace: str) -> None:
        self._validator = validator
        self._namespace = namespace
        self._rules = rules
        self._doubles_directories = SPARK in producer
        self._producer = producer
        self._listed: list[_ListedDataset] = []
        # Those whose schemas apply: of a statement about an input, all datasets of the event.
        self._with_schemas = self._listed
        self._indexes: dict[Name, int] = {}
        self._read_without_fields: set[Name] = set()
        self._names_without_namespace: set[str] = set()
        self.physical_names: set[tuple[str, str, str]] = set()

    @property
    def first(self) -> Name | None:
        """The name of the first dataset; None without any."""
        return self._listed[0].name if self._listed else None

    def add(self, item: object, path: str, *, written: bool) -> None:
        """Add a dataset of `inputs` or `outputs`; warn of one without readable name, and leave it out."""
        data = members(self._validator, item, path, optional=True)
        if not isinstance(item, dict):
            if item is None:
                self._validator.warn_type(item, path, "an object")
            return
        facets_at = child_path(path, "facets")
        facets = members(self._validator, data.get("facets"), facets_at, optional=True)
        change = facet(self._validator, facets, "lifecycleStateChange", facets_at) or {}
        change_at = child_path(facets_at, "lifecycleStateChange")
        lifecycle = text(self._validator, change, "lifecycleStateChange", change_at).upper()
        doubled = self._doubles_directories and lifecycle == "DROP"
        dataset_name = self._read_name(data, path, doubled=doubled)
        if dataset_name is None:
            return
        dataset = _ListedDataset(dataset_name, written, path, lifecycle=lifecycle)
        if change:
            previous_at = child_path(change_at, "previousIdentifier")
            previous = members(self._validator, change.get("previousIdentifier"), previous_at, optional=True)
            dataset.previous = self._read_name(previous, previous_at) if previous else None
        dataset.fields = self._fields(facets, facets_at)
        for name, shape in _LINEAGES.items():
            lineage = facet(self._validator, facets, name, facets_at, member="fields")
            if lineage is not None:
                dataset.lineages.append((shape, lineage, child_path(facets_at, name)))
        # After name rules a symlink may equal the name; a dataset is no alias of itself.
        dataset.aliases = set(self._aliases(facets, facets_at)) - {dataset.name}
        if documentation := facet(self._validator, facets, "documentation", facets_at):
            documentation_at = child_path(facets_at, "documentation")
            dataset.description = text(self._validator, documentation, "description", documentation_at)
        dataset.tags = list(self._tags(facets, facets_at))
        dataset.has_catalogue_facet = isinstance(facets.get(CATALOGUE), dict) and self._producer == EXPORTER
        self._listed.append(dataset)

    def add_entry(self, data: dict[str, Any], path: str) -> None:
        """Add an output that the `lineage` facet of a job describes."""
        name = self._read_name(data, path)
        if name is None:
            return
        dataset = _ListedDataset(name, True, path)
        dataset.lineages.append((column_lineage.LINEAGE, data, path))
        self._listed.append(dataset)

    def mentions(self) -> tuple[DatasetMention, ...]:
        """Return a mention of each dataset read or written, duplicates merged, ordered as `dataset_names`."""
        merged: dict[tuple[Name, bool], DatasetMention] = {}
        # All schemas first: lineage of one dataset may name nested fields of another.
        paths = self._paths()
        for dataset in self._listed:
            mention = self._mention(dataset, paths)
            key = dataset.name, dataset.written
            merged[key] = _merge_mentions(merged[key], mention) if key in merged else mention
        # A dataset that only a facet names is read, too, though `inputs` does not list it.
        for name in self._read_without_fields - {name for name, written in merged if not written}:
            merged[name, False] = DatasetMention(self._index_of(name), False)
        # Sorted names make equal lineage equal bytes, which are stored once (decision 12).
        ordered = {name: item_path for item_path, name in enumerate(self.dataset_names())}
        positions = [ordered[name] for name in self._indexes]
        moved = run_events.remap_all(merged.values(), positions)
        return tuple(sorted(moved, key=lambda item: (item.dataset_index, item.written)))

    def input_statements(self) -> Iterator[DatasetCollector]:
        """Yield a collector for each input whose lineage the event states, with that input as written.

        The lineage of an input states how other runs made it, so it does not belong to this run.
        """
        stated: dict[Name, list[_ListedDataset]] = {}
        for dataset in self._listed:
            if not dataset.written and any(data for _, data, _ in dataset.lineages):
                item = _ListedDataset(dataset.name, True, dataset.path, dataset.fields, dataset.lineages)
                stated.setdefault(dataset.name, []).append(item)
        for listed in stated.values():
            collector = DatasetCollector(
                self._validator, self._rules, producer=self._producer, namespace=self._namespace
            )
            collector._listed, collector._with_schemas = listed, self._listed
            collector._names_without_namespace = self._names_without_namespace
            yield collector

    def field_tags(self) -> Iterator[DatasetMetadata]:
        """Yield the tags of the fields of each dataset that has any."""
        tagged = [dataset for dataset in self._listed if dataset.tags]
        paths = self._paths() if tagged else {}
        for dataset in tagged:
            nested = paths[dataset.name]
            tags = (replace(tag, field=nested.get(tag.field, tag.field)) for tag in dataset.tags)
            yield DatasetMetadata(Dataset(*dataset.name), tags=tuple(tags))

    def catalogue_metadata(self) -> Iterator[DatasetMetadata]:
        """Yield the fields and description of each dataset with the facet of an exported catalogue."""
        for dataset in self._listed:
            if dataset.has_catalogue_facet:
                fields = tuple(Field(*item) for item in sorted((dataset.fields or {}).items()))
                yield DatasetMetadata(Dataset(*dataset.name), fields, dataset.description)

    def ordered_fields(self) -> dict[Name, tuple[str, ...]]:
        """Return the fields of each dataset with a schema, in its order."""
        return {dataset.name: tuple(dataset.fields) for dataset in self._listed if dataset.fields}

    def dataset_names(self) -> tuple[Name, ...]:
        """Return the names of all datasets, sorted."""
        return tuple(sorted(self._indexes))

    def _mention(self, dataset: _ListedDataset, paths: dict[Name, dict[str, str]]) -> DatasetMention:
        """Return a listed dataset as a mention; only written ones have column lineage."""
        item_path = self._index_of(dataset.name)
        if dataset.previous is not None:
            self._index_of(dataset.previous)
        # That of an input is a statement of its own.
        listed = dataset.lineages if dataset.written else ()
        lineages = [self._lineage(dataset, paths, *lineage) for lineage in listed]
        return DatasetMention(
            dataset_index=item_path,
            written=dataset.written,
            fields=None if dataset.fields is None else tuple(sorted(dataset.fields.items())),
            columns=_merge_columns(lineage.columns for lineage in lineages) if lineages else None,
            dataset_inputs=tuple(
                sorted({input_column for lineage in lineages for input_column in lineage.dataset_inputs})
            ),
            aliases=tuple(sorted(dataset.aliases)),
            lifecycle=dataset.lifecycle,
            previous=dataset.previous,
            description=dataset.description,
        )

    def _lineage(
        self,
        dataset: _ListedDataset,
        paths: dict[Name, dict[str, str]],
        shape: column_lineage.FacetLayout,
        data: dict[str, Any],
        path: str,
    ) -> column_lineage.OutputLineage:
        """Read a facet of column lineage; its inputs are dataset indexes and the paths of nested fields."""

        def source(data: dict[str, Any], path: str) -> tuple[int, str] | None:
            # A dependency between jobs has no fields, so it is not recorded.
            if data.get("type") == JOB:
                return None
            name = self._read_name(data, path)
            if name is None:
                return None
            # Only the facet `lineage` has inputs without a field; in `columnLineage` the field is required.
            if shape is column_lineage.LINEAGE and data.get("field") is None:
                self._read_without_fields.add(name)
                return None
            errors_before = self._validator.errors.count
            field_name = self._validator.required(data, "field", path, bytes_max=NAME_BYTES_MAX)
            if self._validator.leave_out(path, errors_before=errors_before):
                return None
            return self._index_of(name), paths.get(name, {}).get(field_name, field_name)

        lineage = column_lineage.read(self._validator, data, path, source, shape)
        nested_paths = paths.get(dataset.name)
        if not nested_paths:
            return lineage
        columns = (
            OutputColumn(nested_paths.get(column.name, column.name), column.inputs)
            for column in lineage.columns
        )
        return column_lineage.OutputLineage(_merge_columns([columns]), lineage.dataset_inputs)

    def _index_of(self, name: Name) -> int:
        return self._indexes.setdefault(name, len(self._indexes))

    def _read_name(self, data: dict[str, Any], path: str, *, doubled: bool = False) -> Name | None:
        """Return namespace and name, after name rules; None, with a warning, if one is unreadable."""
        errors_before = self._validator.errors.count
        namespace = data.get("namespace")
        if namespace == "" and self._namespace:
            namespace = self._namespace_of_job(data.get("name"), path)
        else:
            namespace = self._validator.required(data, "namespace", path, bytes_max=ID_BYTES_MAX)
        name = self._validator.required(data, "name", path, bytes_max=NAME_BYTES_MAX)
        # The repeated directory is removed first, so that name rules match the path as it is on disk.
        logical = self._rules.apply(_DOUBLED_DIRECTORY.sub(r"\1", name) if doubled else name)
        if logical != name:
            # The replacement of a rule can make a name longer than the limit.
            self._validator.name(logical, path, bytes_max=NAME_BYTES_MAX)
        if self._validator.leave_out(path, errors_before=errors_before):
            return None
        if logical != name:
            self.physical_names.add((namespace, logical, name))
        return namespace, logical

    def _namespace_of_job(self, name: object, path: str) -> str:
        """Return the namespace of datasets without one, as Flink sends them; warn once for each name."""
        if isinstance(name, str) and name not in self._names_without_namespace:
            self._names_without_namespace.add(name)
            detail = f"must not be empty; the dataset is in the namespace of the job, {self._namespace!r}"
            self._validator.warning(child_path(path, "namespace"), detail)
        return self._namespace

    def _fields(self, facets: dict[str, Any], path: str) -> dict[str, str] | None:
        """Return types by field, nested ones as `a/b`; None without a readable schema."""
        data = facet(self._validator, facets, "schema", path, member="fields", member_type=list)
        if data is None:
            return None
        # {} for a deleted schema; None would leave the schema of an earlier event valid (decision 12).
        return dict(self._typed(data, child_path(path, "schema"), "", DEPTH_MAX))

    def _typed(self, holder: dict[str, Any], path: str, prefix: str, depth: int) -> Iterator[tuple[str, str]]:
        """Yield name and type of fields and those inside them, down to `depth`; warn of deeper ones."""
        items = list_items(self._validator, holder, "fields", path)
        if items and not depth:
            self._validator.warning(
                path, f"nested more than {DEPTH_MAX} deep; the fields inside are left out"
            )
            return
        for item, item_path in items_with_path(items, child_path(path, "fields")):
            errors_before = self._validator.errors.count
            data = members(self._validator, item, item_path)
            name = prefix + self._validator.required(data, "name", item_path, bytes_max=NAME_BYTES_MAX)
            self._validator.name(name, item_path, bytes_max=NAME_BYTES_MAX)
            if self._validator.leave_out(item_path, errors_before=errors_before):
                continue
            yield name, text(self._validator, data, "type", item_path)
            yield from self._typed(data, item_path, f"{name}/", depth - 1)

    def _aliases(self, facets: dict[str, Any], path: str) -> Iterator[Name]:
        data = facet(self._validator, facets, "symlinks", path)
        if not data:
            return
        item_path = child_path(path, "symlinks")
        for item, item_at in items_with_path(
            list_items(self._validator, data, "identifiers", item_path), child_path(item_path, "identifiers")
        ):
            alias = self._read_name(members(self._validator, item, item_at, optional=True), item_at)
            if alias is not None:
                yield alias

    def _tags(self, facets: dict[str, Any], path: str) -> Iterator[DeclaredTag]:
        """Yield the readable tags of fields in the facet `tags`; tags of the dataset itself are left out."""
        data = facet(self._validator, facets, "tags", path)
        if not data:
            return
        tags_at = child_path(path, "tags")
        producer = text(self._validator, data, "_producer", tags_at) or self._producer
        items = list_items(self._validator, data, "tags", tags_at)
        for item, item_path in items_with_path(items, child_path(tags_at, "tags")):
            tag = members(self._validator, item, item_path, optional=True)
            if tag.get("field") is None:
                continue
            errors_before = self._validator.errors.count
            name = self._validator.required(tag, "field", item_path, bytes_max=NAME_BYTES_MAX)
            key = self._validator.required(tag, "key", item_path)
            value = text(self._validator, tag, "value", item_path)
            # `true` is the value of a tag without one; any other is a part of its name.
            label = key if value in ("", "true") else f"{key}={value}"
            label = self._validator.name(label, item_path, bytes_max=ID_BYTES_MAX)
            if not self._validator.leave_out(item_path, errors_before=errors_before):
                # An export of a store like this one names who put each tag.
                by = text(self._validator, tag, "source", item_path) if producer == EXPORTER else producer
                yield DeclaredTag(name, label, by[:PRODUCER_MAX])

    def _paths(self) -> dict[Name, dict[str, str]]:
        """Map, by dataset, dotted field names of lineage (`employees.name`) to paths of the schema."""
        nested_paths: dict[Name, dict[str, str]] = {}
        for dataset in self._with_schemas:
            fields = dataset.fields or {}
            nested = {path.replace("/", "."): path for path in fields if "/" in path}
            nested_paths.setdefault(dataset.name, {}).update(
                # A field whose own name contains the dot takes precedence over a nested one.
                {data: path for data, path in nested.items() if data not in fields}
            )
        return nested_paths


def _merge_mentions(first: DatasetMention, second: DatasetMention) -> DatasetMention:
    """Merge two entries of one dataset: union of lists, the greater of texts. Commutative."""
    silent = first.columns is None and second.columns is None
    fields = dict(sorted((*(first.fields or ()), *(second.fields or ()))))
    return DatasetMention(
        dataset_index=first.dataset_index,
        written=first.written,
        fields=None if first.fields is None and second.fields is None else tuple(sorted(fields.items())),
        columns=None if silent else _merge_columns([first.columns or (), second.columns or ()]),
        dataset_inputs=tuple(sorted({*first.dataset_inputs, *second.dataset_inputs})),
        aliases=tuple(sorted({*first.aliases, *second.aliases})),
        # max only makes the result independent of the order; one event seldom has two values.
        lifecycle=max(first.lifecycle, second.lifecycle),
        previous=max(first.previous or ("", ""), second.previous or ("", ""))
        if first.previous or second.previous
        else None,
        description=max(first.description, second.description),
    )


def _merge_columns(lists: Iterable[Iterable[OutputColumn]]) -> tuple[OutputColumn, ...]:
    """Return each column of all lists once, with all its inputs, sorted.

    A single tuple is returned as it is.
    """
    lists = list(lists)
    if len(lists) == 1 and isinstance(lists[0], tuple):
        return lists[0]
    inputs: dict[str, set[InputColumn]] = {}
    for column in (column for columns in lists for column in columns):
        inputs.setdefault(column.name, set()).update(column.inputs)
    return tuple(
        OutputColumn(name, tuple(sorted(column_inputs))) for name, column_inputs in sorted(inputs.items())
    )
