"""What one run did to fields: the end points it read and wrote, and its operations."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from fll_hbase.model.datasets import Dataset, Field


class Influence(Enum):
    """How an input reaches an output: as part of its value, or by shaping rows and groups."""

    DIRECT = "direct"
    INDIRECT = "indirect"


KINDS = frozenset({"filter", "join", "group_by", "sort", "window", "conditional"})
"""What an indirect input may have been used for."""


@dataclass(frozen=True, slots=True)
class InputField:
    """A field taken from the operation named `origin`; `kind` is empty or one of KINDS."""

    origin: str
    name: str
    influence: Influence = Influence.DIRECT
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Read:
    """Takes fields out of a source end point."""

    name: str
    description: str
    source: Dataset
    source_description: str
    outputs: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class Transform:
    """Makes every output from all inputs; without inputs it generates, without outputs it drops."""

    name: str
    description: str
    inputs: tuple[InputField, ...]
    outputs: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class Write:
    """Puts fields into a destination end point, each under its own name."""

    name: str
    description: str
    destination: Dataset
    destination_description: str
    inputs: tuple[InputField, ...]


Operation: TypeAlias = Read | Transform | Write


def type_of(operation: Operation) -> str:
    """READ, TRANSFORM or WRITE: the word documents and answers use."""
    return type(operation).__name__.upper()


def inputs_of(operation: Operation) -> tuple[InputField, ...]:
    """The fields an operation takes; none for a Read."""
    return () if isinstance(operation, Read) else operation.inputs


def outputs_of(operation: Operation) -> tuple[Field, ...]:
    """The fields an operation lists as made; none for a Write."""
    return () if isinstance(operation, Write) else operation.outputs


def dataset_of(operation: Operation) -> Dataset | None:
    """What a Read reads or a Write writes; None for a Transform."""
    match operation:
        case Read():
            return operation.source
        case Write():
            return operation.destination
        case Transform():
            return None
