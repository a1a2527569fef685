"""Column lineage facets, in all their layouts: source fields of each field, with transformations.

In `columnLineage` up to 1-0-2, a field has one transformation type. From 1-1-0, each input field has its own
type. From 1-2-0, inputs of the whole dataset are a separate list. Agents of earlier versions repeat such
inputs in every field. Reading moves them from the fields to the dataset to store them once. The facet
`lineage` has other member names, and inputs without a field: their datasets are read, with unknown fields.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from fll_hbase.model.operations import KINDS
from fll_hbase.model.run_events import InputColumn, OutputColumn
from fll_hbase.sources.validation import NAME_BYTES_MAX, Part

SourceLookup: TypeAlias = Callable[[Part], tuple[int, str] | None]
"""Returns the index of an input's dataset and the field name, or None without a readable field."""


class FacetLayout(NamedTuple):
    """Member names of a facet for the inputs of a field and for the inputs of the whole dataset."""

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


def read(facet: Part, source: SourceLookup, shape: FacetLayout) -> OutputLineage:
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
    dataset_inputs = {
        # Always indirect, even if the agent types it DIRECT: it is an input of rows, not of a value.
        _dataset_input(input_column)
        for input_column in _read_inputs(facet, shape.dataset_inputs, source, "")
    }
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
    transformation = "" if column.direct else column.transformation
    return InputColumn(column.dataset_index, column.field, False, column.kind, transformation)


def _read_inputs(
    holder: Part, name: str, source: SourceLookup, field_description: str
) -> Iterator[InputColumn]:
    """Yield each readable input of a column once for each transformation, or as direct if it has none."""
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
