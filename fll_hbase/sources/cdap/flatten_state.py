"""What is known of a run so far: its operations, and the fields on their way to stages yet to come."""

from __future__ import annotations

from dataclasses import replace

from fll_hbase.errors import FieldError
from fll_hbase.model.datasets import Field
from fll_hbase.model.operations import InputField, Operation, Read, Transform
from fll_hbase.sources.cdap.config import Role, Stage
from fll_hbase.sources.cdap.dag import Course
from fll_hbase.sources.cdap.field_flow import TAKEN_MAX, Budget, Flow, Origins, together
from fll_hbase.sources.cdap.stage_operations import Kind

MERGES_MAX = 10_000
"""Operations that merge; beyond, a field is taken from all its origins directly, which means the same."""

_STAGES_MAX = 512
"""Characters of the names of stages that a merging operation is named by."""


class Run:
    """All operations so far, and the fields on their way to stages yet to come."""

    def __init__(self, course: Course) -> None:
        schemas = {id(stage.schema): stage.schema for stage in course.stages if stage.schema}
        said = sum(len(schema.types) for schema in schemas.values())
        said += sum(len(one.outputs) for stage in course.stages for one in stage.declared)
        self.course = course
        self.warnings: list[FieldError] = []
        self.budget = Budget(TAKEN_MAX + said)
        self._operations: list[Operation] = []
        self._numbers: dict[str, int] = {}
        self._asked: dict[str, dict[str, None]] = {}
        self._flows: dict[str, Flow] = {}
        self._waiting = {name: len(after) for name, after in course.after.items()}
        self._merged: dict[tuple[str, ...], Flow] = {}

    def named(self, stage: str, name: str) -> str:
        """`stage.name` for an operation, or with `#2`, `#3`, … where that is taken."""
        full = unique = f"{stage}.{name}"
        while unique in self._numbers:
            self._numbers[full] += 1
            unique = f"{full}#{self._numbers[full]}"
        self._numbers[unique] = 1
        return unique

    def add(self, operation: Operation) -> str:
        """Add an operation under a name of its own, which is returned."""
        self._operations.append(operation)
        return operation.name

    def open(self, read: str) -> None:
        """A READ has fields that are not known; those that are asked of it become its outputs."""
        self._asked[read] = {}

    def ask(self, reads: tuple[str, ...], name: str) -> Origins:
        """A field of READs that were opened."""
        self.budget.take(len(reads))
        for read in reads:
            self._asked[read][name] = None
        return tuple(InputField(read, name) for read in reads)

    def warn(self, at: str, detail: str) -> None:
        self.warnings.append(FieldError(at, detail))

    def before(self, stage: Stage) -> dict[str, Flow]:
        """The fields that lead to a stage, by the stage they come from; not to be changed."""
        return {name: self._flows[name] for name in self.course.before[stage.name]}

    def entering(self, stage: Stage, before: dict[str, Flow], *, merging: bool) -> Flow:
        """The fields that reach a stage, which may change them."""
        if len(before) > 1:
            return self._meeting(before, merging=merging)
        for name, flow in before.items():
            if self._waiting[name] == 1 or self._only_writes(stage):
                return flow
            self.budget.copy(len(flow))
            return flow.copy()
        return Flow()

    def leave(self, stage: Stage, flow: Flow) -> None:
        """A stage is done; what nobody waits for any more is let go."""
        if self.course.after[stage.name]:
            self._flows[stage.name] = flow
        for name in self.course.before[stage.name]:
            self._waiting[name] -= 1
            if not self._waiting[name]:
                del self._flows[name]

    def finished(self) -> list[Operation]:
        """All operations, READs with what was asked of them."""
        return [
            replace(operation, outputs=(*operation.outputs, *map(Field, self._asked[operation.name])))
            if isinstance(operation, Read) and operation.name in self._asked
            else operation
            for operation in self._operations
        ]

    def _only_writes(self, stage: Stage) -> bool:
        """Whether a stage leaves its fields as they are, so that it needs none of its own."""
        ends = stage.role is Role.SINK and not self.course.after[stage.name]
        return ends and all(one.kind is Kind.WRITE for one in stage.declared)

    def _meeting(self, before: dict[str, Flow], *, merging: bool) -> Flow:
        """The fields of several stages; what merges them serves every stage that the same ones reach."""
        self.budget.copy(sum(map(len, before.values())))
        if not merging:
            return together(before.values())
        names = tuple(before)
        if names not in self._merged:
            self._merged[names] = self._merging(names, together(before.values()))
        return self._merged[names].copy()

    def _merging(self, names: tuple[str, ...], flow: Flow) -> Flow:
        """One operation for each field that comes from several; the same from all is the same."""
        stages = ",".join(names)
        short = stages if len(stages) <= _STAGES_MAX else f"{stages[:_STAGES_MAX]}…"
        several = [name for name in flow.alive if len(flow.origins.get(name, ())) > 1]
        for name in several[: max(0, MERGES_MAX - len(self._operations))]:
            origins = flow.origins[name]
            self.budget.take(len(origins))
            own = self.named(short, f"merge.{name}")
            self.add(Transform(own, f"Merged stages: {short}", origins, (Field(name),)))
            flow.make(name, (InputField(own, name),))
        return flow
