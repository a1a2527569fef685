"""Unknown relations of a run whose statements or stages read and write different datasets.

A READ without fields and a WRITE without inputs are related to all of their run, unless WRITEs state their
unknown origins.
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
    """Return operations whose WRITEs state their unknown origins if the defaults are wrong for any WRITE.

    `connected` maps the name of each WRITE to the names of the READs from which anything may reach it.
    `open_writes` are the WRITEs that are also related to all these READs in an unknown way. A WRITE without
    unknown origins states nothing, or () if no WRITE has any. The operations are returned unchanged if the
    default relations are right, as for a single statement.
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
    # At least one WRITE must state its origins, or else all READs and WRITEs are related again.
    is_none_related = not any(origins.values())
    return [
        replace(operation, unknown_origins=tuple(sorted(origins[operation.name])))
        if isinstance(operation, Write) and (is_none_related or origins[operation.name])
        else operation
        for operation in operations
    ]
