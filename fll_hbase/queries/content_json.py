"""Contents as JSON of the REST contract: their datasets and their operations."""

from __future__ import annotations

from collections.abc import Sequence

from fll_hbase.model.datasets import Dataset
from fll_hbase.model.operations import Operation, Read, Write
from fll_hbase.model.window import Direction
from fll_hbase.queries import name_json
from fll_hbase.runtime.json_types import Json


def content(checksum: str, operations: Sequence[Operation]) -> Json:
    """Return a content: its checksum, its datasets and its operations, sorted by name."""
    return {"checksum": checksum, **content_members(operations)}


def content_members(operations: Sequence[Operation]) -> Json:
    """Return the datasets that operations read and write, sorted, and the operations as they are recorded."""
    read = {operation.source for operation in operations if isinstance(operation, Read)}
    written = {operation.destination for operation in operations if isinstance(operation, Write)}
    return {
        "endpoints": [_endpoint(dataset, read, written) for dataset in sorted(read | written)],
        "operations": list(name_json.operations(operations)),
    }


def _endpoint(dataset: Dataset, read: set[Dataset], written: set[Dataset]) -> Json:
    # As in lists of runs: backward is what a run wrote, forward what it read.
    direction = Direction.FORWARD.value if dataset in read else Direction.BACKWARD.value
    both = dataset in read and dataset in written
    return {**name_json.dataset(dataset), "direction": "both" if both else direction}
