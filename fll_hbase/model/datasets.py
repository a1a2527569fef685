"""Datasets, their fields, and metadata that does not depend on runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

# Datasets and their fields are named tuples: answers look up hundreds of thousands of them, and a tuple
# hashes and compares several times faster than a dataclass.


class Dataset(NamedTuple):
    """A table, topic, file or other collection of records that runs read from and write to."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


class DatasetField(NamedTuple):
    """A field of a dataset; the name of a nested field is its full path, `employees/name`."""

    dataset: Dataset
    name: str


WHOLE_DATASET = "*"
"""In a `DatasetField`, the dataset as a whole: an influence on it concerns every field of it."""


@dataclass(frozen=True, slots=True, order=True)
class Field:
    """A field name with its type; `type` is empty if unknown."""

    name: str
    type: str = ""


@dataclass(frozen=True, slots=True, order=True)
class DeclaredTag:
    """A tag that metadata gives to a field, by the field's name; `by` names the producer."""

    field: str
    tag: str
    by: str


@dataclass(frozen=True, slots=True)
class DatasetMetadata:
    """Fields, description, aliases and field tags of a dataset, as declared independently of runs.

    Names in `fields` are full paths; `aliases` are other names of the same dataset.
    """

    dataset: Dataset
    fields: tuple[Field, ...] = ()
    description: str = ""
    aliases: tuple[Dataset, ...] = ()
    tags: tuple[DeclaredTag, ...] = ()
