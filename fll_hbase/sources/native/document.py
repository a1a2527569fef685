"""Native document: a run and its operations, in either of two forms, and members that other formats share.

The REST contract defines the forms, and `/openapi.json` describes them. Inputs of the name-based form are
names of fields, which refer to the latest earlier operation with such an output. A field is alive until an
operation without outputs uses it. The fields alive at the end are written to the only destination.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain, takewhile
from typing import Annotated, Any

import msgspec

from fll_hbase.model import lineage
from fll_hbase.model.datasets import Dataset, Field
from fll_hbase.model.lineage import FieldLineageInfo
from fll_hbase.model.operations import KINDS, Influence, InputField, Operation, Read, Transform, Write
from fll_hbase.model.runs import ProgramRun, RecordedRun, State
from fll_hbase.model.unique_names import UniqueNames
from fll_hbase.model.window import START_LIMIT_MS
from fll_hbase.runtime import deadline, typed_json
from fll_hbase.runtime.errors import (
    ERRORS_COUNTED_MAX,
    ErrorList,
    FieldError,
    InvalidLineage,
    TooLarge,
    UnreadableDocument,
)
from fll_hbase.sources.validation import ID_BYTES_MAX, NAME_BYTES_MAX, Part, Validator

TYPES = ("READ", "TRANSFORM", "WRITE")
_MEMBERS = {
    "READ": ("source", "outputs"),
    "TRANSFORM": ("inputs", "outputs"),
    "WRITE": ("destination", "inputs", "unknownOrigins"),
}
"""The members of an operation by its type, in addition to the members of all operations."""
_STATES = [state.value for state in State]
_INFLUENCES = [influence.value for influence in Influence]

SOURCE_FIELDS_MAX = 100_000
"""Fields that one operation may read: each output is coupled with a field of each of its sources."""

MILLISECONDS_MIN = 10**11
"""Starts before this, in March 1973, are most likely in seconds, where this value is in the year 5138."""


# A character has at most four bytes.
_Name = Annotated[str, msgspec.Meta(min_length=1, max_length=NAME_BYTES_MAX // 4)]
_Id = Annotated[str, msgspec.Meta(min_length=1, max_length=ID_BYTES_MAX // 4)]


class _PlainRun(msgspec.Struct, forbid_unknown_fields=True, rename={"start_ms": "startTime"}):
    """The run of a document without errors, except for its start, which may have more than 64 bits."""

    application: _Name
    type: _Name
    program: _Name
    run: _Id
    start_ms: int
    version: Annotated[str, msgspec.Meta(max_length=NAME_BYTES_MAX // 4)] = ""
    state: State = State.COMPLETE


class _PlainDocument(msgspec.Struct, forbid_unknown_fields=True):
    """A document with such a run, whose operations are already known."""

    run: _PlainRun
    operations: Any
    namespace: str | msgspec.UnsetType = msgspec.UNSET


@dataclass(frozen=True, slots=True, weakref_slot=True)
class ReadOperations:
    """The lineage built from the operations of a document, with warnings."""

    info: FieldLineageInfo
    warnings: tuple[FieldError, ...]


@dataclass(frozen=True, slots=True)
class Reading:
    """A parsed document: the run, its operations, and warnings about the head.

    Call `on_recorded` once the document has been recorded.
    """

    run: ProgramRun
    operations: ReadOperations
    head_warnings: tuple[FieldError, ...]
    on_recorded: Callable[[], None] | None = field(default=None, compare=False, repr=False, kw_only=True)

    @property
    def recorded(self) -> RecordedRun:
        """Return the run with its lineage, as the store records it."""
        return RecordedRun(self.run, self.operations.info)

    @property
    def warnings(self) -> tuple[FieldError, ...]:
        """Return all warnings, those about the head first."""
        warnings = (*self.head_warnings, *self.operations.warnings)
        return tuple(ErrorList(warnings)) if warnings else ()


def read(document: object, *, namespace: str | None, operations: ReadOperations | None = None) -> Reading:
    """Read a document and return its run.

    `namespace` comes from the URL. If it is None, the document must contain one. `operations` are the
    document's if they are already parsed. Raises UnreadableDocument with every error of shape, else
    InvalidLineage with every error of lineage. Raises TooLarge and DeadlineExceeded. At ERRORS_COUNTED_MAX
    errors of either kind, the rest is not read.
    """
    if operations and (run := _read_plain_run(document, namespace)):
        return Reading(run, operations, ())
    top, namespace = read_head(document, namespace, "run", "operations", "namespace", "destination")
    validator = top.validator
    run = read_run(top, namespace)
    if validator.errors:
        # The document is refused, so skip building its lineage, which takes most of the time.
        errors = _find_shape_errors(top.members, namespace) if operations is None else ()
        raise UnreadableDocument(chain(validator.errors, errors))
    return Reading(run, operations or read_operations(top.members, namespace), tuple(validator.warnings))


def _read_plain_run(document: object, namespace: str | None) -> ProgramRun | None:
    """Return the run of a document with a plain, valid head, or None if the head needs a full check.

    A program's documents differ only in run and time, and the full check takes most of their reading time.
    """
    try:
        plain = typed_json.convert(document, _PlainDocument)
    except msgspec.ValidationError:
        return None
    run = plain.run
    if namespace is None or not 0 < len(namespace) <= ID_BYTES_MAX // 4:
        return None
    if plain.namespace not in (msgspec.UNSET, namespace):
        return None
    if not MILLISECONDS_MIN <= run.start_ms < START_LIMIT_MS:
        return None
    return ProgramRun(
        namespace, run.application, run.version, run.type, run.program, run.run, run.start_ms, run.state
    )


def read_operations(
    members: dict[str, Any],
    namespace: str,
    *,
    build: Callable[[Sequence[Operation]], FieldLineageInfo] = lineage.build_lineage,
) -> ReadOperations:
    """Build the lineage of the members `operations` and `destination`; raises like `read`."""
    validator = Validator()
    operations, invalid = _parse_operations(Part(validator, members), namespace)
    # Check the lineage of well-formed operations only, since placeholders would cause false errors.
    validator.check()
    if invalid:
        raise InvalidLineage(chain(invalid, lineage.find_errors(operations)))
    info = build(operations)
    validator.warnings.extend(lineage.undeclared_inputs(operations))
    return ReadOperations(info, tuple(validator.warnings))


def _find_shape_errors(members: dict[str, Any], namespace: str) -> ErrorList:
    """Return the errors of shape in the operations, or none if there are only errors of lineage."""
    validator = Validator()
    with suppress(InvalidLineage, TooLarge, UnreadableDocument):
        _parse_operations(Part(validator, members), namespace)
    return validator.errors


def _parse_operations(top: Part, namespace: str) -> tuple[list[Operation], ErrorList]:
    """Return the operations, and the errors of lineage, which only the name-based form returns.

    Raises InvalidLineage if the other form has too many unknown origins, and TooLarge.
    """
    items = top.items("operations", required=True)
    if "destination" in top:
        return _read_name_based(top, items, namespace)
    values = top.get("operations")
    _refuse_unknown_origins(values if isinstance(values, list) else [])
    return [_operation(item, namespace) for item in items], ErrorList()


def _refuse_unknown_origins(items: list[Any]) -> None:
    """Raise InvalidLineage if so many inputs have unknown origins that further errors are not counted.

    Building the operations of half a million inputs takes seconds, although this document is refused anyway.
    As with too many errors of shape, the rest of the document is not examined.
    """
    # Stop at the first operation that is not an object, since reading the operations finds errors of shape.
    operations = list(takewhile(lambda item: isinstance(item, dict), items))
    if sum(len(_sent_inputs(operation)) for operation in operations) >= ERRORS_COUNTED_MAX:
        names = (item.get("name") for item in items if isinstance(item, dict))
        errors = ErrorList(_unknown_origins(operations, {name for name in names if isinstance(name, str)}))
        if errors.is_full:
            raise InvalidLineage(errors)


def _unknown_origins(operations: list[dict[str, Any]], names: set[str]) -> Iterator[FieldError]:
    """Yield an error, with its path, for each input whose origin is a string outside `names`."""
    for number, operation in enumerate(deadline.watched(operations)):
        for index, given in enumerate(_sent_inputs(operation)):
            origin = given.get("origin") if isinstance(given, dict) else None
            if isinstance(origin, str) and origin not in names:
                yield lineage.unknown_origin(f"operations.{number}.inputs.{index}", origin)


def _sent_inputs(operation: dict[str, Any]) -> list[Any]:
    """Return the inputs of an operation as sent, unchecked, or [] if they are not a list."""
    inputs = operation.get("inputs")
    return inputs if isinstance(inputs, list) else []


def read_head(document: object, namespace: str | None, *members: str) -> tuple[Part, str]:
    """Return a document with its own validator, and its namespace; warn of members other than `members`.

    The namespace comes from the URL or, if that is None, from the document. A difference adds an error.
    Raises UnreadableDocument for anything but an object.
    """
    top = Part(Validator(), document).with_members(*members)
    top.validator.check()
    if namespace is None:
        return top, top.required("namespace", bytes_max=ID_BYTES_MAX)
    if "namespace" in top and top.get("namespace") != namespace:
        top.error(f"must be {namespace!r}, as in the URL, or be left out", "namespace")
    return top, top.validator.name(namespace, "namespace", bytes_max=ID_BYTES_MAX)


def read_run(top: Part, namespace: str) -> ProgramRun:
    """Read the program run of a document; add errors, and a warning for a start before March 1973."""
    run = top.member("run")
    if "run" in top:
        run.with_members("application", "version", "type", "program", "run", "startTime", "state")
    else:
        run.error("missing")
    # One error for the whole member instead of one for each of its missing members.
    if not run.is_object:
        return ProgramRun(namespace, "?", "", "?", "?", "?", 0)
    start_ms = run.integer("startTime", below=START_LIMIT_MS)
    if start_ms < MILLISECONDS_MIN:
        run.warning("is before March 1973: expected milliseconds; are these seconds?", "startTime")
    return ProgramRun(
        namespace=namespace,
        application=run.required("application", bytes_max=NAME_BYTES_MAX),
        version=run.optional("version", bytes_max=NAME_BYTES_MAX),
        type=run.required("type", bytes_max=NAME_BYTES_MAX),
        program=run.required("program", bytes_max=NAME_BYTES_MAX),
        run=run.required("run", bytes_max=ID_BYTES_MAX),
        start_ms=start_ms,
        state=State(run.choice("state", _STATES, State.COMPLETE.value)),
    )


def _operation(part: Part, namespace: str) -> Operation:
    """Read an operation by its `type`; add errors for missing members and members of other types."""
    kind = part.get("type") if part.get("type") in TYPES else ""
    # For an unknown type, allow the members of all types, so that only the type is reported.
    members = _MEMBERS.get(kind, ("source", "destination", "inputs", "outputs", "unknownOrigins"))
    part.with_members("type", "name", "description", *members)
    if part.is_object and "type" not in part:
        part.error("missing", "type")
    name = part.required("name") if part.is_object else "?"
    description = part.optional("description")
    match kind:
        case "READ":
            return Read(name, description, *read_dataset(part, "source", namespace), _outputs(part))
        case "WRITE":
            dataset = read_dataset(part, "destination", namespace)
            origins = None
            if "unknownOrigins" in part:
                origins = tuple(item.name() for item in part.items("unknownOrigins"))
            return Write(name, description, *dataset, _inputs(part), origins)
        case "TRANSFORM":
            return Transform(name, description, _inputs(part), _outputs(part))
    if "type" in part:
        part.choice("type", TYPES, "")
    # A placeholder, which is never recorded since there is an error by now.
    return Transform(name, description, (), ())


def _outputs(operation: Part) -> tuple[Field, ...]:
    """Return the output fields of an operation; add errors for invalid fields."""
    return tuple(map(read_field, operation.items("outputs")))


def _inputs(operation: Part) -> tuple[InputField, ...]:
    """Return the inputs of an operation; add errors for invalid inputs."""
    return tuple(map(_input, operation.items("inputs")))


def _input(part: Part) -> InputField:
    """Read an input, with `?` and errors for missing or invalid parts."""
    part.with_members("origin", "name", "influence", "kind")
    if not part.is_object:
        return InputField("?", "?")
    origin = part.required("origin")
    name = part.required("name", bytes_max=NAME_BYTES_MAX)
    return InputField(origin, name, *read_influence(part))


def _read_name_based(top: Part, items: Iterable[Part], namespace: str) -> tuple[list[Operation], ErrorList]:
    """Return operations with origins, READs and the WRITE, and errors of inputs. Raises TooLarge."""
    target, description = read_dataset(top, "destination", namespace, also=("fields",))
    flow = _Flow()
    for item in items:
        _add(flow, item, namespace)
    inputs = _write_inputs(flow, top.member("destination"))
    flow.operations.append(Write(flow.names.assign("write"), description, target, description, inputs))
    return flow.operations, flow.invalid


@dataclass(slots=True)
class _Flow:
    """State while operations are read in order: origin of each field name, and live fields in order."""

    operations: list[Operation] = field(default_factory=list)
    invalid: ErrorList = field(default_factory=ErrorList)
    origins: dict[str, str] = field(default_factory=dict)
    # A dict instead of a set keeps the order, which is the order of the WRITE's inputs.
    alive: dict[str, None] = field(default_factory=dict)
    names: UniqueNames = field(default_factory=UniqueNames)

    def resolve_input(self, name: str, path: str) -> list[InputField]:
        """Return the input of that name, or [] with an error if no earlier operation outputs it."""
        if name in self.origins:
            return [InputField(self.origins[name], name)]
        self.invalid.append(FieldError(path, f"no earlier operation outputs {name!r}"))
        return []


def _add(flow: _Flow, item: Part, namespace: str) -> None:
    """Add an operation to the flow: a READ if its only input is a source, else READs and a TRANSFORM.

    Without outputs it drops its inputs. Raises TooLarge for more than SOURCE_FIELDS_MAX fields of sources.
    """
    item.with_members("name", "description", "inputs", "outputs")
    if not item.is_object:
        return
    own_name = item.required("name")
    description = item.optional("description")
    outputs = tuple(map(read_field, item.items("outputs")))
    # Resolve inputs before adding outputs, since an operation may read and output the same name.
    sources, fields, inputs = _read_inputs(flow, item.items("inputs"), namespace)
    # Names may repeat in this form, while origins refer to operations by name.
    name = flow.names.assign(own_name)
    # A READ has one source and no inputs. Any other mix becomes a READ per source before a TRANSFORM.
    if len(sources) == 1 and not fields:
        flow.operations.append(Read(name, description, *sources[0], outputs))
    else:
        if len(sources) * len(outputs) > SOURCE_FIELDS_MAX:
            size = f"{len(sources)} sources with {len(outputs)} outputs each"
            limit = f"the limit is {SOURCE_FIELDS_MAX} fields; split it"
            raise TooLarge(f"operation {own_name!r} has {size}, {limit}")
        for source in sources:
            read_name = flow.names.assign(f"{name}.read")
            flow.operations.append(Read(read_name, description, *source, outputs))
            inputs += [InputField(read_name, output.name) for output in outputs]
        flow.operations.append(Transform(name, description, tuple(inputs), outputs))
    if not outputs:
        for dropped in fields:
            flow.alive.pop(dropped, None)
    for output in outputs:
        flow.origins[output.name] = name
        flow.alive[output.name] = None


def _read_inputs(
    flow: _Flow, items: Iterable[Part], namespace: str
) -> tuple[list[tuple[Dataset, str]], list[str], list[InputField]]:
    """Return the inputs of an operation: sources, field names, and fields as outputs of operations."""
    sources: list[tuple[Dataset, str]] = []
    fields: list[str] = []
    inputs: list[InputField] = []
    for item in items:
        item.with_members("source", "field")
        if not item.is_object:
            continue
        if ("source" in item) == ("field" in item):
            item.error("must have either a source or a field")
        elif "source" in item:
            sources.append(read_dataset(item, "source", namespace))
        else:
            fields.append(read_field(item.member("field")).name)
            inputs += flow.resolve_input(fields[-1], item.path)
    return sources, fields, inputs


def _write_inputs(flow: _Flow, destination: Part) -> tuple[InputField, ...]:
    """Return the inputs of the Write: the fields that the destination lists, else all live fields."""
    if "fields" not in destination:
        return tuple(InputField(flow.origins[name], name) for name in flow.alive)
    inputs: list[InputField] = []
    for item in destination.items("fields"):
        inputs += flow.resolve_input(read_field(item).name, item.path)
    return tuple(inputs)


def read_dataset(
    holder: Part, name: str, namespace: str, *, also: tuple[str, ...] = ()
) -> tuple[Dataset, str]:
    """Read the dataset in the member `name` and its description; `namespace` is its default namespace.

    `also` lists further allowed members. A missing or invalid dataset is a placeholder, with an error.
    """
    part = holder.member(name)
    if name in holder:
        part.with_members("namespace", "name", "description", *also)
    else:
        part.error("missing")
    if not part.is_object:
        return Dataset("?", "?"), ""
    if "namespace" in part:
        namespace = part.member("namespace").name(bytes_max=ID_BYTES_MAX)
    dataset = Dataset(namespace, part.required("name", bytes_max=NAME_BYTES_MAX))
    return dataset, part.optional("description")


def read_field(part: Part) -> Field:
    """Read a field: its name, or an object with name and type; `?` with an error if it is invalid."""
    if not part.is_object:
        return Field(part.name(bytes_max=NAME_BYTES_MAX))
    part.with_members("name", "type")
    return Field(part.required("name", bytes_max=NAME_BYTES_MAX), part.optional("type"))


def read_influence(part: Part) -> tuple[Influence, str]:
    """Return an input's influence and its kind ("" if none); a direct input with a kind is an error."""
    influence = Influence(part.choice("influence", _INFLUENCES, Influence.DIRECT.value))
    if "kind" not in part:
        return influence, ""
    kind = part.choice("kind", KINDS, "")
    # A kind says what an indirect input decides (filter, join), while a direct input contributes its value.
    if influence is Influence.DIRECT:
        part.error('goes with `"influence": "indirect"` alone', "kind")
    return influence, kind
