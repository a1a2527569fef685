"""What does one of our own documents say: a run and its operations, in either form.

The forms are those of the REST contract; docs/recording.md describes them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from fll_hbase.errors import FieldError, InvalidLineage, UnreadableDocument
from fll_hbase.model import lineage
from fll_hbase.model.datasets import Field
from fll_hbase.model.lineage import FieldLineageInfo
from fll_hbase.model.operations import InputField, Operation, Read, Transform, Write
from fll_hbase.model.runs import ProgramRun, RecordedRun, State
from fll_hbase.model.window import START_LIMIT_MS
from fll_hbase.sources.native import name_based_form
from fll_hbase.sources.native.shared_members import read_end_point, read_field, read_influence
from fll_hbase.sources.validation import ID_BYTES_MAX, NAME_BYTES_MAX, Validator, each, inside

TYPES = ("READ", "TRANSFORM", "WRITE")
_STATES = [state.value for state in State]


@dataclass(frozen=True, slots=True)
class ReadOperations:
    """The operations of a document as lineage, and what in them was ignored or taken as it is."""

    info: FieldLineageInfo
    warnings: tuple[FieldError, ...]


@dataclass(frozen=True, slots=True)
class Reading:
    """What a document says: its run, and its operations with the namespace they were read in."""

    run: ProgramRun
    operations: ReadOperations
    head_warnings: tuple[FieldError, ...]

    @property
    def recorded(self) -> RecordedRun:
        return RecordedRun(self.run, self.operations.info)

    @property
    def warnings(self) -> tuple[FieldError, ...]:
        return self.head_warnings + self.operations.warnings


def read(document: object, *, namespace: str | None, operations: ReadOperations | None = None) -> Reading:
    """The run that a document records.

    `namespace` is that of the URL; without one the document must name its own. `operations` stand for those
    of the document where they were read before. Raises UnreadableDocument with every fault of shape, else
    InvalidLineage with every fault of lineage, else TooLarge.
    """
    checks = Validator()
    members = checks.members(document, "", ("run", "operations", "namespace", "destination"))
    if checks.errors:
        raise UnreadableDocument(checks.errors)
    namespace = read_namespace(checks, members, namespace)
    run = read_run(checks, members, namespace)
    try:
        operations = operations or read_operations(members, namespace)
    except UnreadableDocument as error:
        raise UnreadableDocument([*checks.errors, *error.errors]) from error
    except InvalidLineage:
        if not checks.errors:
            raise
    if operations is None or checks.errors:
        raise UnreadableDocument(checks.errors)
    return Reading(run, operations, tuple(checks.warnings))


def read_operations(
    members: dict[str, Any],
    namespace: str,
    *,
    of: Callable[[Sequence[Operation]], FieldLineageInfo] = lineage.build_lineage,
) -> ReadOperations:
    """The lineage that the members `operations` and `destination` mean; raises as `read` does."""
    checks = Validator()
    said = checks.items(members, "operations", "", required=True)
    operations: list[Operation]
    invalid: list[FieldError] = []
    if "destination" in members:
        operations, invalid = name_based_form.read(checks, said, members["destination"], namespace)
    else:
        operations = [_operation(checks, item, at, namespace) for item, at in each(said, "operations")]
    if checks.errors:
        raise UnreadableDocument(checks.errors)
    if invalid:
        raise InvalidLineage([*invalid, *lineage.find_errors(operations)])
    info = of(operations)
    return ReadOperations(info, (*checks.warnings, *lineage.undeclared_inputs(operations)))


def read_namespace(checks: Validator, members: dict[str, Any], namespace: str | None) -> str:
    """The namespace of the program: that of the URL, which a document may repeat, or the document's."""
    if namespace is None:
        return checks.required(members, "namespace", "", bytes_max=ID_BYTES_MAX)
    if members.get("namespace", namespace) != namespace:
        checks.error("namespace", f"must be {namespace!r}, as in the URL, or be left out")
    return checks.name(namespace, "namespace", bytes_max=ID_BYTES_MAX)


def read_run(checks: Validator, members: dict[str, Any], namespace: str) -> ProgramRun:
    """The program run that a document is of."""
    if "run" not in members:
        checks.error("run", "missing")
    known = ("application", "version", "type", "program", "run", "startTime", "state")
    said = checks.members(members.get("run", {}), "run", known)
    if not isinstance(members.get("run"), dict):
        return ProgramRun(namespace, "?", "", "?", "?", "?", 0)
    return ProgramRun(
        namespace=namespace,
        application=checks.required(said, "application", "run", bytes_max=NAME_BYTES_MAX),
        version=checks.optional(said, "version", "run", bytes_max=NAME_BYTES_MAX),
        type=checks.required(said, "type", "run", bytes_max=NAME_BYTES_MAX),
        program=checks.required(said, "program", "run", bytes_max=NAME_BYTES_MAX),
        run=checks.required(said, "run", "run", bytes_max=ID_BYTES_MAX),
        start_ms=checks.integer(said, "startTime", "run", below=START_LIMIT_MS),
        state=State(checks.choice(said, "state", "run", _STATES, State.COMPLETE.value)),
    )


def _operation(checks: Validator, item: object, at: str, namespace: str) -> Operation:
    known = {"type", "name", "description"}
    kind = item.get("type") if isinstance(item, dict) else None
    match kind:
        case "READ":
            said = checks.members(item, at, known | {"source", "outputs"})
        case "TRANSFORM":
            said = checks.members(item, at, known | {"inputs", "outputs"})
        case "WRITE":
            said = checks.members(item, at, known | {"destination", "inputs"})
        case _:
            said = checks.members(item, at, known | {"source", "destination", "inputs", "outputs"})
    if isinstance(item, dict) and "type" not in said:
        checks.error(inside(at, "type"), "missing")
    name = checks.required(said, "name", at) if isinstance(item, dict) else "?"
    description = checks.optional(said, "description", at)
    match kind:
        case "READ":
            source = read_end_point(checks, said, "source", at, namespace)
            return Read(name, description, *source, _outputs(checks, said, at))
        case "WRITE":
            destination = read_end_point(checks, said, "destination", at, namespace)
            return Write(name, description, *destination, _inputs(checks, said, at))
        case "TRANSFORM":
            return Transform(name, description, _inputs(checks, said, at), _outputs(checks, said, at))
    if "type" in said:
        checks.choice(said, "type", at, TYPES, "")
    return Transform(name, description, (), ())


def _outputs(checks: Validator, said: dict[str, Any], at: str) -> tuple[Field, ...]:
    items = checks.items(said, "outputs", at)
    return tuple(read_field(checks, item, place) for item, place in each(items, inside(at, "outputs")))


def _inputs(checks: Validator, said: dict[str, Any], at: str) -> tuple[InputField, ...]:
    items = checks.items(said, "inputs", at)
    return tuple(_input(checks, item, place) for item, place in each(items, inside(at, "inputs")))


def _input(checks: Validator, item: object, at: str) -> InputField:
    said = checks.members(item, at, ("origin", "name", "influence", "kind"))
    if not isinstance(item, dict):
        return InputField("?", "?")
    origin = checks.required(said, "origin", at)
    name = checks.required(said, "name", at, bytes_max=NAME_BYTES_MAX)
    return InputField(origin, name, *read_influence(checks, said, at))
