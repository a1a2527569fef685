"""Urns inside aspects to datasets and fields; invalid urns become errors with their path."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from fll_hbase.model.datasets import Dataset, DatasetField
from fll_hbase.sources.datahub import schema_paths, urns
from fll_hbase.sources.validation import ID_BYTES_MAX, NAME_BYTES_MAX, Part

NOWHERE = Dataset("?", "?")
_T = TypeVar("_T")


def read_dataset(urn: Part) -> Dataset:
    """Return the dataset of a urn; an invalid one adds an error and returns NOWHERE."""
    dataset = _parse_urn(urn, urns.parse_dataset)
    if dataset is None:
        return NOWHERE
    _check(urn, dataset)
    return dataset


def read_field(urn: Part) -> DatasetField:
    """Return the field of a schemaField urn; an invalid one adds an error and returns a placeholder."""
    field = _parse_urn(urn, urns.parse_field)
    if field is None:
        return DatasetField(NOWHERE, "?")
    _check(urn, field.dataset)
    name = urn.validator.name(schema_paths.field_name(field.path), urn.path, bytes_max=NAME_BYTES_MAX)
    return DatasetField(field.dataset, name)


def read_dataset_member(holder: Part, name: str) -> Dataset:
    """Return the dataset whose urn is a required member; NOWHERE with an error if it is missing."""
    if name not in holder:
        holder.error("missing", name)
        return NOWHERE
    return read_dataset(holder.member(name))


def _parse_urn(urn: Part, reading: Callable[[str], _T]) -> _T | None:
    """Parse a urn; None, with an error, if it is invalid."""
    errors_before = urn.validator.errors.count
    text = urn.name(bytes_max=urns.URN_BYTES_MAX)
    # The error is reported; parsing the placeholder would add a false one.
    if urn.validator.errors.count > errors_before:
        return None
    try:
        return reading(text)
    except ValueError as error:
        urn.error(str(error))
        return None


def _check(urn: Part, dataset: Dataset) -> None:
    """Add an error at the urn if namespace or name of its dataset is empty or longer than allowed."""
    urn.validator.name(dataset.namespace, urn.path, bytes_max=ID_BYTES_MAX)
    urn.validator.name(dataset.name, urn.path, bytes_max=NAME_BYTES_MAX)
