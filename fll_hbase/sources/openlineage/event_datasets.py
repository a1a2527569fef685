"""Datasets of an event: read or written, with fields, aliases, lineage and lifecycle changes.

Facets of column lineage have several layouts. In `columnLineage` up to 1-0-2, a field has one transformation
type. From 1-1-0, each input field has its own type. From 1-2-0, inputs of the whole dataset are a separate
list. Agents of earlier versions repeat such inputs in every field. Reading moves them from the fields to the
dataset to store them once. The facet `lineage` has other member names, and inputs without a field: their
datasets are read, with unknown fields.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import NamedTuple, TypeAlias

from fll_hbase.model import run_events
from fll_hbase.model.dataset_spelling import DeclaredNames, FieldNames, Name, object_name, without_quotes
from fll_hbase.model.datasets import Dataset, DatasetMetadata, DeclaredTag, Field
from fll_hbase.model.operations import KINDS
from fll_hbase.model.run_events import DatasetMention, InputColumn, OutputColumn
from fll_hbase.runtime import deadline
from fll_hbase.sources.dialect_names import dialect_of, scheme_of
from fll_hbase.sources.name_rules import NameRules
from fll_hbase.sources.openlineage.facets import CATALOGUE, EXPORTER, facet
from fll_hbase.sources.validation import ID_BYTES_MAX, NAME_BYTES_MAX, Part, readable

# Bounds the recursion over a client's schema; stated in docs/record/openlineage.md.
DEPTH_MAX = 50
PRODUCER_MAX = 1_000
"""Characters of a tag's producer; stated in docs/record/openlineage.md."""

JOB = "JOB"
SPARK = "/integration/spark"
"""End of the producer URL of the Spark agent."""

_DOUBLED_DIRECTORY = re.compile(r"(/[^/]+)\1(?=/)")
"""A directory repeated in a path, which the Spark agent writes for dropped tables."""
SourceLookup: TypeAlias = Callable[[Part], tuple[int, str] | None]
"""Returns the index of an input's dataset and the field name, or None without a readable field."""


@dataclass(slots=True)
class _ListedDataset:
    """One dataset of an event; `lineages` are its unparsed lineage facets with their layouts."""

    name: Name
    written: bool
    fields: dict[str, str] | None = None
    lineages: list[tuple[FacetLayout, Part]] = field(default_factory=list)
    aliases: set[Name] = field(default_factory=set)
    lifecycle: str = ""
    previous: Name | None = None
    description: str = ""
    tags: list[DeclaredTag] = field(default_factory=list)
    has_catalogue_facet: bool = False


class DatasetCollector:
    """Collects the datasets of one event. `physical_names` has (namespace, logical name, physical name).

    A dataset with an empty namespace gets `namespace`, the job's. An unreadable part is left out with a
    warning and does not affect other parts.
    """

    def __init__(self, rules: NameRules, *, producer: str, namespace: str) -> None:
        self._namespace = namespace
        self._rules = rules
        self._doubles_directories = SPARK in producer
        self._producer = producer
        self._listed: list[_ListedDataset] = []
        # Set for a statement about an input: the fields of all datasets of the event.
        self._known_fields: dict[Name, FieldNames] | None = None
        self._meant: dict[Name, Name] = {}
        self._indexes: dict[Name, int] = {}
        self._read_without_fields: set[Name] = set()
        self._names_without_namespace: set[str] = set()
        self.physical_names: set[tuple[str, str, str]] = set()

    @property
    def first(self) -> Name | None:
        """Return the name of the first dataset added, or None if there is none."""
        return self._listed[0].name if self._listed else None

    def add(self, item: Part, *, written: bool) -> None:
        """Add an item of `inputs` or `outputs`; warn of an item without readable name, and leave it out."""
        if not item.is_object:
            item.warn_type("an object")
            return
        facets = item.optional_object("facets")
        change = facet(facets, "lifecycleStateChange")
        lifecycle = change.text("lifecycleStateChange").upper()
        name = self._read_name(item, doubled=self._doubles_directories and lifecycle == "DROP")
        if name is None:
            return
        dataset = _ListedDataset(name, written, lifecycle=lifecycle)
        previous = change.optional_object("previousIdentifier")
        if previous.members:
            dataset.previous = self._read_name(previous)
        dataset.fields = self._fields(facets, name)
        for facet_name, shape in _LINEAGES.items():
            lineage = facet(facets, facet_name, member="fields")
            if lineage.is_object:
                dataset.lineages.append((shape, lineage))
        # After name rules a symlink may equal the name, but a dataset is not an alias of itself.
        dataset.aliases = set(self._aliases(facets)) - {dataset.name}
        dataset.description = facet(facets, "documentation").text("description")
        dataset.tags = list(self._tags(facets))
        dataset.has_catalogue_facet = isinstance(facets.get(CATALOGUE), dict) and self._producer == EXPORTER
        self._listed.append(dataset)

    def add_entry(self, entry: Part) -> None:
        """Add an output from the `lineage` facet of a job; warn of an output without a readable name."""
        name = self._read_name(entry)
        if name is not None:
            self._listed.append(_ListedDataset(name, True, lineages=[(LINEAGE, entry)]))

    def mentions(self) -> tuple[DatasetMention, ...]:
        """Return mentions of datasets read or written, duplicates merged, in the order of `dataset_names`."""
        listed: dict[tuple[Name, bool], list[DatasetMention]] = {}
        # Collect all schemas first, since lineage of one dataset may name nested fields of another.
        fields = self._field_names() if self._known_fields is None else self._known_fields
        declared = self._declared_inputs()
        for dataset in deadline.watched(self._listed):
            mention = self._mention(dataset, fields, declared)
            listed.setdefault((dataset.name, dataset.written), []).append(mention)
        merged = {key: _merge_mentions(mentions) for key, mentions in deadline.watched(listed.items())}
        # A dataset that only a facet names is read, too, although `inputs` does not list it.
        for name in self._read_without_fields - {name for name, written in merged if not written}:
            merged[name, False] = DatasetMention(self._index_of(name), False)
        # With sorted names, equal lineage has equal bytes, which are stored once (decision 12).
        ordered = {name: item_path for item_path, name in enumerate(self.dataset_names())}
        positions = [ordered[name] for name in self._indexes]
        moved = run_events.remap_all(merged.values(), positions)
        return tuple(sorted(moved, key=lambda item: (item.dataset_index, item.written)))

    def input_statements(self) -> Iterator[DatasetCollector]:
        """Yield a collector for each input whose lineage the event states, with that input as written.

        The lineage of an input describes other runs, so it does not belong to this run.
        """
        stated: dict[Name, list[_ListedDataset]] = {}
        for dataset in self._listed:
            if not dataset.written and any(lineage.members for _, lineage in dataset.lineages):
                item = _ListedDataset(dataset.name, True, dataset.fields, dataset.lineages)
                stated.setdefault(dataset.name, []).append(item)
        fields = self._field_names() if stated else {}
        for listed in deadline.watched(stated.values()):
            collector = DatasetCollector(self._rules, producer=self._producer, namespace=self._namespace)
            collector._listed, collector._known_fields = listed, fields
            collector._names_without_namespace = self._names_without_namespace
            yield collector

    def field_tags(self) -> Iterator[DatasetMetadata]:
        """Yield the tags of fields, in the spelling of the schema, for each listed dataset that has any."""
        tagged = [dataset for dataset in self._listed if dataset.tags]
        fields = self._field_names() if tagged else {}
        for dataset in tagged:
            tags = (replace(tag, field=fields[dataset.name].find(tag.field)) for tag in dataset.tags)
            yield DatasetMetadata(Dataset(*dataset.name), tags=tuple(tags))

    def catalogue_metadata(self) -> Iterator[DatasetMetadata]:
        """Yield the fields and description of each dataset with the facet of an exported catalogue."""
        for dataset in self._listed:
            if dataset.has_catalogue_facet:
                fields = tuple(Field(*item) for item in sorted((dataset.fields or {}).items()))
                yield DatasetMetadata(Dataset(*dataset.name), fields, dataset.description)

    def ordered_fields(self) -> dict[Name, tuple[str, ...]]:
        """Return the fields, in order, of each dataset that has any; the last schema of a dataset counts."""
        return {dataset.name: tuple(dataset.fields) for dataset in self._listed if dataset.fields}

    def dataset_names(self) -> tuple[Name, ...]:
        """Return the names of all datasets, sorted; call this after `mentions`, which finds them."""
        return tuple(sorted(self._indexes))

    def _mention(
        self, dataset: _ListedDataset, fields: dict[Name, FieldNames], declared: DeclaredNames
    ) -> DatasetMention:
        """Return a listed dataset as a mention. Only written datasets have column lineage."""
        item_path = self._index_of(dataset.name)
        if dataset.previous is not None:
            self._index_of(dataset.previous)
        # The lineage of an input is a separate statement.
        listed = dataset.lineages if dataset.written else ()
        lineages = [self._lineage(dataset, fields, declared, *lineage) for lineage in listed]
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
        fields: dict[Name, FieldNames],
        declared: DeclaredNames,
        shape: FacetLayout,
        facet: Part,
    ) -> OutputLineage:
        """Read a facet of column lineage. Its inputs become dataset indexes and paths of nested fields."""

        def source(item: Part) -> tuple[int, str] | None:
            # A dependency between jobs has no fields, so it is not recorded.
            name = None if item.get("type") == JOB else self._read_name(item)
            if name is None:
                return None
            if name not in fields:
                name = self._meant_name(name, declared, item)
            # Only the facet `lineage` has inputs without a field; `columnLineage` requires the field.
            if shape is LINEAGE and item.get("field") is None:
                self._read_without_fields.add(name)
                return None
            field_name = item.readable(lambda part: part.required("field", bytes_max=NAME_BYTES_MAX))
            if field_name is None:
                return None
            return self._index_of(name), _found_field(fields, name, field_name)

        lineage = _read_lineage(facet, source, shape)
        columns = [
            OutputColumn(_found_field(fields, dataset.name, column.name), column.inputs)
            for column in lineage.columns
        ]
        if all(given.name == column.name for given, column in zip(lineage.columns, columns, strict=True)):
            return lineage
        return OutputLineage(_merge_columns([columns]), lineage.dataset_inputs)

    def _declared_inputs(self) -> DeclaredNames:
        """Return the inputs of the event, with their symlinks."""
        declared = DeclaredNames()
        for dataset in deadline.watched(self._listed):
            if not dataset.written:
                declared.add(dataset.name, dataset.aliases)
        return declared

    def _meant_name(self, name: Name, declared: DeclaredNames, item: Part) -> Name:
        """Return the input that a name in column lineage means, with a warning, or the name if uncertain."""
        if name not in self._meant:
            self._meant[name] = declared.find(name) or name
            if self._meant[name] != name:
                given, meant = " ".join(name), " ".join(self._meant[name])
                item.warning(
                    f"{given!r} is not a dataset of the event; taken to be its input {meant!r}", "name"
                )
        return self._meant[name]

    def _index_of(self, name: Name) -> int:
        """Return the index of a dataset; a new dataset gets the next free index."""
        return self._indexes.setdefault(name, len(self._indexes))

    def _read_name(self, item: Part, *, doubled: bool = False) -> Name | None:
        """Return the namespace and name after name rules, or None, with a warning, if one is unreadable."""
        errors_before = item.validator.errors.count
        if item.get("namespace") == "" and self._namespace:
            namespace = self._namespace_of_job(item)
        else:
            namespace = item.required("namespace", bytes_max=ID_BYTES_MAX)
        name = item.required("name", bytes_max=NAME_BYTES_MAX)
        # Remove the repeated directory first, so that name rules match the path on disk.
        logical = self._rules.apply(_DOUBLED_DIRECTORY.sub(r"\1", name) if doubled else name)
        namespace, logical = self._standard_name(namespace, logical)
        if logical != name:
            # A rule's replacement can make a name longer than the limit.
            item.validator.name(logical, item.path, bytes_max=NAME_BYTES_MAX)
        if item.leave_out(errors_before=errors_before):
            return None
        if logical != name:
            self.physical_names.add((namespace, logical, name))
        return namespace, logical

    def _standard_name(self, namespace: str, name: str) -> Name:
        """Return a name by the naming rules, in the namespace after the rules for namespaces."""
        if self._producer == EXPORTER:
            # The operations in its events have the names of the exporting store.
            return namespace, name
        if _is_database(namespace):
            name = without_quotes(name)
            if namespace.startswith("bigquery"):
                # `$` begins a partition decorator and does not occur in table names.
                name = name.partition("$")[0] or name
        mapped = self._rules.apply_to_namespace(namespace)
        standard, name = object_name(namespace, name)
        return mapped if mapped != namespace else self._rules.apply_to_namespace(standard), name

    def _namespace_of_job(self, item: Part) -> str:
        """Return the job's namespace for a dataset with an empty namespace; warn once for each name."""
        name = item.get("name")
        if isinstance(name, str) and name not in self._names_without_namespace:
            self._names_without_namespace.add(name)
            detail = f"must not be empty; the dataset is in the namespace of the job, {self._namespace!r}"
            item.warning(detail, "namespace")
        return self._namespace

    def _fields(self, facets: Part, dataset: Name) -> dict[str, str] | None:
        """Return types by field, nested ones as `a/b`, or None without a readable schema."""
        schema = facet(facets, "schema", member="fields", member_type=list)
        # {} is a deleted schema, whereas None would keep an earlier event's schema valid (decision 12).
        if not schema.is_object:
            return None
        fields = self._typed(schema, "", DEPTH_MAX)
        is_export = self._producer == EXPORTER
        return {name if is_export else _plain_field(dataset, name): kind for name, kind in fields}

    def _typed(self, holder: Part, prefix: str, depth: int) -> Iterator[tuple[str, str]]:
        """Yield name and type of fields and of nested fields, down to `depth`; warn of deeper fields."""
        for item in holder.optional_items("fields"):
            if not depth:
                holder.warning(f"nested more than {DEPTH_MAX} deep; the fields inside are left out")
                return
            errors_before = item.validator.errors.count
            name = prefix + item.as_object().required("name", bytes_max=NAME_BYTES_MAX)
            item.validator.name(name, item.path, bytes_max=NAME_BYTES_MAX)
            if item.leave_out(errors_before=errors_before):
                continue
            yield name, item.text("type")
            yield from self._typed(item, f"{name}/", depth - 1)

    def _aliases(self, facets: Part) -> Iterator[Name]:
        """Yield the readable names in the facet `symlinks`, after name rules; warn of others."""
        for item in facet(facets, "symlinks").optional_items("identifiers"):
            alias = self._read_name(item.as_optional_object())
            if alias is not None:
                yield alias

    def _tags(self, facets: Part) -> Iterator[DeclaredTag]:
        """Yield the readable tags of fields in the facet `tags`; tags of the dataset itself are left out."""
        tags = facet(facets, "tags")
        producer = tags.text("_producer") or self._producer

        def read(tag: Part) -> DeclaredTag | None:
            if tag.as_optional_object().get("field") is None:
                return None
            name = tag.required("field", bytes_max=NAME_BYTES_MAX)
            key = tag.required("key")
            value = tag.text("value")
            # `true` is the value of a tag without a value; any other value is part of the tag's name.
            label = key if value in ("", "true") else f"{key}={value}"
            tag.validator.name(label, tag.path, bytes_max=ID_BYTES_MAX)
            # An export of a store like this one says who put each tag.
            by = tag.text("source") if producer == EXPORTER else producer
            return DeclaredTag(name, label, by[:PRODUCER_MAX])

        return readable(tags.optional_items("tags"), read)

    def _field_names(self) -> dict[Name, FieldNames]:
        """Return the fields of each dataset of the event, to be found by their spelling in lineage."""
        fields: dict[Name, FieldNames] = {}
        for dataset in deadline.watched(self._listed):
            fields.setdefault(dataset.name, FieldNames(())).add(dataset.fields or ())
        return fields


def _found_field(fields: Mapping[Name, FieldNames], dataset: Name, name: str) -> str:
    """Return the field that a name means: the schema's spelling, else the name without quotes."""
    name = _plain_field(dataset, name)
    return fields[dataset].find(name) if dataset in fields else name


def _plain_field(dataset: Name, name: str) -> str:
    """Return the name of a field, without quotes if it belongs to a database."""
    return without_quotes(name) if _is_database(dataset[0]) else name


def _is_database(namespace: str) -> bool:
    """Return whether a namespace names a database, whose names may be quoted."""
    return dialect_of(scheme_of(namespace)) is not None


def _merge_mentions(mentions: Sequence[DatasetMention]) -> DatasetMention:
    """Merge all mentions of a dataset, in any order: lists are united, and of texts the greater is taken."""
    first, *others = mentions
    if not others:
        return first
    schemas = [mention.fields for mention in mentions if mention.fields is not None]
    columns = [mention.columns for mention in mentions if mention.columns is not None]
    # If a field has two types, the greater text wins.
    fields = dict(sorted(chain.from_iterable(schemas)))
    return DatasetMention(
        dataset_index=first.dataset_index,
        written=first.written,
        fields=tuple(sorted(fields.items())) if schemas else None,
        columns=_merge_columns(columns) if columns else None,
        dataset_inputs=tuple(sorted({item for mention in mentions for item in mention.dataset_inputs})),
        aliases=tuple(sorted({alias for mention in mentions for alias in mention.aliases})),
        # max only makes the result independent of the order. An event rarely has two values.
        lifecycle=max(mention.lifecycle for mention in mentions),
        previous=max((mention.previous for mention in mentions if mention.previous), default=None),
        description=max(mention.description for mention in mentions),
    )


def _merge_columns(lists: Iterable[Iterable[OutputColumn]]) -> tuple[OutputColumn, ...]:
    """Return each column of all lists once, with all its inputs, sorted; return a single tuple unchanged."""
    lists = list(lists)
    if len(lists) == 1 and isinstance(lists[0], tuple):
        return lists[0]
    inputs: dict[str, set[InputColumn]] = {}
    for column in (column for columns in lists for column in columns):
        inputs.setdefault(column.name, set()).update(column.inputs)
    return tuple(
        OutputColumn(name, tuple(sorted(column_inputs)))
        for name, column_inputs in deadline.watched(sorted(inputs.items()))
    )


class FacetLayout(NamedTuple):
    """Member names of a facet for the inputs of a field and for the inputs of the whole dataset."""

    field_inputs: str
    dataset_inputs: str


COLUMN_LINEAGE = FacetLayout("inputFields", "dataset")
LINEAGE = FacetLayout("inputs", "inputs")
_LINEAGES = {"columnLineage": COLUMN_LINEAGE, "lineage": LINEAGE}

DATASET_KINDS = frozenset({"filter", "join", "group_by", "sort"})
"""Indirect kinds that affect rows, and therefore every field of a dataset."""

INDIRECT, MASKED = "INDIRECT", "MASKED"


@dataclass(frozen=True, slots=True)
class OutputLineage:
    """Column lineage of one output: its columns, sorted, and the inputs of the whole dataset."""

    columns: tuple[OutputColumn, ...]
    dataset_inputs: tuple[InputColumn, ...]


def _read_lineage(facet: Part, source: SourceLookup, shape: FacetLayout) -> OutputLineage:
    """Read the lineage of one output. A field is left out if all its inputs lack a field or are unreadable.

    Without a list of dataset inputs, they are the inputs of DATASET_KINDS that two or more columns all share.
    """
    validator = facet.validator
    columns: dict[str, set[InputColumn]] = {}
    for name, item in facet.optional_object("fields").member_parts():
        item.as_optional_object()
        errors_before = validator.errors.count
        validator.name(name, item.path, bytes_max=NAME_BYTES_MAX)
        if item.leave_out(errors_before=errors_before) or not item.is_object:
            continue
        inputs = set(_read_inputs(item, shape.field_inputs, source, _describe_field(item)))
        # A field without inputs is generated. Inputs that only name datasets, or are unreadable, are unknown.
        if inputs or item.get(shape.field_inputs) in (None, []):
            columns[name] = inputs
    dataset_inputs = set(map(_dataset_input, _read_inputs(facet, shape.dataset_inputs, source, "")))
    # Layouts before 1-2-0 need this. With one field only, dataset inputs look like the field's own.
    if not isinstance(facet.get(shape.dataset_inputs), list) and len(columns) > 1:
        dataset_inputs = {
            input_column
            for input_column in set.intersection(*columns.values())
            if input_column.kind in DATASET_KINDS
        }
        columns = {name: inputs - dataset_inputs for name, inputs in columns.items()}
    # Sorted, because agents list equal inputs in varying order and a nightly job must keep its checksum.
    return OutputLineage(
        tuple(OutputColumn(name, tuple(sorted(inputs))) for name, inputs in sorted(columns.items())),
        tuple(sorted(dataset_inputs)),
    )


def _dataset_input(column: InputColumn) -> InputColumn:
    """Return an input as an indirect input of the whole dataset; remove a direct input's description."""
    # Always indirect, even if the agent types it DIRECT, since all rows depend on it.
    transformation = "" if column.direct else column.transformation
    return InputColumn(column.dataset_index, column.field, False, column.kind, transformation)


def _read_inputs(
    holder: Part, name: str, source: SourceLookup, field_description: str
) -> Iterator[InputColumn]:
    """Yield each readable input of a column once for each readable transformation.

    An input without any is direct, with `field_description`. Unreadable parts add warnings.
    """
    for item in holder.optional_items(name):
        located = source(item) if item.as_optional_object().is_object else None
        if located is not None:
            described = [
                column
                for transformation in item.optional_items("transformations")
                if (column := _read_transformation(transformation.as_optional_object(), *located))
            ]
            # Layouts up to 1-0-2 describe the transformation in the field, for all of its inputs.
            yield from described or [InputColumn(*located, True, "", field_description)]


def _read_transformation(part: Part, dataset_index: int, field: str) -> InputColumn | None:
    """Return an input with one transformation, or None, with a warning, if it has no type."""
    type_ = part.readable(lambda item: item.required("type"))
    if type_ is None:
        return None
    subtype = part.text("subtype")
    description = part.text("description")
    masked = part.get("masking") is True
    if type_.upper() == INDIRECT:
        # The spec does not enumerate subtypes. A subtype that is not a kind of the contract is left out.
        kind = subtype.lower()
        described = _describe_transformation("", description, masked=masked)
        return InputColumn(dataset_index, field, False, kind if kind in KINDS else "", described)
    return InputColumn(
        dataset_index, field, True, "", _describe_transformation(subtype, description, masked=masked)
    )


def _describe_field(field: Part) -> str:
    """Return the transformation's description that older layouts have in the field, or "" if absent."""
    type_ = field.text("transformationType")
    description = field.text("transformationDescription")
    masked = type_.upper() == MASKED
    return _describe_transformation("" if masked else type_, description, masked=masked)


def _describe_transformation(subtype: str, description: str, *, masked: bool) -> str:
    """Describe a transformation: `TRANSFORMATION: sha2(email), masked`, or "" if nothing is known."""
    text = f"{subtype}: {description}" if subtype and description else subtype or description
    if not masked:
        return text
    return f"{text}, masked" if text else "masked"
