"""Rights to record runs of programs, and to describe the datasets of runs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import msgspec

from fll_hbase.model import checksum as checksums
from fll_hbase.model import event_operations, run_events
from fll_hbase.model.access import Principal, Role
from fll_hbase.model.datasets import DatasetMetadata
from fll_hbase.model.lineage import FieldLineageInfo
from fll_hbase.model.operations import Operation, Read, Write
from fll_hbase.model.run_events import DatasetMention, EventLineage, IncomingEvent
from fll_hbase.model.runs import ProgramRun, RecordedRun
from fll_hbase.runtime.errors import Forbidden, LineageError, RunIdConflict
from fll_hbase.store.write.batching import RunInput, run_key_of

_NAMED_MAX = 20
"""Maximum number of namespaces that an error names."""


@dataclass(frozen=True, slots=True)
class RecordingRights:
    """Checks what a principal records, before anything is stored."""

    principal: Principal

    def may_record(self, namespace: str) -> bool:
        """Return whether the principal may record in a namespace."""
        return self.principal.may(Role.RECORDER, namespace)

    def may_tag(self, namespace: str) -> bool:
        """Return whether the principal may put and remove tags of fields in a namespace."""
        return self.principal.may(Role.STEWARD, namespace)

    def check_metadata(self, metadata: Iterable[DatasetMetadata]) -> list[DatasetMetadata]:
        """Return metadata, leaving out datasets that the principal may not describe and tags it may not put.

        Aliases in namespaces in which the principal may not record are left out, too.
        Runs also describe others' datasets, as sources: their lineage is recorded without descriptions.
        """
        return [
            replace(
                item,
                aliases=tuple(alias for alias in item.aliases if self.may_record(alias.namespace)),
                tags=item.tags if self.may_tag(item.dataset.namespace) else (),
            )
            for item in metadata
            if self.may_record(item.dataset.namespace)
        ]

    def checked(self, run: RunInput, owner: ProgramRun | None) -> RunInput | LineageError:
        """Return a run as it may be recorded, without descriptions and types of others' sources, or an error.

        That is Forbidden unless the principal may record in the namespaces of its program and of all datasets
        that it writes, else RunIdConflict, without naming the owner, unless it may record in that of `owner`,
        the stored run with that id, or None. Without an owner, the result replaces no other's run.
        """
        if (error := self._missing_right(run)) is not None:
            return error
        if owner is not None and not self.may_record(owner.namespace):
            return run_id_in_use(run_key_of(run).run)
        if isinstance(run, IncomingEvent):
            return self._permitted_event(run)
        # Replace only a run that was found here. If a run is stored meanwhile, the commit checks the owner.
        return replace(
            run,
            info=self._permitted_info(run.info),
            replaces_others=run.replaces_others and owner is not None,
        )

    def _missing_right(self, run: RunInput) -> Forbidden | None:
        """Return the error that names the namespaces in which the principal may not record, else None."""
        if isinstance(run, RecordedRun):
            needed = {run.run.namespace, *(dataset.namespace for dataset in run.info.destinations)}
        else:
            needed = _namespaces_of_event(run)
        refused = sorted(namespace for namespace in needed if not self.may_record(namespace))
        if not refused:
            return None
        names = ", ".join(map(repr, refused[:_NAMED_MAX]))
        others = "" if len(refused) <= _NAMED_MAX else f" and {len(refused) - _NAMED_MAX} more"
        return Forbidden(
            f"recording this needs the role `recorder` on {names}{others}: the namespaces of the program and"
            " of all datasets that it writes; nothing was stored"
        )

    def _permitted_info(self, info: FieldLineageInfo) -> FieldLineageInfo:
        """Return the lineage with others' sources unconfirmed, and without their types and descriptions."""
        if all(self.may_record(source.namespace) for source in info.sources):
            return info
        checked = tuple(map(self._permitted_operation, info.operations))
        # The field map has neither types nor descriptions.
        return replace(info, operations=checked, checksum=checksums.checksum(checked))

    def _permitted_operation(self, operation: Operation) -> Operation:
        """Return an operation; a READ of others' source is unconfirmed, without types and description."""
        if not isinstance(operation, Read) or self.may_record(operation.source.namespace):
            return operation
        outputs = tuple(replace(output, type="") for output in operation.outputs)
        return replace(operation, source_description="", outputs=outputs, is_unconfirmed=True)

    def _permitted_event(self, event: IncomingEvent) -> IncomingEvent:
        """Return an event with others' sources unconfirmed, without types, descriptions and aliases."""
        lineage = run_events.decode_lineage(event.bodies[event.event.lineage_digest])
        mentions = tuple(self._permitted_mention(mention, lineage) for mention in lineage.mentions)
        operations = self._permitted_text(lineage.operations)
        unconfirmed = tuple(name for name in lineage.datasets if not self.may_record(name[0]))
        if mentions == lineage.mentions and operations == lineage.operations and not unconfirmed:
            return event
        lineage = msgspec.structs.replace(
            lineage, mentions=mentions, operations=operations, unconfirmed=unconfirmed
        )
        facts = run_events.decode_run_facts(event.bodies[event.event.facts_digest])
        return run_events.make_event(event.run, event.event.time_ms, event.event.type, lineage, facts)

    def _permitted_mention(self, mention: DatasetMention, lineage: EventLineage) -> DatasetMention:
        """Return a mention without others' aliases; others' dataset keeps only the names of its fields."""
        aliases = tuple(alias for alias in mention.aliases if self.may_record(alias[0]))
        if self.may_record(lineage.datasets[mention.dataset_index][0]):
            return msgspec.structs.replace(mention, aliases=aliases)
        fields = mention.fields and tuple((name, "") for name, _ in mention.fields)
        return msgspec.structs.replace(mention, aliases=(), fields=fields, description="")

    def _permitted_text(self, operations: str) -> str:
        """Return the operations that an event carries, as they may be recorded, in canonical form."""
        if not operations:
            return operations
        carried = event_operations.carried_operations(operations)
        return "\n".join(checksums.canonical(self._permitted_operation(operation)) for operation in carried)


def run_id_in_use(run: str) -> RunIdConflict:
    """Return the error for a run id that is in use, without revealing its owner."""
    return RunIdConflict(f"run id {run!r} is already in use; nothing was stored. Give the run another id")


def _namespaces_of_event(event: IncomingEvent) -> set[str]:
    """Return the namespaces of the program of an event and of the datasets that it writes."""
    lineage = run_events.decode_lineage(event.bodies[event.event.lineage_digest])
    facts = run_events.decode_run_facts(event.bodies[event.event.facts_digest])
    written = {lineage.datasets[item.dataset_index][0] for item in lineage.mentions if item.written}
    if lineage.operations:
        carried = event_operations.carried_operations(lineage.operations)
        written |= {item.destination.namespace for item in carried if isinstance(item, Write)}
    return {lineage.namespace, *written, *([facts.program[0]] if facts.program else [])}
