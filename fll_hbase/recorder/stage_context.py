"""Operations and field mutations that a plugin records about its stage of a pipeline.

Plugins see records, not datasets. The runner of the pipeline knows how stages are connected, and
records the contexts of all stages with the pipeline's config.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fll_hbase.model.datasets import Field
from fll_hbase.recorder.payloads import field_operation_to_dict, field_to_dict, order_operations
from fll_hbase.recorder.types import FieldOperation, Source, as_tuple
from fll_hbase.runtime.errors import FieldError, UnreadableDocument
from fll_hbase.runtime.json_types import Json


@dataclass(frozen=True, slots=True)
class FieldMutation:
    """A change of fields by a stage; `mutation` is `rename`, `delete`, `create` or any other word.

    A renamed or deleted field does not leave the stage. A `delete` has no output.

    >>> FieldMutation("rename", inputs="uid", outputs="user_id").outputs
    ('user_id',)
    """

    mutation: str
    inputs: Sequence[Field | str] = ()
    outputs: Sequence[Field | str] = ()
    description: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "inputs", as_tuple(self.inputs))
        object.__setattr__(self, "outputs", as_tuple(self.outputs))


class StageContext:
    """One stage of a pipeline while its run is prepared; operations and mutations are appended in order.

    Pass the contexts of all stages to `LineageRecorder.record_pipeline`.

    >>> context = StageContext("parse")
    >>> context.record_operations([FieldOperation("split", inputs="body", outputs=["name", "address"])])
    >>> context.record_field_mutations([FieldMutation("delete", inputs="body")])
    >>> sorted(context.to_dict())
    ['fieldMutations', 'operations']
    """

    def __init__(self, stage: str) -> None:
        self.stage = stage
        self._operations: list[Iterable[FieldOperation]] = []
        self._mutations: list[FieldMutation] = []

    def record_field_mutations(self, mutations: Iterable[FieldMutation]) -> None:
        """Add mutations; fields that no mutation or operation names pass unchanged."""
        self._mutations += as_tuple(mutations)

    def record_operations(self, operations: Iterable[FieldOperation]) -> None:
        """Add operations; an input is a field, or `stage.field` if several stages lead to this one.

        An operation whose only input is a Source overrides the dataset that the config gives the stage.
        """
        # A set is ordered with the document, where errors are reported as usual. Here it would raise.
        is_set = isinstance(operations, set | frozenset)
        self._operations.append(frozenset(operations) if is_set else tuple(operations))

    def to_dict(self) -> Json:
        """Return operations and mutations as members of a stage in a pipeline config, without empty lists.

        Raises UnreadableDocument for a set of operations without an order.
        """
        members = {
            "operations": [
                _stage_operation(operation)
                for group in self._operations
                for operation in order_operations(group)
            ],
            "fieldMutations": [_mutation_to_dict(mutation) for mutation in self._mutations],
        }
        return {member: items for member, items in members.items() if items}


def merge_stage_contexts(config: Mapping[str, Any], contexts: Iterable[StageContext]) -> Json:
    """Return a copy of a config with the contexts appended to what its stages declare themselves.

    Raises UnreadableDocument for contexts of unknown stages, and for a set of operations without an order.
    """
    # Copies, since the caller may use the config for other runs. The reader refuses values of other types.
    stages = [dict(stage) if isinstance(stage, Mapping) else stage for stage in config.get("stages", ())]
    by_name = {stage["name"]: stage for stage in stages if isinstance(stage, dict) and "name" in stage}
    unknown = []
    # Sort a set of contexts by stage, since the contexts of one stage are appended in order.
    if isinstance(contexts, set | frozenset):
        contexts = sorted(contexts, key=lambda context: (context.stage, repr(context.to_dict())))
    for context in contexts:
        if context.stage not in by_name:
            unknown.append(FieldError(f"contexts.{context.stage}", "no stage of the config has that name"))
            continue
        stage = by_name[context.stage]
        for member, items in context.to_dict().items():
            # A new list, since the copied stage still shares its lists with the caller's config.
            stage[member] = [*stage.get(member, ()), *items]
    if unknown:
        raise UnreadableDocument(unknown)
    return {**config, "stages": stages}


def _stage_operation(operation: FieldOperation) -> Json:
    """Return an operation of a stage: inputs are bare fields, and a single Source makes it a READ."""
    members = field_operation_to_dict(operation)
    match operation.inputs:
        case (Source(),):
            (only,) = members.pop("inputs")
            return {**members, "type": "READ", "source": only["source"]}
    return {**members, "inputs": [item.get("field", item) for item in members["inputs"]]}


def _mutation_to_dict(mutation: FieldMutation) -> Json:
    """Return a mutation as an item of `fieldMutations` in a pipeline config."""
    return {
        "mutation": mutation.mutation,
        "description": mutation.description,
        "inputFields": [field_to_dict(field) for field in mutation.inputs],
        "outputFields": [field_to_dict(field) for field in mutation.outputs],
    }
