"""Urns inside aspects to datasets and fields; invalid urns become errors with their path."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from fll_hbase.model.datasets import Dataset, DatasetField
from fll_hbase.sources.datahub import schema_paths, urns
from fll_hbase.sources.openlineage import json_access
from fll_hbase.sources.validation import ID_BYTES_MAX, NAME_BYTES_MAX, Validator, child_path, items_with_path

NOWHERE = Dataset("?", "?")
_T = TypeVar("_T")


def read_dataset(validator: Validator, value: object, path: str) -> Dataset:
    """Return the dataset of a urn; an invalid one adds an error and returns NOWHERE."""
    dataset = _parse_urn(validator, value, path, urns.parse_dataset)
    if dataset is None:
        return NOWHERE
    _check(validator, dataset, path)
    return dataset


def read_field(validator: Validator, value: object, path: str) -> DatasetField:
    """Return the field of a schemaField urn; an invalid one adds an error and returns a placeholder."""
    field = _parse_urn(validator, value, path, urns.parse_field)
    if field is None:
        return DatasetField(NOWHERE, "?")
    _check(validator, field.dataset, path)
    return DatasetField(
        field.dataset, validator.name(schema_paths.field_name(field.path), path, bytes_max=NAME_BYTES_MAX)
    )


def list_items(validator: Validator, data: dict[str, Any], name: str, path: str) -> Iterator[tuple[Any, str]]:
    """Yield the items of a member with their paths; none, with a warning, if it is not an array."""
    return items_with_path(json_access.list_items(validator, data, name, path), child_path(path, name))


def read_dataset_member(validator: Validator, holder: dict[str, Any], name: str, path: str) -> Dataset:
    """Return the dataset whose urn is a required member; NOWHERE with an error if it is missing."""
    if name not in holder:
        validator.error(child_path(path, name), "missing")
        return NOWHERE
    return read_dataset(validator, holder[name], child_path(path, name))


def _parse_urn(validator: Validator, value: object, path: str, reading: Callable[[str], _T]) -> _T | None:
    """Parse a urn; None, with an error, if it is invalid."""
    errors_before = validator.errors.count
    text = validator.name(value, path)
    # The error is reported; parsing the placeholder would add a false one.
    if validator.errors.count > errors_before:
        return None
    try:
        return reading(text)
    except ValueError as error:
        validator.error(path, str(error))
        return None


def _check(validator: Validator, dataset: Dataset, path: str) -> None:
    validator.name(dataset.namespace, path, bytes_max=ID_BYTES_MAX)
    validator.name(dataset.name, path, bytes_max=NAME_BYTES_MAX)
