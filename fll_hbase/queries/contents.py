"""Contents: the datasets and operations that all runs with one checksum share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import msgspec

from fll_hbase.model.datasets import Dataset
from fll_hbase.model.operations import Operation, Read, Write
from fll_hbase.queries import name_json
from fll_hbase.queries.parameters import AnyDirection
from fll_hbase.queries.query import Answer, Body, Query, Required
from fll_hbase.runtime import typed_json

if TYPE_CHECKING:
    from fll_hbase.store.lineage_store import LineageStore


class RecordedDataset(Body, frozen=True, kw_only=True):
    """A dataset, with its description in the operation."""

    namespace: str
    name: str
    description: str


class RecordedInput(Body, frozen=True, kw_only=True):
    """A field that an operation takes; `origin` is the operation that made it."""

    hidden: int = 0
    origin: Annotated[str | None, Required] = None
    name: str
    influence: Literal["direct", "indirect"]
    kind: Annotated[
        Literal["conditional", "filter", "group_by", "join", "sort", "window"] | None,
        msgspec.Meta(description="Of an indirect influence"),
    ] = None


class RecordedOutput(Body, frozen=True, kw_only=True):
    """A field that an operation makes."""

    name: str
    type: str = ""


class RecordedOperation(Body, frozen=True, kw_only=True):
    """An operation: a READ has `source` and `outputs`, a WRITE `destination` and `inputs`."""

    type: Literal["READ", "TRANSFORM", "WRITE"]
    name: str
    description: str
    source: RecordedDataset | None = None
    destination: RecordedDataset | None = None
    inputs: tuple[RecordedInput, ...] | None = None
    outputs: tuple[RecordedOutput, ...] | None = None
    unknown_origins: Annotated[
        tuple[str, ...] | None,
        msgspec.Meta(description="For a WRITE: READs whose relation to it is unknown"),
    ] = None


class DatasetOfContent(Body, frozen=True, kw_only=True):
    """A dataset that a content writes (backward), reads (forward), or both."""

    schema_name: ClassVar[str] = "EndPointOfContent"

    hidden: int = 0
    namespace: Annotated[str | None, Required] = None
    name: Annotated[str | None, Required] = None
    direction: Literal["backward", "forward", "both"]


class ContentAnswer(Body, frozen=True, kw_only=True):
    """The operations that all runs with one checksum performed, as they are recorded, by name."""

    checksum: str
    datasets: tuple[DatasetOfContent, ...] = msgspec.field(name="endpoints")
    operations: tuple[RecordedOperation, ...]


@dataclass(frozen=True)
class Content(Query[ContentAnswer]):
    """Return the operations of one content, which all runs with this checksum performed.

    The checksum comes from a list of runs or from a run. The answer also has the datasets of the operations:
    `direction` is `backward` for a dataset that is written, `forward` for one that is read, or `both`.

    >>> newest = client.runs("bank", "RiskScores", limit=1).body.runs[0]
    >>> body = client.content(newest.checksum).body
    >>> body.operations[0].name, body.datasets[0].name, body.datasets[0].direction
    ('count', 'CustomerAccounts', 'forward')
    """

    path: ClassVar[str] = "/v3/contents/{checksum}"
    result: ClassVar[str] = "A content never changes, so clients may cache it for ever"
    is_immutable: ClassVar[bool] = True

    checksum: str

    def answer(self, store: LineageStore, *, now_ms: int) -> Answer[ContentAnswer]:
        """Return the content. Raises NotFound for a checksum that no run has, and errors of the store."""
        operations = store.content(self.checksum).operations
        return Answer(
            ContentAnswer(
                checksum=self.checksum,
                datasets=datasets_of(operations),
                operations=recorded_operations(operations),
            )
        )


def datasets_of(operations: Sequence[Operation]) -> tuple[DatasetOfContent, ...]:
    """Return the datasets that operations read and write, sorted."""
    read = {operation.source for operation in operations if isinstance(operation, Read)}
    written = {operation.destination for operation in operations if isinstance(operation, Write)}
    return tuple(_dataset(dataset, read, written) for dataset in sorted(read | written))


def recorded_operations(operations: Sequence[Operation]) -> tuple[RecordedOperation, ...]:
    """Return operations as they are recorded, without READs and WRITEs of hidden datasets."""
    return typed_json.convert(tuple(name_json.operations(operations)), tuple[RecordedOperation, ...])


def _dataset(dataset: Dataset, read: set[Dataset], written: set[Dataset]) -> DatasetOfContent:
    """Return a dataset with `forward` if it is in `read`, `backward` if in `written`, `both` if in both."""
    # The words are the same as in lists of runs: a run writes backward datasets and reads forward ones.
    direction: AnyDirection = "forward" if dataset in read else "backward"
    both = dataset in read and dataset in written
    names: dict[str, Any] = name_json.dataset(dataset)
    return DatasetOfContent(**names, direction="both" if both else direction)
