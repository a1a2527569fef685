"""Operations of one run: reads from datasets, transforms of fields, writes to datasets."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum
from typing import TypeAlias

from fll_hbase.model.datasets import Dataset, Field
from fll_hbase.runtime import deadline


class Influence(Enum):
    """Direct: values are derived from the input. Indirect: the input determines rows, groups or order."""

    DIRECT = "direct"
    INDIRECT = "indirect"


KINDS = frozenset({"filter", "join", "group_by", "sort", "window", "conditional"})
"""Kinds of indirect inputs: the clause or expression in which the field is used."""


@dataclass(frozen=True, slots=True)
class InputField:
    """An output of the operation `origin`, used as input; `kind` is empty or one of KINDS."""

    origin: str
    name: str
    influence: Influence = Influence.DIRECT
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Read:
    """Reads fields from a source dataset.

    A Read is unconfirmed if it was recorded without the right to record in the source's namespace. It then
    adds nothing to the catalogue there.
    """

    name: str
    description: str
    source: Dataset
    source_description: str
    outputs: tuple[Field, ...]
    # Confirmation does not change lineage, so answers treat both as the same operation.
    is_unconfirmed: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class Transform:
    """Derives every output from all inputs, generates without inputs and drops without outputs."""

    name: str
    description: str
    inputs: tuple[InputField, ...]
    outputs: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class Write:
    """Writes fields to a destination dataset, each under its own name.

    `unknown_origins` are the READs to which it is related in an unknown way. None states nothing: then a
    WRITE without inputs is related to all READs of its run, and a READ without fields to all WRITEs. If one
    WRITE of a run states its unknown origins, only the stated relations exist in that run.
    """

    name: str
    description: str
    destination: Dataset
    destination_description: str
    inputs: tuple[InputField, ...]
    unknown_origins: tuple[str, ...] | None = None


Operation: TypeAlias = Read | Transform | Write


def type_of(operation: Operation) -> str:
    """Return READ, TRANSFORM or WRITE: the `type` in documents, answers and stored operations."""
    # The names of the three classes are stored, so renaming one would change every checksum.
    return type(operation).__name__.upper()


def inputs_of(operation: Operation) -> tuple[InputField, ...]:
    """Return the inputs of an operation; a Read has none."""
    return () if isinstance(operation, Read) else operation.inputs


def outputs_of(operation: Operation) -> tuple[Field, ...]:
    """Return the outputs that an operation lists; a Write has none."""
    return () if isinstance(operation, Write) else operation.outputs


def used_outputs(operations: Iterable[Operation]) -> dict[str, set[str]]:
    """Return, by operation, the names of its fields that other operations have as inputs."""
    used: dict[str, set[str]] = {}
    for operation in deadline.watched(operations):
        for input_field in inputs_of(operation):
            used.setdefault(input_field.origin, set()).add(input_field.name)
    return used


def dataset_of(operation: Operation) -> Dataset | None:
    """Return the dataset that a Read reads or a Write writes, or None for a Transform."""
    match operation:
        case Read():
            return operation.source
        case Write():
            return operation.destination
        case Transform():
            return None
