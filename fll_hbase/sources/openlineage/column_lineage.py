"""Column lineage facets, in all their layouts: source fields of each field, with transformations.

In `columnLineage` up to 1-0-2, a field has one transformation type; from 1-1-0, each input field has its own;
from 1-2-0, inputs of the whole dataset are a list of their own. Agents of earlier versions repeat such inputs
in every field; they are moved from the fields to the dataset, so that they are stored once. The facet
`lineage` has other member names, and inputs without a field: their datasets are read, with unknown fields.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from fll_hbase.model.operations import KINDS
from fll_hbase.model.run_events import InputColumn, OutputColumn
from fll_hbase.sources.openlineage.json_access import list_items, members, text
from fll_hbase.sources.validation import NAME_BYTES_MAX, Validator, child_path, items_with_path

SourceLookup: TypeAlias = Callable[[dict[str, Any], str], tuple[int, str] | None]
"""Returns the index of the dataset of an input and the field name; None if the input names no field."""


class FacetLayout(NamedTuple):
    """Member names of a facet: the inputs of a field, and those of the whole dataset."""

    field_inputs: str
    dataset_inputs: str


COLUMN_LINEAGE = FacetLayout("inputFields", "dataset")
LINEAGE = FacetLayout("inputs", "inputs")

DATASET_KINDS = frozenset({"filter", "join", "group_by", "sort"})
"""Indirect kinds that affect rows, and therefore every field of a dataset."""

INDIRECT, MASKED = "INDIRECT", "MASKED"


@dataclass(frozen=True, slots=True)
class OutputLineage:
    """Column lineage of one output: its columns, sorted, and the inputs of the whole dataset."""

    columns: tuple[OutputColumn, ...]
    dataset_inputs: tuple[InputColumn, ...]


def read(
    validator: Validator, facet: dict[str, Any], path: str, source: SourceLookup, shape: FacetLayout
) -> OutputLineage:
    """Read the lineage of one output. Fields whose inputs all name datasets without a field are left out.

    Without a list of dataset inputs, indirect inputs that all columns share become these.
    """
    columns: dict[str, set[InputColumn]] = {}
    fields_at = child_path(path, "fields")
    for name, item in members(validator, facet.get("fields"), fields_at, optional=True).items():
        item_path = child_path(fields_at, name)
        data = members(validator, item, item_path, optional=True)
        errors_before = validator.errors.count
        validator.name(name, item_path, bytes_max=NAME_BYTES_MAX)
        if validator.leave_out(item_path, errors_before=errors_before) or not isinstance(item, dict):
            continue
        description = _describe_field(validator, data, item_path)
        inputs = set(_read_inputs(validator, data, shape.field_inputs, item_path, source, description))
        # A field without inputs is generated; one whose inputs name only datasets, or cannot be read, has
        # unknown ones.
        if inputs or data.get(shape.field_inputs) in (None, []):
            columns[name] = inputs
    dataset_inputs = {
        # Indirect, even if the agent types it DIRECT: an input of all rows is no value of one field.
        _dataset_input(input_column)
        for input_column in _read_inputs(validator, facet, shape.dataset_inputs, path, source, "")
    }
    # Layouts before 1-2-0. In a dataset with one field they look like the field's own.
    if not isinstance(facet.get(shape.dataset_inputs), list) and len(columns) > 1:
        dataset_inputs = {
            input_column
            for input_column in set.intersection(*columns.values())
            if input_column.kind in DATASET_KINDS
        }
        columns = {name: inputs - dataset_inputs for name, inputs in columns.items()}
    # Sorted: agents list equal inputs in varying order, and a nightly job must keep its checksum.
    return OutputLineage(
        tuple(OutputColumn(name, tuple(sorted(inputs))) for name, inputs in sorted(columns.items())),
        tuple(sorted(dataset_inputs)),
    )


def _dataset_input(column: InputColumn) -> InputColumn:
    transformation = "" if column.direct else column.transformation
    return InputColumn(column.dataset_index, column.field, False, column.kind, transformation)


def _read_inputs(
    validator: Validator,
    holder: dict[str, Any],
    name: str,
    path: str,
    source: SourceLookup,
    field_description: str,
) -> Iterator[InputColumn]:
    """Yield each readable input of a column, once for each of its transformations."""
    for item, item_path in items_with_path(list_items(validator, holder, name, path), child_path(path, name)):
        data = members(validator, item, item_path, optional=True)
        located = source(data, item_path) if isinstance(item, dict) else None
        if located is None:
            continue
        index, field = located
        transformations = list_items(validator, data, "transformations", item_path)
        is_described = False
        for transformation, where in items_with_path(
            transformations, child_path(item_path, "transformations")
        ):
            column = _read_transformation(validator, transformation, where, index, field)
            if column is not None:
                is_described = True
                yield column
        # Layouts up to 1-0-2 describe the transformation at the field, for all of its inputs.
        if not is_described:
            yield InputColumn(index, field, True, "", field_description)


def _read_transformation(
    validator: Validator, item: object, path: str, dataset_index: int, field: str
) -> InputColumn | None:
    """Return an input with one transformation; None, with a warning, if that has no type."""
    data = members(validator, item, path, optional=True)
    errors_before = validator.errors.count
    type_ = text(validator, data, "type", path, required=True).upper()
    if validator.leave_out(path, errors_before=errors_before):
        return None
    subtype = text(validator, data, "subtype", path)
    description = text(validator, data, "description", path)
    masked = data.get("masking") is True
    if type_ == INDIRECT:
        # The spec does not enumerate subtypes; one that is no kind of the contract is left out.
        kind = subtype.lower()
        described = _describe_transformation("", description, masked=masked)
        return InputColumn(dataset_index, field, False, kind if kind in KINDS else "", described)
    return InputColumn(
        dataset_index, field, True, "", _describe_transformation(subtype, description, masked=masked)
    )


def _describe_field(validator: Validator, data: dict[str, Any], path: str) -> str:
    type_ = text(validator, data, "transformationType", path)
    description = text(validator, data, "transformationDescription", path)
    masked = type_.upper() == MASKED
    return _describe_transformation("" if masked else type_, description, masked=masked)


def _describe_transformation(subtype: str, description: str, *, masked: bool) -> str:
    """Describe a transformation: `TRANSFORMATION: sha2(email), masked`."""
    text = f"{subtype}: {description}" if subtype and description else subtype or description
    if not masked:
        return text
    return f"{text}, masked" if text else "masked"
