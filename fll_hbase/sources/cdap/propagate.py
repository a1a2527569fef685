"""Propagation of fields through one stage: reads, transforms, drops, writes and fields passed on.

The names of some outputs depend on data. A parser of CSV or JSON makes columns that its directive does not
name. Later directives and the schema of the stage name the columns that matter. The parser makes each such
column that no entering field provides.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

from fll_hbase.model.dataset_spelling import FieldNames
from fll_hbase.model.datasets import Field
from fll_hbase.model.operations import InputField, Read, Transform, Write
from fll_hbase.runtime import deadline
from fll_hbase.sources.cdap.flatten_state import FieldFlow, FlattenState, Origins
from fll_hbase.sources.cdap.pipeline_config import Role, Stage
from fll_hbase.sources.cdap.plugin_datasets import PluginQuery
from fll_hbase.sources.cdap.plugin_operations import NOT_KNOWN, NotImplied
from fll_hbase.sources.cdap.record_schema import Schema
from fll_hbase.sources.cdap.stage_operations import (
    Kind,
    NameChange,
    StageInput,
    StageLint,
    StageOperation,
    lint,
    rename_operation,
)
from fll_hbase.sources.derived_columns import counted, derive, inputs_weight

_NAMES_SHOWN_MAX = 10


class InputResolver:
    """Resolves names of fields that reach one stage: `field`, or `stage.field` if several stages lead to it.

    A stage joins if its operations name preceding stages, whatever its type. Propagating it changes `flow`.
    """

    def __init__(self, state: FlattenState, stage: Stage) -> None:
        self._state = state
        self._flows = state.preceding_flows(stage)
        self._gets_errors = stage.role is Role.ERRORS
        outputs = {field.name for operation in stage.operations for field in operation.outputs}
        inputs = (name for operation in stage.operations for name in operation.input_names)
        self.joins = len(self._flows) > 1 and (
            stage.role is Role.JOINER
            or any(self._names_a_stage(name) for name in inputs if name not in outputs)
        )
        self.flow = state.fields_entering(stage, self._flows, merge=not self.joins)
        if self.joins and stage.operations:
            # A join passes on the outputs of its operations. Other fields that pass are unknown.
            self.flow.present, self.flow.is_complete = {}, False

    @property
    def is_first(self) -> bool:
        """Return whether no stage leads to this stage."""
        return not self._flows

    def is_available(self, name: str) -> bool:
        """Return whether `field` or `stage.field`, even in a record, reaches the stage; True if unknown."""
        flow, field_name = self._locate(name)
        return not flow.is_complete or field_name in flow.present or field_name in flow.records

    def origins(self, name: str) -> Origins:
        """Return the origins of a field that an operation names, or () if it is unknown.

        The field may be dropped, or missing from the schema of a preceding stage. A record has the origins of
        all fields in it. An unknown field becomes an output of the READs with unknown fields. Without these,
        its origin is the only READ upstream. Raises TooLarge.
        """
        flow, field_name = self._locate(name)
        if field_name not in flow.origins and field_name in flow.records:
            paths = flow.records[field_name]
            return tuple(origin for path in paths for origin in self._known_origins(flow, path))
        origins = self._known_origins(flow, field_name)
        if not origins and field_name not in flow.origins and len(flow.reads) == 1:
            return (InputField(flow.reads[0], field_name),)
        return origins

    def schema_origins(self, name: str) -> Origins:
        """Return the origins of a field of the stage's schema, or () if it does not reach it or has none."""
        # Only error records bring a dropped field back. Naming the field in a schema does not.
        if name in self.flow.present or not self.flow.is_complete or self._gets_errors:
            return self._known_origins(self.flow, name)
        return ()

    def _known_origins(self, flow: FieldFlow, name: str) -> Origins:
        if name in flow.origins:
            return flow.origins[name]
        return self._state.request_field(flow.open_reads, name)

    def _locate(self, name: str) -> tuple[FieldFlow, str]:
        """Return the flow in which to look up a name, and the field's name there.

        In a join, a name that begins with a preceding stage belongs to it, whatever outputs have the name.
        """
        qualified = self._split_stage(name)
        if qualified is None or (name in self.flow.present and not self.joins):
            return self.flow, name
        if len(self._flows) > 1:
            return qualified
        return self.flow, name if name in self.flow.origins else qualified[1]

    def _split_stage(self, name: str) -> tuple[FieldFlow, str] | None:
        """Split `stage.field` into flow and field: longest stage with that field, else shortest, or None."""
        match = None
        dot = name.find(".")
        while dot != -1:
            flow, rest = self._flows.get(name[:dot]), name[dot + 1 :]
            # A longer stage name wins only if the rest names one of its fields.
            if flow is not None and rest and (match is None or rest in flow.origins):
                match = flow, rest
            dot = name.find(".", dot + 1)
        return match

    def _names_a_stage(self, name: str) -> bool:
        """Return whether a name is `stage.field` of a preceding stage and not itself an entering field."""
        if self._split_stage(name) is None:
            return False
        return not any(name in flow.present for flow in self._flows.values())


class StagePropagation:
    """Applies the operations of one stage; `flow` has its fields after the operations applied so far."""

    def __init__(self, state: FlattenState, stage: Stage) -> None:
        """Resolve the fields that enter the stage, which may add merging operations to `state`."""
        self._state = state
        self._stage = stage
        self._inputs = InputResolver(state, stage)
        self._lint = StageLint()
        self._touched: set[str] = set()
        self.flow = self._inputs.flow

    def run(self) -> None:
        """Add operations of the stage, including implied ones, and pass on its fields, within its schema.

        A source always reads and a sink always writes. Any other stage without operations passes its fields
        on, or makes each field of its schema from all of them. The preceding stages must have run. Raises
        TooLarge.
        """
        self._list_open_outputs()
        stage, kinds = self._stage, {operation.kind for operation in self._stage.operations}
        if stage.role is Role.SOURCE and Kind.READ not in kinds:
            self._add_query(stage.query) if stage.query else self._add_implied_read()
        # Must run before the operations are applied, since it needs the fields as they enter.
        self._lint = lint(stage.operations, is_available=self._inputs.is_available)
        for name, producers in self._lint.redundant_outputs.items():
            self._warn(
                f"{name!r} is made by {_list(producers)}, and made again before any operation takes it"
            )
        for operation in deadline.watched(stage.operations):
            self._apply(operation)
        if not stage.operations and stage.role in (Role.OTHER, Role.JOINER) and not self._inputs.is_first:
            self._apply_undeclared()
        if stage.role is Role.SINK and Kind.WRITE not in kinds:
            self._add_implied_write()
        # The schema of a sink describes what it writes, not what it passes on.
        if stage.role is not Role.SINK and stage.schema is not None:
            self._restrict_to(stage.schema)
        self._state.finish_stage(stage, self.flow)

    def _list_open_outputs(self) -> None:
        """Resolve operations that depend on the stage's fields, except in a join, or warn and drop all."""
        stage = self._stage
        if self._inputs.joins or not any(item.depends_on_fields for item in stage.operations):
            return
        try:
            operations = _Resolution(self.flow, stage.schema).resolve(stage.operations)
        except NotImplied as error:
            operations = ()
            self._state.warn(f"{stage.path}.plugin.properties", f"{error}: {NOT_KNOWN}")
        self._stage = replace(stage, operations=operations)

    def _apply(self, operation: StageOperation) -> None:
        """Add an operation of the stage to the run, and apply it to the fields that flow on."""
        stage, name, text = self._stage, operation.name, operation.description
        dataset, description = stage.dataset, stage.dataset_description
        if operation.dataset:
            dataset, description = operation.dataset, operation.dataset_description
        if operation.retained is not None:
            self._keep(operation, operation.retained)
            return
        match operation.kind:
            case Kind.READ:
                outputs = self._typed(operation.outputs)
                self._add_read(Read(self._unique_name(name), text, dataset, description, outputs))
            case Kind.TRANSFORM:
                self._add_transform(operation)
            case Kind.WRITE:
                inputs = self._resolve_inputs(operation)
                write = Write(self._unique_name(name), text, dataset, description, inputs)
                self._state.add_write(write, self.flow)

    def _add_read(self, read: Read) -> None:
        """Add a READ and its outputs, or warn that its fields are unknown if it has no outputs."""
        name = self._state.add_operation(read)
        self.flow.reads = (*self.flow.reads, name)
        if not read.outputs:
            self._state.mark_schema_unknown(name)
            self.flow.open_reads = (*self.flow.open_reads, name)
            self.flow.is_complete = False
            self._warn("the fields of the source are unknown; only fields that stages name are recorded")
        self._add_outputs(name, read.outputs)

    def _add_implied_read(self) -> None:
        """Add the READ, with the schema's fields, of a source that declares none."""
        stage = self._stage
        fields = _fields(stage.schema) if stage.schema else ()
        name = self._unique_name("read")
        self._add_read(Read(name, "", stage.dataset, stage.dataset_description, fields))
        if stage.schema:
            self.flow.records = stage.schema.records

    def _add_query(self, query: PluginQuery) -> None:
        """Add the READs of a query's tables, and its columns; other columns have unknown origins."""
        listed = [*(read.name for read in query.reads), *(column.name for column in query.columns)]
        names = {name: self._unique_name(name) for name in listed}
        reads = [replace(read, name=names[read.name]) for read in query.reads]
        self.flow.reads = tuple(map(self._state.add_operation, reads))
        types = self._stage.schema.types if self._stage.schema else {}
        spellings = FieldNames(types)
        for column in query.columns:
            inputs = (replace(item, origin=names[item.origin]) for item in (*column.inputs, *query.rows))
            outputs = self._typed(tuple(Field(spellings.find(field.name)) for field in column.outputs))
            transform = Transform(
                names[column.name], column.description, tuple(dict.fromkeys(inputs)), outputs
            )
            self._add_outputs(self._state.add_operation(transform), outputs)
        missing = [name for name in types if name not in self.flow.present]
        if missing or not all(read.outputs for read in reads):
            self.flow.has_unknown, self.flow.is_complete = True, bool(types)
            self._add_outputs("", map(Field, missing))
            self._warn(f"the sources of {_list(missing) or 'some tables'} in the query are unknown")

    def _add_transform(self, operation: StageOperation) -> None:
        """Remove dropped fields and add a TRANSFORM, or only its outputs if all its inputs are unknown."""
        inputs, outputs = self._resolve_inputs(operation), self._typed(operation.outputs)
        for dropped in operation.dropped:
            for name in (dropped, *self.flow.records.get(dropped, ())):
                self.flow.present.pop(name, None)
        if operation.blurred is not None:
            self.flow.has_unknown = True
            names = _list(field.name for field in outputs) or "any field"
            self._state.warn(
                f"{self._stage.path}.plugin.properties",
                f"{operation.name!r} is not a directive that is known: what {names} comes from is unknown",
            )
        if operation.blurred is not None or (operation.inputs and not inputs):
            # Without any known input the field would look like a generated field.
            self._add_outputs("", outputs)
            return
        name = self._unique_name(operation.name)
        transform = Transform(name, operation.description, inputs, outputs)
        self._add_outputs(self._state.add_operation(transform), outputs)

    def _keep(self, operation: StageOperation, names: tuple[str, ...]) -> None:
        """Drop all other fields; assume that a listed field reaches the stage if that is unknown."""
        flow = self.flow
        listed = {*names, *(path for name in names for path in flow.records.get(name, ()))}
        remaining = [name for name in flow.present if name in listed]
        dropped = [name for name in flow.present if name not in listed]
        self._add_drop(operation.name, operation.description, dropped)
        for name in names if not flow.is_complete else ():
            flow.origins.setdefault(name, self._inputs.origins(name))
            remaining.append(name)
        flow.present, flow.is_complete = dict.fromkeys(remaining), True
        self._touched.update(dropped)

    def _add_drop(self, name: str, description: str, dropped: Iterable[str]) -> None:
        """Add a TRANSFORM that drops fields, if any has a known origin; the flow keeps them."""
        if inputs := self.flow.origins_of(dropped):
            self._state.count_inputs(len(inputs))
            self._state.add_operation(Transform(self._unique_name(name), description, inputs, ()))

    def _add_outputs(self, operation: str, outputs: Iterable[Field]) -> None:
        """Add outputs to the present fields, with `operation` as their origin; "" means no origin."""
        for output in deadline.watched(outputs):
            self.flow.add_field(output.name, (InputField(operation, output.name),) if operation else ())
            self._touched.add(output.name)

    def _typed(self, outputs: tuple[Field, ...]) -> tuple[Field, ...]:
        """Return outputs with missing types from the schema; a record becomes the fields inside it."""
        schema = self._stage.schema
        types = schema.types if schema else {}
        records = schema.records if schema else self.flow.records
        return tuple(
            Field(name, field.type if field.type and name == field.name else types.get(name, ""))
            for field in outputs
            for name in (counted(records[field.name]) if field.name in records else (field.name,))
        )

    def _resolve_inputs(self, operation: StageOperation) -> tuple[InputField, ...]:
        """Return the inputs of an operation with their origins; skip inputs without one, with a warning."""
        inputs: list[InputField] = []
        for stage_input in deadline.watched(operation.inputs):
            name = stage_input.name
            origins = self._inputs.origins(name)
            self._touched.update((name, *self.flow.records.get(name, ())))
            if not origins:
                self._state.warn(operation.path, f"field {name!r} comes from no preceding stage; ignored")
            elif operation.name in self._lint.unknown_inputs.get(name, ()):
                detail = f"{name!r} is neither among the fields that reach the stage nor made by it before"
                operations = _list(origin.origin for origin in origins)
                self._state.warn(operation.path, f"{detail}; taken from {operations}")
            influence, kind = stage_input.influence, stage_input.kind
            derive(inputs_weight(len(origins)))
            inputs += (InputField(origin.origin, origin.name, influence, kind) for origin in origins)
        return tuple(inputs)

    def _apply_undeclared(self) -> None:
        """Let fields pass, or derive the schema's fields from all if both are known and differ; warn."""
        flow, schema = self.flow, self._stage.schema
        if schema is None:
            flow.present, flow.is_complete = {}, False
            self._warn(
                "declares no operations, and its schema is not known: fields that later stages name "
                "are taken to pass, and which others do is not known"
            )
        elif not flow.is_complete:
            self._warn("declares no operations: fields of its schema are taken to pass unchanged")
        # If the same names go in and out, most likely nothing changes.
        elif flow.present.keys() == schema.types.keys():
            self._warn(
                "declares no operations, and its schema equals its input: fields are taken to pass unchanged"
            )
        elif inputs := flow.origins_of(flow.present):
            self._warn("declares no operations: each field of its schema is taken to be made of all it gets")
            # Every such stage uses all fields that reach it, so a short config can imply very many inputs.
            self._state.count_inputs(len(inputs))
            self._touched.update(flow.present)
            transform = Transform(self._unique_name("Transform"), "", inputs, _fields(schema))
            self._add_outputs(self._state.add_operation(transform), transform.outputs)

    def _add_implied_write(self) -> None:
        """Add the WRITE of a sink without one, for the fields of its schema or else all that reach it."""
        stage, flow = self._stage, self.flow
        names = stage.schema.types if stage.schema else flow.present
        origins = {name: self._inputs.schema_origins(name) for name in deadline.watched(names)}
        inputs = tuple(chain.from_iterable(origins.values()))
        self._state.count_inputs(len(inputs))
        if missing := [name for name, field_origins in origins.items() if not field_origins]:
            self._warn(f"no known operation makes {_list(missing)}; left out")
        if not stage.schema and not flow.is_complete:
            self._warn("other fields that the sink writes are unknown")
        name = self._unique_name("write")
        self._state.add_write(Write(name, "", stage.dataset, stage.dataset_description, inputs), flow)

    def _restrict_to(self, schema: Schema) -> None:
        """Pass on the schema's fields only; record others as dropped, and warn of fields without origin.

        In a first stage, the only READ becomes their origin.
        """
        flow = self.flow
        # Operations that touched a field account for it themselves.
        dropped = [name for name in flow.present if name not in schema.types and name not in self._touched]
        self._add_drop("drop", "Not in the schema of the stage", dropped)
        origins = {name: self._inputs.schema_origins(name) for name in deadline.watched(schema.types)}
        unknown = [name for name in origins if not origins[name] and name not in flow.present]
        if unknown and self._inputs.is_first and len(flow.reads) == 1:
            self._warn(
                f"its schema has {_list(unknown)}, which its READ does not list; treated as though it did"
            )
            origins |= {name: (InputField(flow.reads[0], name),) for name in unknown}
        elif unknown:
            self._warn(f"its schema contains {_list(unknown)}, which come from no known stage")
        flow.origins |= origins
        flow.present, flow.is_complete, flow.records = dict.fromkeys(schema.types), True, schema.records

    def _unique_name(self, name: str) -> str:
        """Reserve and return a unique operation name in the run: `stage.name`, `stage.name#2` and so on."""
        return self._state.unique_name(self._stage.name, name)

    def _warn(self, detail: str) -> None:
        """Add a warning at the JSON path of the stage."""
        self._state.warn(self._stage.path, detail)


def _fields(schema: Schema) -> tuple[Field, ...]:
    """Return the fields of a schema with their types, in order."""
    return tuple(Field(name, type_name) for name, type_name in schema.types.items())


def _list(names: Iterable[str]) -> str:
    """Return the distinct names, quoted and joined; show _NAMES_SHOWN_MAX and the number of others."""
    unique = [repr(name) for name in dict.fromkeys(names)]
    more = len(unique) - _NAMES_SHOWN_MAX
    return ", ".join(unique[:_NAMES_SHOWN_MAX]) + (f" and {more} more" if more > 0 else "")


@dataclass(slots=True)
class _OpenOperation:
    """An operation with further outputs: its number, and the outputs found so far.

    `root` is the number of the first of several operations that parse the outputs of each other.
    """

    number: int
    prefix: str
    root: int
    outputs: dict[str, None] = field(default_factory=dict)


class _Resolution:
    """Lists the open outputs of a stage; `_present` are the fields after the operations read so far."""

    def __init__(self, flow: FieldFlow, schema: Schema | None) -> None:
        """Start with the fields that enter the stage; the fields of `schema` leave it."""
        self._schema = dict.fromkeys(schema.types if schema else ())
        self._present = dict(flow.present)
        self._seen = {*flow.present, *flow.records}
        self._is_complete = flow.is_complete
        self._open: list[_OpenOperation] = []
        self._resolved: list[StageOperation] = []
        self._has_reordered = False

    def resolve(self, operations: Sequence[StageOperation]) -> tuple[StageOperation, ...]:
        """Return the operations of the stage with all outputs and inputs listed.

        Raises NotImplied if a field may come from several operations, or a rule of names cannot be applied.
        """
        for operation in deadline.watched(operations):
            self._add(operation)
        for name in deadline.watched(self._schema):
            self._require(name)
        return self._finish()

    def _add(self, operation: StageOperation) -> None:
        """Add the next operation with its present inputs; an open operation gets its outputs later."""
        if operation.name_change is not None:
            self._change_names(operation, operation.name_change)
            return
        if operation.blurred is not None:
            # If the fields of a source are unknown, the fields that leave the stage may have entered it.
            possible = self._present if self._is_complete else self._present | self._schema
            fields = [word for word in dict.fromkeys(operation.blurred) if word in possible] or possible
            operation = replace(operation, outputs=tuple(map(Field, fields)))
        elif operation.reads_all:
            if not self._is_complete:
                raise NotImplied(f"{operation.name} takes fields that are not known")
            operation = replace(operation, inputs=tuple(map(StageInput, self._present)), reads_all=False)
        inputs = [item for item in operation.inputs if self._require(item.name) or not item.is_optional]
        for name in operation.retained or ():
            self._require(name)
        resolved = replace(
            operation, inputs=tuple(replace(item, is_optional=False) for item in inputs), open_prefix=None
        )
        if operation.open_prefix is not None:
            number = len(self._resolved)
            parsed = {item.name for item in inputs}
            root = next((source.root for source in self._open if parsed & source.outputs.keys()), number)
            self._open.append(_OpenOperation(number, operation.open_prefix, root))
        self._apply(resolved)

    def _require(self, name: str) -> bool:
        """Return whether a field is, was or may be present, or else becomes an output of an open operation.

        That is the one with the longest prefix of the name, else the only one of any names. Raises NotImplied
        if several operations may make the field, or one may and the field may also have entered the stage.
        """
        if name in self._seen:
            return True
        source = self._source(name)
        if source is None:
            # The field may enter the stage without being known.
            return not self._is_complete
        source.outputs[name] = None
        self._seen.add(name)
        self._present[name] = None
        return True

    def _finish(self) -> tuple[StageOperation, ...]:
        """Return all operations with the outputs found for open ones; skip open ones without outputs."""
        for source in self._open:
            operation = self._resolved[source.number]
            outputs = (*operation.outputs, *map(Field, source.outputs))
            self._resolved[source.number] = replace(operation, outputs=outputs)
        numbers = {source.number for source in self._open}
        return tuple(
            item for number, item in enumerate(self._resolved) if item.outputs or number not in numbers
        )

    def _apply(self, operation: StageOperation) -> None:
        """Append an operation, and update the present fields by the fields it drops, retains and outputs."""
        self._resolved.append(operation)
        for name in operation.dropped:
            self._present.pop(name, None)
        if operation.retained is not None:
            retained = set(operation.retained)
            self._present = {name: None for name in self._present if name in retained}
        for output in operation.outputs:
            self._has_reordered = self._has_reordered or output.name not in self._present
            self._seen.add(output.name)
            self._present[output.name] = None

    def _source(self, name: str) -> _OpenOperation | None:
        """Return the open operation that makes a field, or None. Raises NotImplied as `_require` does."""
        by_prefix = [item for item in self._open if item.prefix and name.startswith(item.prefix)]
        if by_prefix:
            return max(by_prefix, key=lambda item: (len(item.prefix), item.number))
        # If operations parse each other's outputs, the first of them represents all.
        candidates = [item for item in self._open if not item.prefix and item.number == item.root]
        if len(candidates) > 1 or (candidates and not self._is_complete):
            raise NotImplied(f"the operation that makes {name[:100]!r} depends on data")
        return candidates[0] if candidates else None

    def _change_names(self, operation: StageOperation, change: NameChange) -> None:
        """Rename the present fields. Raises NotImplied if names depend on data, or a new one is present."""
        if change.headers:
            renames = self._header_renames(change)
        elif change.rename is not None:
            renames = [(name, change.rename(name)) for name in self._present]
            # From here on, fields that are not present yet have changed names, too.
            for source in self._open:
                source.prefix = ""
        renames = [(old, new) for old, new in renames if old != new]
        if len({source.root for source in self._open}) > 1 or {new for _, new in renames} & {*self._present}:
            raise NotImplied(f"{operation.name} gives names that depend on data")
        for old, new in renames:
            self._apply(rename_operation(old, new, operation.path))

    def _header_renames(self, change: NameChange) -> list[tuple[str, str]]:
        """Return the renames of the first fields; the first open operation, if any, outputs other headers.

        Raises NotImplied if the order of the fields is unknown.
        """
        is_ordered = not self._has_reordered and not any(source.outputs for source in self._open)
        if not is_ordered or not self._is_complete:
            raise NotImplied("set-headers behind directives that change the order of columns")
        present = [name for name in self._present if not change.first or name == change.first]
        for name in change.headers[len(present) :] if self._open else ():
            self._open[0].outputs[name] = None
            self._seen.add(name)
            self._present[name] = None
        return list(zip(present, change.headers, strict=False))
