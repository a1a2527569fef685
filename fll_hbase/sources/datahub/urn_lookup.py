"""Which end points and fields do the urns in an aspect name; wrong ones are faults at their place."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from fll_hbase.model.datasets import Dataset, DatasetField
from fll_hbase.sources.datahub import field_paths, urns
from fll_hbase.sources.validation import ID_BYTES_MAX, NAME_BYTES_MAX, Validator, child_path, items_with_path

NOWHERE = Dataset("?", "?")
_T = TypeVar("_T")


def read_dataset(validator: Validator, value: object, path: str) -> Dataset:
    """The end point that a urn names."""
    dataset = _parse_urn(validator, value, path, urns.parse_dataset)
    if dataset is None:
        return NOWHERE
    _check(validator, dataset, path)
    return dataset


def read_field(validator: Validator, value: object, path: str) -> DatasetField:
    """The field that a schemaField urn names."""
    field = _parse_urn(validator, value, path, urns.parse_field)
    if field is None:
        return DatasetField(NOWHERE, "?")
    _check(validator, field.dataset, path)
    return DatasetField(
        field.dataset, validator.name(field_paths.field_name(field.path), path, bytes_max=NAME_BYTES_MAX)
    )


def list_items(validator: Validator, data: dict[str, Any], name: str, path: str) -> Iterator[tuple[Any, str]]:
    """The items of a member, with their places."""
    return items_with_path(validator.items(data, name, path), child_path(path, name))


def read_dataset_member(validator: Validator, holder: dict[str, Any], name: str, path: str) -> Dataset:
    """The end point that a member names, which must be there."""
    if name not in holder:
        validator.error(child_path(path, name), "missing")
        return NOWHERE
    return read_dataset(validator, holder[name], child_path(path, name))


def _parse_urn(validator: Validator, value: object, path: str, reading: Callable[[str], _T]) -> _T | None:
    """What a urn names; None, and a fault, for what is no such urn."""
    errors_before = len(validator.errors)
    text = validator.name(value, path)
    if len(validator.errors) > errors_before:
        return None
    try:
        return reading(text)
    except ValueError as error:
        validator.error(path, str(error))
        return None


def _check(validator: Validator, dataset: Dataset, path: str) -> None:
    validator.name(dataset.namespace, path, bytes_max=ID_BYTES_MAX)
    validator.name(dataset.name, path, bytes_max=NAME_BYTES_MAX)
