"""Unknown relations of a run whose statements or stages read and write different datasets.

A READ without fields and a WRITE without inputs are related to all of their run, unless WRITEs state which.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from fll_hbase.model.operations import Operation, Read, Write, inputs_of


def limit_unknown(
    operations: Sequence[Operation],
    connected: Mapping[str, Collection[str]],
    *,
    open_writes: Collection[str] = (),
) -> list[Operation]:
    """Return operations whose WRITEs state their unknown origins, if they are related to others without that.

    `connected` has, by the name of each WRITE, the names of the READs from which anything may reach it, and
    `open_writes` the WRITEs to which all of these are related in an unknown way, besides what is known. The
    operations are returned as they are if that follows from them, as it does of a single statement.
    """
    used = {item.origin for operation in operations for item in inputs_of(operation)}
    reads = [operation for operation in operations if isinstance(operation, Read)]
    all_names = {read.name for read in reads}
    without_fields = {read.name for read in reads if not read.outputs} - used
    origins: dict[str, set[str]] = {}
    is_stated = False
    for write in operations:
        if isinstance(write, Write):
            implied = without_fields if write.inputs else all_names
            related = all_names if write.name in open_writes else implied
            origins[write.name] = related.intersection(connected[write.name])
            is_stated |= origins[write.name] != implied
    if not is_stated:
        return list(operations)
    # One WRITE at least has to state something, else all are related again.
    is_none_related = not any(origins.values())
    return [
        replace(operation, unknown_origins=tuple(sorted(origins[operation.name])))
        if isinstance(operation, Write) and (is_none_related or origins[operation.name])
        else operation
        for operation in operations
    ]
