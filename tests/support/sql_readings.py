"""Readings of SQL documents in short: direct edges and warnings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from fll_hbase.model.operations import Influence, InputField, Read, Transform, Write
from fll_hbase.sources import sql
from fll_hbase.sources.native.document import Reading

Edges = dict[str, set[str]]


def document(text: Any, **members: Any) -> dict[str, Any]:
    run = {"application": "a", "type": "sql", "program": "p", "run": "r", "startTime": 10**12}
    return {"run": run, "sql": text, **members}


def read(text: str, *, catalogue: dict[str, Sequence[str]] | None = None, **members: Any) -> Reading:
    fields = catalogue or {}
    return sql.read_document(
        document(text, **members), namespace="ns", columns=lambda dataset: fields.get(dataset.name)
    )


def direct(reading: Reading) -> Edges:
    """Direct inputs of each written field, both as `table.field`."""
    return _edges(reading, lambda input_field: not _is_indirect(input_field))


def _is_indirect(input_field: InputField) -> bool:
    return input_field.influence is Influence.INDIRECT


def _reads(reading: Reading) -> dict[str, str]:
    operations = reading.operations.info.operations
    return {operation.name: operation.source.name for operation in operations if isinstance(operation, Read)}


def _edges(reading: Reading, is_wanted: Callable[[InputField], bool]) -> Edges:
    operations = reading.operations.info.operations
    transforms = {operation.name: operation for operation in operations if isinstance(operation, Transform)}
    reads, edges = _reads(reading), {}
    for write in operations:
        for written in write.inputs if isinstance(write, Write) else ():
            if written.origin in transforms:
                inputs = filter(is_wanted, transforms[written.origin].inputs)
                names = {f"{reads[field.origin]}.{field.name} {field.kind}".rstrip() for field in inputs}
                edges.setdefault(f"{write.destination.name}.{written.name}", set()).update(names)
    return edges


def warnings(reading: Reading) -> str:
    return "\n".join(str(warning) for warning in reading.warnings)
