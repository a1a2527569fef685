"""What becomes of the fields that reach one stage: what it reads, makes, drops, writes, and lets pass."""

from __future__ import annotations

from collections.abc import Iterable

from fll_hbase.model.datasets import Field
from fll_hbase.model.operations import InputField, Read, Transform, Write
from fll_hbase.sources.cdap import stage_lint
from fll_hbase.sources.cdap.config import Role, Stage
from fll_hbase.sources.cdap.flatten_state import Run
from fll_hbase.sources.cdap.inputs import Taking
from fll_hbase.sources.cdap.record_schema import Schema
from fll_hbase.sources.cdap.stage_lint import StageLint
from fll_hbase.sources.cdap.stage_operations import Kind, StageOperation

_SHOWN = 10


class Passage:
    """One stage while fields pass it."""

    def __init__(self, run: Run, stage: Stage) -> None:
        self._run = run
        self._stage = stage
        self._taking = Taking(run, stage)
        self._findings = StageLint()
        self._touched: set[str] = set()
        self.flow = self._taking.flow
        """The fields that are there; after the passage, those that leave."""

    def pass_through(self) -> None:
        """Do all that the stage does, as far as it is known."""
        stage, kinds = self._stage, {one.kind for one in self._stage.declared}
        if stage.role is Role.SOURCE and Kind.READ not in kinds:
            self._read()
        self._check()
        for one in stage.declared:
            self._apply(one)
        if not stage.declared and stage.role in (Role.OTHER, Role.JOINER) and not self._taking.first:
            self._undeclared()
        if stage.role is Role.SINK and Kind.WRITE not in kinds:
            self._write()
        if stage.role is not Role.SINK and stage.schema is not None:
            self._keep_to(stage.schema)

    def _apply(self, one: StageOperation) -> None:
        end_point = one.dataset or self._stage.end_point
        told = one.dataset_description if one.dataset else self._stage.end_point_description
        match one.kind:
            case Kind.READ:
                outputs = self._typed(one.outputs)
                self._add_read(Read(self._named(one.name), one.description, end_point, told, outputs))
            case Kind.TRANSFORM:
                self._transform(one)
            case Kind.WRITE:
                inputs = self._inputs(one)
                self._run.add(Write(self._named(one.name), one.description, end_point, told, inputs))

    def _named(self, name: str) -> str:
        return self._run.named(self._stage.name, name)

    def _add_read(self, read: Read) -> None:
        name = self._run.add(read)
        self.flow.roots = (*self.flow.roots, name)
        if not read.outputs:
            self._run.open(name)
            self.flow.open = (*self.flow.open, name)
            self.flow.whole = False
            self._warn("the fields of what it reads are not known; recorded are those that stages name")
        self._make(name, read.outputs)

    def _read(self) -> None:
        """What a source reads that does not say it: the fields of its schema."""
        stage = self._stage
        fields = _fields(stage.schema) if stage.schema else ()
        self._add_read(Read(self._named("read"), "", stage.end_point, stage.end_point_description, fields))
        if stage.schema:
            self.flow.records = stage.schema.records

    def _transform(self, one: StageOperation) -> None:
        inputs, outputs = self._inputs(one), self._typed(one.outputs)
        for taken in one.dropped:
            for name in (taken, *self.flow.records.get(taken, ())):
                self.flow.alive.pop(name, None)
        if one.inputs and not inputs:
            self._make("", outputs)
        else:
            transform = Transform(self._named(one.name), one.description, inputs, outputs)
            self._make(self._run.add(transform), outputs)

    def _make(self, operation: str, outputs: Iterable[Field]) -> None:
        """Fields are there from now on, made by an operation; of unknown origin where there is none."""
        for field in outputs:
            self.flow.make(field.name, (InputField(operation, field.name),) if operation else ())
            self._touched.add(field.name)

    def _typed(self, outputs: tuple[Field, ...]) -> tuple[Field, ...]:
        """Outputs with types where the schema knows them; a record as the fields inside it."""
        types = self._stage.schema.types if self._stage.schema else {}
        records = self._stage.schema.records if self._stage.schema else self.flow.records
        return tuple(
            Field(name, field.type if field.type and name == field.name else types.get(name, ""))
            for field in outputs
            for name in records.get(field.name, (field.name,))
        )

    def _inputs(self, one: StageOperation) -> tuple[InputField, ...]:
        """The fields that an operation takes, each with its origin; those without are told and left out."""
        found: list[InputField] = []
        for taken in one.inputs:
            origins = self._taking.origins(taken.name)
            self._touched.update((taken.name, *self.flow.records.get(taken.name, ())))
            if not origins:
                self._run.warn(one.path, f"no stage before is known to make {taken.name!r}; left out")
            elif one.name in self._findings.unknown_inputs.get(taken.name, ()):
                said = (
                    f"{taken.name!r} is neither among the fields that reach the stage nor made by it before"
                )
                self._run.warn(one.path, f"{said}; taken from {_list(origin.origin for origin in origins)}")
            found += (InputField(made.origin, made.name, taken.influence, taken.kind) for made in origins)
        return tuple(found)

    def _undeclared(self) -> None:
        """What a stage does that says nothing but perhaps its schema."""
        flow, schema = self.flow, self._stage.schema
        if schema is None:
            flow.alive, flow.whole = {}, False
            self._warn(
                "declares no operations, and its schema is not known: fields that later stages name "
                "are taken to pass, and which others do is not known"
            )
        elif not flow.whole:
            self._warn("declares no operations: fields of its schema are taken to pass unchanged")
        elif flow.alive.keys() == schema.types.keys():
            self._warn("declares no operations, and its schema is what reaches it: taken to pass unchanged")
        elif inputs := flow.everything():
            self._warn("declares no operations: each field of its schema is taken to be made of all it gets")
            self._run.budget.take(len(inputs))
            self._touched.update(flow.alive)
            transform = Transform(self._named("Transform"), "", inputs, _fields(schema))
            self._make(self._run.add(transform), transform.outputs)

    def _write(self) -> None:
        """What a sink writes that does not say it: the fields of its schema, else all that reach it."""
        stage, flow = self._stage, self.flow
        names = stage.schema.types if stage.schema else flow.alive
        origins = {name: self._taking.expected(name) for name in names}
        inputs = tuple(taken for found in origins.values() for taken in found)
        self._run.budget.take(len(inputs))
        if missing := [name for name, found in origins.items() if not found]:
            self._warn(f"of what it writes, {_list(missing)} comes from no operation that is known; left out")
        if not stage.schema and not flow.whole:
            self._warn("which fields it writes beside those recorded is not known")
        write = Write(self._named("write"), "", stage.end_point, stage.end_point_description, inputs)
        self._run.add(write)

    def _keep_to(self, schema: Schema) -> None:
        """Let out the fields of the schema alone: others end here, and some may appear from nowhere."""
        flow = self.flow
        dropped = [name for name in flow.alive if name not in schema.types and name not in self._touched]
        if inputs := tuple(taken for name in dropped for taken in flow.origins.get(name, ())):
            self._run.budget.take(len(inputs))
            self._run.add(Transform(self._named("drop"), "Not in the schema of the stage", inputs, ()))
        found = {name: self._taking.expected(name) for name in schema.types}
        unknown = [name for name, origins in found.items() if not origins and name not in flow.alive]
        if unknown and self._taking.first and len(flow.roots) == 1:
            self._warn(
                f"its schema has {_list(unknown)}, which its READ does not list; treated as though it did"
            )
            found |= {name: (InputField(flow.roots[0], name),) for name in unknown}
        elif unknown:
            self._warn(f"its schema has {_list(unknown)}, which no stage is known to make")
        flow.origins |= found
        flow.alive, flow.whole, flow.records = dict.fromkeys(schema.types), True, schema.records

    def _check(self) -> None:
        self._findings = stage_lint.lint(self._stage.declared, is_available=self._taking.given)
        for name, makers in self._findings.redundant_outputs.items():
            self._warn(f"{name!r} is made by {_list(makers)}, and made again before any operation takes it")

    def _warn(self, detail: str) -> None:
        self._run.warn(self._stage.at, detail)


def _fields(schema: Schema) -> tuple[Field, ...]:
    return tuple(Field(name, said) for name, said in schema.types.items())


def _list(names: Iterable[str]) -> str:
    unique = [repr(name) for name in dict.fromkeys(names)]
    more = len(unique) - _SHOWN
    return ", ".join(unique[:_SHOWN]) + (f" and {more} more" if more > 0 else "")
