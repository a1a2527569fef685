"""State of flattening a pipeline: the operations so far, and the fields between its stages."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from fll_hbase.model.datasets import Field
from fll_hbase.model.lineage import limit_unknown
from fll_hbase.model.operations import InputField, Operation, Read, Transform, Write
from fll_hbase.model.unique_names import UniqueNames
from fll_hbase.runtime.errors import ErrorList, FieldError, TooLarge
from fll_hbase.sources.cdap.pipeline_config import Role, Stage, StageOrder
from fll_hbase.sources.cdap.stage_operations import Kind

Origins: TypeAlias = tuple[InputField, ...]
"""Origins of a field: several if stages meet, none if unknown."""

IMPLIED_INPUTS_MAX = 50_000
"""Limit of inputs that no operation names; the number of fields in the config is added to it."""

COPIED_FIELDS_MAX = 5_000_000
"""Limit of fields copied, in all stages together, because several stages use them."""

MERGES_MAX = 10_000
"""No operation merges fields once a run has this many operations; later fields have all origins directly,
which is equivalent."""

_STAGE_CHARS_MAX = 512
"""Characters of the stage names in the name of a merging operation."""


@dataclass(slots=True)
class FieldFlow:
    """Fields that leave a stage.

    `present` are the fields known to leave the stage, which are all fields if `is_complete`. `origins` also
    has dropped and possibly dropped fields, since a later operation may still name them. `reads` are the
    names of the READs upstream of the stage, and `open_reads` of READs with unknown fields. `records` are the
    paths inside each record. `has_unknown` is set if a stage made fields with unknown origins.
    """

    origins: dict[str, Origins] = field(default_factory=dict)
    present: dict[str, None] = field(default_factory=dict)
    is_complete: bool = True
    reads: tuple[str, ...] = ()
    open_reads: tuple[str, ...] = ()
    records: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    has_unknown: bool = False

    def __len__(self) -> int:
        """Return the cost of a copy: the number of origins, present fields and READs."""
        return len(self.origins) + len(self.present) + len(self.reads)

    def copy(self) -> FieldFlow:
        """Return a copy that can be changed independently."""
        # Copies may share the other members, which are replaced and never changed in place.
        return replace(self, origins=dict(self.origins), present=dict(self.present))

    def add_field(self, name: str, origins: Origins) -> None:
        """Add a present field with its origins, replacing an earlier field of the same name."""
        self.origins[name] = origins
        self.present[name] = None

    def origins_of(self, names: Iterable[str]) -> Origins:
        """Return the known origins of fields, in the order of `names`, with duplicates."""
        return tuple(origin for name in names for origin in self.origins.get(name, ()))


def merge_flows(flows: Collection[FieldFlow]) -> FieldFlow:
    """Merge the fields of several stages; a name has its origins in all stages where it is present.

    A name that is present in none has the origins of all. The result is complete if all flows are.
    """
    merged = FieldFlow(
        is_complete=all(flow.is_complete for flow in flows),
        reads=tuple(dict.fromkeys(read for flow in flows for read in flow.reads)),
        open_reads=tuple(dict.fromkeys(read for flow in flows for read in flow.open_reads)),
        records={name: paths for flow in flows for name, paths in flow.records.items()},
        has_unknown=any(flow.has_unknown for flow in flows),
    )
    for flow in flows:
        merged.present |= flow.present
    # A field that is dropped by one stage and present in another belongs to the other stage.
    dropped = (
        {name: flow.origins[name] for name in flow.origins.keys() - merged.present.keys()} for flow in flows
    )
    present = ({name: flow.origins[name] for name in flow.present} for flow in flows)
    merged.origins = _merge_origins(dropped) | _merge_origins(present)
    return merged


def _merge_origins(flows: Iterable[Mapping[str, Origins]]) -> dict[str, Origins]:
    """Return the origins of each field in several flows, their union in order where they differ."""
    first: dict[str, Origins] = {}
    several: dict[str, dict[InputField, None]] = {}
    for origins_by_name in flows:
        for name, origins in origins_by_name.items():
            if first.setdefault(name, origins) != origins:
                several.setdefault(name, dict.fromkeys(first[name])).update(dict.fromkeys(origins))
    return first | {name: tuple(origins) for name, origins in several.items()}


class FlattenState:
    """Operations so far, and the fields on their way to later stages.

    The state limits what a config may expand to, since a short config can imply very many inputs and copies.
    """

    def __init__(self, order: StageOrder) -> None:
        """Start without operations. The limit of implied inputs grows with the fields that stages declare."""
        # Stages with the same schema text share one schema object, which counts once.
        schemas = {id(stage.schema): stage.schema for stage in order.stages if stage.schema}
        fields = sum(len(schema.types) for schema in schemas.values())
        fields += sum(len(operation.outputs) for stage in order.stages for operation in stage.operations)
        self.order = order
        self.warnings = ErrorList()
        self._inputs_left = IMPLIED_INPUTS_MAX + fields
        self._copies_left = COPIED_FIELDS_MAX
        self._operations: list[Operation] = []
        self._reads_behind: dict[str, tuple[str, ...]] = {}
        self._open_writes: set[str] = set()
        self._names = UniqueNames()
        self._requested: dict[str, dict[str, None]] = {}
        self._flows: dict[str, FieldFlow] = {}
        self._consumers = {name: len(following) for name, following in order.following.items()}
        self._merged: dict[tuple[str, ...], FieldFlow] = {}

    def count_inputs(self, count: int) -> None:
        """Count implied inputs; raises TooLarge beyond the limit."""
        self._inputs_left -= count
        if self._inputs_left < 0:
            raise TooLarge(
                "sinks and stages without operations have too many inputs that no operation or schema names: "
                f"more than {IMPLIED_INPUTS_MAX}; give them operations, or record the pipeline in parts"
            )

    def _count_copies(self, count: int) -> None:
        """Count copied fields; raises TooLarge beyond the limit."""
        self._copies_left -= count
        if self._copies_left < 0:
            raise TooLarge(
                f"the stages hand on more than {COPIED_FIELDS_MAX} fields; give stages a schema, or record "
                "the pipeline in parts"
            )

    def unique_name(self, stage: str, name: str) -> str:
        """Reserve and return `stage.name`, or `stage.name#2` and so on if that name is reserved already."""
        return self._names.assign(f"{stage}.{name}")

    def add_operation(self, operation: Operation) -> str:
        """Append an operation named by `unique_name`, and return its name."""
        self._operations.append(operation)
        return operation.name

    def add_write(self, write: Write, flow: FieldFlow) -> None:
        """Append a WRITE; note the READs behind the flow that it writes, and whether origins are unknown."""
        self._reads_behind[self.add_operation(write)] = flow.reads
        if flow.has_unknown:
            self._open_writes.add(write.name)

    def mark_schema_unknown(self, read: str) -> None:
        """Mark a READ, by its name, whose fields are unknown. Fields requested from it become its outputs."""
        self._requested[read] = {}

    def request_field(self, reads: tuple[str, ...], name: str) -> Origins:
        """Add an output to READs marked by `mark_schema_unknown`; return one for each. Raises TooLarge."""
        self.count_inputs(len(reads))
        for read in reads:
            self._requested[read][name] = None
        return tuple(InputField(read, name) for read in reads)

    def warn(self, path: str, detail: str) -> None:
        """Add a warning at a JSON path of the config."""
        self.warnings.append(FieldError(path, detail))

    def preceding_flows(self, stage: Stage) -> dict[str, FieldFlow]:
        """Return the fields that lead to a stage, by preceding stage. Callers must not change them."""
        return {name: self._flows[name] for name in self.order.preceding[stage.name]}

    def fields_entering(self, stage: Stage, flows: dict[str, FieldFlow], *, merge: bool) -> FieldFlow:
        """Return the fields that enter a stage, the preceding `flows` as one, or none for a first stage.

        The flow of a single stage is a copy, unless no other stage needs it or this one only writes. With
        `merge`, fields from several stages get merging operations (see MERGES_MAX). Raises TooLarge.
        """
        if len(flows) > 1:
            self._count_copies(sum(map(len, flows.values())))
            return self._merged_flow(flows) if merge else merge_flows(flows.values())
        for name, flow in flows.items():
            # The last stage that gets the fields may change them in place.
            if self._consumers[name] == 1 or self._only_writes(stage):
                return flow
            self._count_copies(len(flow))
            return flow.copy()
        return FieldFlow()

    def finish_stage(self, stage: Stage, flow: FieldFlow) -> None:
        """Keep the fields of a stage if others follow; release flows whose last consumer it was."""
        if self.order.following[stage.name]:
            self._flows[stage.name] = flow
        for name in self.order.preceding[stage.name]:
            self._consumers[name] -= 1
            if not self._consumers[name]:
                # Releasing flows after their last consumer bounds memory.
                del self._flows[name]

    def operations(self) -> list[Operation]:
        """Return all operations, after the last stage, in the order added, with requested fields in READs.

        WRITEs state their unknown origins where `limit_unknown` requires it.
        """
        operations = [
            # The named fields of an open READ are known only after the last stage.
            replace(operation, outputs=(*operation.outputs, *map(Field, self._requested[operation.name])))
            if isinstance(operation, Read) and operation.name in self._requested
            else operation
            for operation in self._operations
        ]
        return limit_unknown(operations, self._reads_behind, open_writes=self._open_writes)

    def _only_writes(self, stage: Stage) -> bool:
        """Return whether a stage is a last sink with no operations but WRITEs, so that it needs no copy."""
        is_end = stage.role is Role.SINK and not self.order.following[stage.name]
        return is_end and all(operation.kind is Kind.WRITE for operation in stage.operations)

    def _merged_flow(self, flows: dict[str, FieldFlow]) -> FieldFlow:
        """Return a copy of the merged fields; stages with the same predecessors share the operations."""
        names = tuple(flows)
        if names not in self._merged:
            self._merged[names] = self._add_merges(names, merge_flows(flows.values()))
        return self._merged[names].copy()

    def _add_merges(self, names: tuple[str, ...], flow: FieldFlow) -> FieldFlow:
        """Merge fields of several origins in `flow`, until the run has MERGES_MAX operations; return it."""
        stages = ",".join(names)
        short = stages if len(stages) <= _STAGE_CHARS_MAX else f"{stages[:_STAGE_CHARS_MAX]}…"
        ambiguous = [name for name in flow.present if len(flow.origins.get(name, ())) > 1]
        for name in ambiguous[: max(0, MERGES_MAX - len(self._operations))]:
            origins = flow.origins[name]
            self.count_inputs(len(origins))
            unique = self.unique_name(short, f"merge.{name}")
            self.add_operation(Transform(unique, f"Merged stages: {short}", origins, (Field(name),)))
            flow.add_field(name, (InputField(unique, name),))
        return flow
