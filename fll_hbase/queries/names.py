"""Names of datasets, fields and programs in answers; hidden things have numbers instead."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, TypeAlias

import msgspec

from fll_hbase.model.datasets import Dataset, DatasetField
from fll_hbase.queries import name_json
from fll_hbase.queries.query import Body, Required

Influence: TypeAlias = Literal["direct", "indirect"]


# Without garbage collection: answers have thousands of names, and no name is part of a cycle.
class DatasetName(Body, frozen=True, kw_only=True, gc=False):
    """A dataset. A hidden dataset has a number and no names."""

    schema_name: ClassVar[str] = "EndPoint"

    hidden: int = 0
    # Real names are never empty, so only hidden datasets have this default.
    namespace: Annotated[str, Required] = ""
    name: Annotated[str, Required] = ""

    def __str__(self) -> str:
        return f"hidden {self.hidden}" if self.hidden else f"{self.namespace}/{self.name}"


RUN_NAMESPACE = msgspec.Meta(description="Where the id of the run is unique; left out for UUIDs")


class FieldName(DatasetName, frozen=True, kw_only=True, gc=False):
    """A field of a dataset; `*` is the dataset as a whole."""

    schema_name: ClassVar[str] = "ReachField"

    field: Annotated[str, Required] = ""

    def __str__(self) -> str:
        return f"hidden {self.hidden}" if self.hidden else f"{self.namespace}/{self.name}.{self.field}"


class ProgramName(Body, frozen=True, kw_only=True):
    """A program. A hidden program has a number and no names."""

    hidden: int = 0
    namespace: Annotated[str | None, Required] = None
    application: Annotated[str | None, Required] = None
    program: Annotated[str | None, Required] = None
    type: Annotated[str | None, Required] = None


def dataset_name(dataset: Dataset) -> DatasetName:
    """Return the name of a dataset, or the number of a hidden dataset."""
    return DatasetName(**name_json.dataset(dataset))


def field_name(field: DatasetField) -> FieldName:
    """Return the name of a field, or the number of its hidden dataset."""
    return FieldName(**name_json.field(field))
