"""Our own document: a run and its operations, in either of two forms.

The forms are those of the REST contract; `/openapi.json` describes them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from typing import Any

from fll_hbase.model import lineage
from fll_hbase.model.datasets import Field
from fll_hbase.model.lineage import FieldLineageInfo
from fll_hbase.model.operations import InputField, Operation, Read, Transform, Write
from fll_hbase.model.runs import ProgramRun, RecordedRun, State
from fll_hbase.model.window import START_LIMIT_MS
from fll_hbase.runtime.errors import ErrorList, FieldError, InvalidLineage, UnreadableDocument
from fll_hbase.sources.native import name_based_form
from fll_hbase.sources.native.shared_members import read_dataset, read_field, read_influence
from fll_hbase.sources.native.unknown_origins import refuse_unknown_origins
from fll_hbase.sources.validation import ID_BYTES_MAX, NAME_BYTES_MAX, Validator, child_path, items_with_path

TYPES = ("READ", "TRANSFORM", "WRITE")
_STATES = [state.value for state in State]

MILLISECONDS_MIN = 10**11
"""A start before this, in March 1973, is most likely in seconds, of which it is the year 5138."""


@dataclass(frozen=True, slots=True)
class ReadOperations:
    """The lineage built from the operations of a document, with warnings."""

    info: FieldLineageInfo
    warnings: tuple[FieldError, ...]


@dataclass(frozen=True, slots=True)
class Reading:
    """A parsed document: the run, its operations, and warnings about the head."""

    run: ProgramRun
    operations: ReadOperations
    head_warnings: tuple[FieldError, ...]

    @property
    def recorded(self) -> RecordedRun:
        """The run with its lineage, as the store records it."""
        return RecordedRun(self.run, self.operations.info)

    @property
    def warnings(self) -> tuple[FieldError, ...]:
        """All warnings, those about the head first."""
        return tuple(ErrorList((*self.head_warnings, *self.operations.warnings)))


def read(document: object, *, namespace: str | None, operations: ReadOperations | None = None) -> Reading:
    """Read a document and return its run.

    If `namespace`, that of the URL, is None, the document must contain one. `operations` are the document's
    if they are already parsed. Raises UnreadableDocument with every error of shape, else InvalidLineage with
    every error of lineage, else TooLarge.
    """
    validator = Validator()
    members = validator.members(document, "", ("run", "operations", "namespace", "destination"))
    if validator.errors:
        raise UnreadableDocument(validator.errors)
    namespace = read_namespace(validator, members, namespace)
    run = read_run(validator, members, namespace)
    if validator.errors:
        # The document is refused without its lineage, which takes longer to build than all else.
        errors = _find_shape_errors(members, namespace) if operations is None else ()
        raise UnreadableDocument(chain(validator.errors, errors))
    return Reading(run, operations or read_operations(members, namespace), tuple(validator.warnings))


def read_operations(
    members: dict[str, Any],
    namespace: str,
    *,
    build: Callable[[Sequence[Operation]], FieldLineageInfo] = lineage.build_lineage,
) -> ReadOperations:
    """Build the lineage of the members `operations` and `destination`; raises like `read`."""
    validator = Validator()
    operations, invalid = _parse_operations(validator, members, namespace)
    if validator.errors:
        # Lineage is checked in well-formed operations only: placeholders would cause false errors.
        raise UnreadableDocument(validator.errors)
    if invalid:
        raise InvalidLineage(chain(invalid, lineage.find_errors(operations)))
    info = build(operations)
    validator.warnings.extend(lineage.undeclared_inputs(operations))
    return ReadOperations(info, tuple(validator.warnings))


def _find_shape_errors(members: dict[str, Any], namespace: str) -> ErrorList:
    """Return the errors of shape in the operations; empty if they have errors of lineage only."""
    validator = Validator()
    with suppress(InvalidLineage, UnreadableDocument):
        _parse_operations(validator, members, namespace)
    return validator.errors


def _parse_operations(
    validator: Validator, members: dict[str, Any], namespace: str
) -> tuple[list[Operation], ErrorList]:
    """Return the operations, and the errors of lineage, which only the name-based form can have here."""
    data = validator.items(members, "operations", "", required=True)
    if "destination" in members:
        return name_based_form.read(validator, data, members["destination"], namespace)
    refuse_unknown_origins(data)
    return [
        _operation(validator, item, path, namespace) for item, path in items_with_path(data, "operations")
    ], ErrorList()


def read_namespace(validator: Validator, members: dict[str, Any], namespace: str | None) -> str:
    """Return the program's namespace, from the URL or document; add an error if they differ."""
    if namespace is None:
        return validator.required(members, "namespace", "", bytes_max=ID_BYTES_MAX)
    if members.get("namespace", namespace) != namespace:
        validator.error("namespace", f"must be {namespace!r}, as in the URL, or be left out")
    return validator.name(namespace, "namespace", bytes_max=ID_BYTES_MAX)


def read_run(validator: Validator, members: dict[str, Any], namespace: str) -> ProgramRun:
    """Read the program run of a document; add errors, and a warning for a start before March 1973."""
    if "run" not in members:
        validator.error("run", "missing")
    member_names = ("application", "version", "type", "program", "run", "startTime", "state")
    data = validator.members(members.get("run", {}), "run", member_names)
    # One error for the whole member instead of one for each member that it lacks.
    if not isinstance(members.get("run"), dict):
        return ProgramRun(namespace, "?", "", "?", "?", "?", 0)
    start_ms = validator.integer(data, "startTime", "run", below=START_LIMIT_MS)
    if start_ms < MILLISECONDS_MIN:
        validator.warning("run.startTime", "is before March 1973; it is in milliseconds, are these seconds?")
    return ProgramRun(
        namespace=namespace,
        application=validator.required(data, "application", "run", bytes_max=NAME_BYTES_MAX),
        version=validator.optional(data, "version", "run", bytes_max=NAME_BYTES_MAX),
        type=validator.required(data, "type", "run", bytes_max=NAME_BYTES_MAX),
        program=validator.required(data, "program", "run", bytes_max=NAME_BYTES_MAX),
        run=validator.required(data, "run", "run", bytes_max=ID_BYTES_MAX),
        start_ms=start_ms,
        state=State(validator.choice(data, "state", "run", _STATES, State.COMPLETE.value)),
    )


def _operation(validator: Validator, item: object, path: str, namespace: str) -> Operation:
    """Read an operation by its `type`; add errors for missing members and those of other types."""
    member_names = {"type", "name", "description"}
    kind = item.get("type") if isinstance(item, dict) else None
    match kind:
        case "READ":
            data = validator.members(item, path, member_names | {"source", "outputs"})
        case "TRANSFORM":
            data = validator.members(item, path, member_names | {"inputs", "outputs"})
        case "WRITE":
            data = validator.members(item, path, member_names | {"destination", "inputs"})
        # With an unknown type the members of all types are allowed, so that only the type is reported.
        case _:
            data = validator.members(
                item, path, member_names | {"source", "destination", "inputs", "outputs"}
            )
    if isinstance(item, dict) and "type" not in data:
        validator.error(child_path(path, "type"), "missing")
    name = validator.required(data, "name", path) if isinstance(item, dict) else "?"
    description = validator.optional(data, "description", path)
    match kind:
        case "READ":
            source = read_dataset(validator, data, "source", path, namespace)
            return Read(name, description, *source, _outputs(validator, data, path))
        case "WRITE":
            destination = read_dataset(validator, data, "destination", path, namespace)
            return Write(name, description, *destination, _inputs(validator, data, path))
        case "TRANSFORM":
            return Transform(
                name, description, _inputs(validator, data, path), _outputs(validator, data, path)
            )
    if "type" in data:
        validator.choice(data, "type", path, TYPES, "")
    # A placeholder: `validator` has an error by now, so it is never recorded.
    return Transform(name, description, (), ())


def _outputs(validator: Validator, data: dict[str, Any], path: str) -> tuple[Field, ...]:
    items = validator.items(data, "outputs", path)
    return tuple(
        read_field(validator, item, item_path)
        for item, item_path in items_with_path(items, child_path(path, "outputs"))
    )


def _inputs(validator: Validator, data: dict[str, Any], path: str) -> tuple[InputField, ...]:
    items = validator.items(data, "inputs", path)
    return tuple(
        _input(validator, item, item_path)
        for item, item_path in items_with_path(items, child_path(path, "inputs"))
    )


def _input(validator: Validator, item: object, path: str) -> InputField:
    """Read an input; `?` with errors for what is missing or invalid."""
    data = validator.members(item, path, ("origin", "name", "influence", "kind"))
    if not isinstance(item, dict):
        return InputField("?", "?")
    origin = validator.required(data, "origin", path)
    name = validator.required(data, "name", path, bytes_max=NAME_BYTES_MAX)
    return InputField(origin, name, *read_influence(validator, data, path))
