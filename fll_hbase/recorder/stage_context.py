"""What does a plugin say of the stage it runs as: the StageContext of the first design (seed 000).

Plugins see records, not end points: the runner of the pipeline knows which stage leads to which, and records
the contexts of all with the pipeline's config.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fll_hbase.errors import FieldError, UnreadableDocument
from fll_hbase.json_types import Json
from fll_hbase.model.operations import Field
from fll_hbase.recorder.payloads import described_field, described_operation
from fll_hbase.recorder.types import FieldOperation, Source, many


@dataclass(frozen=True, slots=True)
class FieldMutation:
    """What one stage does to fields, in a word: `rename`, `delete`, `create`, or any that tells it.

    A renamed or deleted field is there no more; a `delete` has no output.
    """

    mutation: str
    inputs: Sequence[Field | str] = ()
    outputs: Sequence[Field | str] = ()
    description: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "inputs", many(self.inputs))
        object.__setattr__(self, "outputs", many(self.outputs))


class StageContext:
    """One stage of a pipeline while its run is prepared; what is recorded adds up, in order."""

    def __init__(self, stage: str) -> None:
        self.stage = stage
        self._operations: list[FieldOperation] = []
        self._mutations: list[FieldMutation] = []

    def record_field_mutations(self, mutations: Iterable[FieldMutation]) -> None:
        """Say what the stage does to fields; those it does not name pass unchanged."""
        self._mutations += mutations

    def record_operations(self, operations: Iterable[FieldOperation]) -> None:
        """Say it as operations: inputs are names of fields, or `stage.field` where several stages lead here.

        One whose only input is a Source reads it, in the place of what the config says the stage reads.
        """
        self._operations += operations

    def described(self) -> Json:
        """What was recorded, as members of a stage of a config."""
        said = {
            "operations": [_operation(operation) for operation in self._operations],
            "fieldMutations": [_mutation(mutation) for mutation in self._mutations],
        }
        return {member: items for member, items in said.items() if items}


def with_contexts(config: Mapping[str, Any], contexts: Iterable[StageContext]) -> Json:
    """A config that also says what the contexts do; they come after what its stages declare themselves.

    Raises UnreadableDocument for a context of no stage.
    """
    stages = [dict(stage) if isinstance(stage, Mapping) else stage for stage in config.get("stages", ())]
    by_name = {stage["name"]: stage for stage in stages if isinstance(stage, dict) and "name" in stage}
    unknown = []
    for context in contexts:
        if context.stage not in by_name:
            unknown.append(FieldError(f"contexts.{context.stage}", "no stage of the config has that name"))
            continue
        stage = by_name[context.stage]
        for member, items in context.described().items():
            stage[member] = [*stage.get(member, ()), *items]
    if unknown:
        raise UnreadableDocument(unknown)
    return {**config, "stages": stages}


def _operation(operation: FieldOperation) -> Json:
    said = described_operation(operation)
    match operation.inputs:
        case (Source(),):
            (only,) = said.pop("inputs")
            return {**said, "type": "READ", "source": only["source"]}
    return {**said, "inputs": [taken.get("field", taken) for taken in said["inputs"]]}


def _mutation(mutation: FieldMutation) -> Json:
    return {
        "mutation": mutation.mutation,
        "description": mutation.description,
        "inputFields": [described_field(field) for field in mutation.inputs],
        "outputFields": [described_field(field) for field in mutation.outputs],
    }
