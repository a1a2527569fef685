"""Operations of a stage: `operations` and `fieldMutations` in one form, fields by name, and their lint."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum

from fll_hbase.model.datasets import Dataset, Field
from fll_hbase.model.operations import Influence
from fll_hbase.runtime import deadline
from fll_hbase.runtime.errors import UnreadableDocument
from fll_hbase.sources import strict_json
from fll_hbase.sources.cdap.record_schema import describe_type
from fll_hbase.sources.native.document import read_dataset, read_field, read_influence
from fll_hbase.sources.validation import NAME_BYTES_MAX, Part, readable

RENAME, DELETE, KEEP = "rename", "delete", "keep"
_MUTATION = ("inputFields", "inputField", "mutation", "description", "outputField", "outputFields")
_OPERATION = ("type", "name", "description", "inputs", "outputs", "source", "destination")


class Kind(Enum):
    """Type of an operation of a stage."""

    READ = "READ"
    TRANSFORM = "TRANSFORM"
    WRITE = "WRITE"


_KINDS = [kind.value for kind in Kind]


@dataclass(frozen=True, slots=True)
class StageInput:
    """Input of an operation: `name`, or `stage.name` if several stages lead to its stage.

    With `is_optional`, a name that is not a field is left out, since an expression also names other things.
    """

    name: str
    influence: Influence = Influence.DIRECT
    kind: str = ""
    is_optional: bool = False


@dataclass(frozen=True, slots=True)
class NameChange:
    """A rule that renames all fields: a function of the name, or `headers` by position.

    `first` is the only input field to which the headers apply, "" for all.
    """

    rename: Callable[[str], str] | None = None
    headers: tuple[str, ...] = ()
    first: str = ""


@dataclass(frozen=True, slots=True)
class StageOperation:
    """One operation of a stage at a JSON path of the config.

    `dropped` are input fields that later stages do not receive. `has_unique_name` is false for a mutation,
    which is named by its kind. `dataset` is None for the dataset of the stage. With `retained`, later stages
    receive these fields and no others. With `open_prefix`, the operation outputs further fields, whose names
    depend on data and begin with this prefix. With `reads_all`, its inputs are all fields at that point.
    `blurred` are words that may name the fields, else all, that the operation changes from unknown inputs.
    """

    kind: Kind
    name: str
    description: str
    path: str
    inputs: tuple[StageInput, ...] = ()
    outputs: tuple[Field, ...] = ()
    dropped: tuple[str, ...] = ()
    has_unique_name: bool = True
    dataset: Dataset | None = None
    dataset_description: str = ""
    retained: tuple[str, ...] | None = None
    open_prefix: str | None = None
    name_change: NameChange | None = None
    reads_all: bool = False
    blurred: tuple[str, ...] | None = None

    @property
    def depends_on_fields(self) -> bool:
        """Return whether the effect of the operation depends on the fields that reach the stage."""
        has_optional = any(item.is_optional for item in self.inputs)
        is_open = self.open_prefix is not None or self.reads_all or self.blurred is not None
        return has_optional or is_open or self.name_change is not None

    @property
    def input_names(self) -> dict[str, None]:
        """Return the names of the inputs, each once, in order."""
        return dict.fromkeys(stage_input.name for stage_input in self.inputs)


def rename_operation(old: str, new: str, path: str) -> StageOperation:
    """Return an operation, implied by a plugin, that renames a field and ends the old name."""
    inputs, outputs = (StageInput(old),), (Field(new),)
    return StageOperation(Kind.TRANSFORM, RENAME, "", path, inputs, outputs, (old,), has_unique_name=False)


@dataclass(frozen=True, slots=True)
class StageLint:
    """Problems per field, with the names of operations.

    `unknown_inputs` lists operations with an input that nothing provides. `redundant_outputs` lists
    operations whose output is overwritten before any other operation uses it.
    """

    unknown_inputs: dict[str, list[str]] = field(default_factory=dict)
    redundant_outputs: dict[str, list[str]] = field(default_factory=dict)


def lint(operations: Sequence[StageOperation], *, is_available: Callable[[str], bool]) -> StageLint:
    """Return the problems of a stage's operations; `is_available` returns whether a field reaches the stage.

    An output may be unused, or missing from the schema, because joiners create keys and leave them out.
    """
    result = StageLint()
    outputs: set[str] = set()
    unused: dict[str, list[str]] = {}
    for operation in deadline.watched(operations):
        for name in operation.input_names:
            if name not in outputs and not is_available(name):
                result.unknown_inputs.setdefault(name, []).append(operation.name)
            _add_redundant(result, name, unused.pop(name, []))
        if operation.kind is not Kind.WRITE:
            for output in operation.outputs:
                outputs.add(output.name)
                unused.setdefault(output.name, []).append(operation.name)
    for name, producers in unused.items():
        _add_redundant(result, name, producers)
    return result


def _add_redundant(result: StageLint, name: str, producers: list[str]) -> None:
    """Add all producers of a field except the last, whose output is used, to `result.redundant_outputs`."""
    if len(producers) > 1:
        result.redundant_outputs.setdefault(name, []).extend(producers[:-1])


def read_operations(stage: Part, namespace: str) -> tuple[StageOperation, ...]:
    """Read all operations of a stage, then all its mutations, leaving out unreadable ones."""
    operations = readable(stage.optional_items("operations"), lambda item: _read_operation(item, namespace))
    # Keep this order, since reading adds warnings.
    return (*operations, *readable(stage.optional_items("fieldMutations"), _read_mutation))


def _read_operation(part: Part, namespace: str) -> StageOperation:
    """Read an operation; add errors for invalid parts. A TRANSFORM without outputs drops its inputs."""
    part.with_members(*_OPERATION)
    kind = Kind(part.choice("type", _KINDS, Kind.TRANSFORM.value))
    name = part.required("name") if part.is_object else "?"
    description = part.optional("description")
    inputs = tuple(map(_read_input, part.items("inputs")))
    outputs = tuple(map(_read_field, part.items("outputs")))
    member = {Kind.READ: "source", Kind.WRITE: "destination"}.get(kind)
    dataset, dataset_description = None, ""
    if member is not None and member in part:
        dataset, dataset_description = read_dataset(part, member, namespace)
    # A TRANSFORM without outputs drops its inputs.
    is_drop = kind is Kind.TRANSFORM and not outputs
    return StageOperation(
        kind,
        name,
        description,
        part.path,
        inputs=() if kind is Kind.READ else inputs,
        outputs=() if kind is Kind.WRITE else outputs,
        dropped=tuple(stage_input.name for stage_input in inputs) if is_drop else (),
        dataset=dataset,
        dataset_description=dataset_description,
    )


def _read_input(part: Part) -> StageInput:
    """Read an input: a field, or an object with additional influence and kind of the input."""
    if "influence" not in part:
        return StageInput(_read_field(part).name)
    part.with_members("name", "type", "influence", "kind")
    return StageInput(part.required("name", bytes_max=NAME_BYTES_MAX), *read_influence(part))


def _read_mutation(part: Part) -> StageOperation | None:
    """Read a mutation as at most one operation; warn if it has no output and is not a deletion."""
    if not part.with_members(*_MUTATION).is_object:
        return None
    mutation = part.required("mutation")
    description = part.optional("description")
    inputs = tuple(_read_one_or_many(part, "inputField"))
    outputs = tuple(_read_one_or_many(part, "outputField"))
    names = tuple(input_field.name for input_field in inputs)
    if mutation == RENAME and (not inputs or not outputs):
        part.error("a rename has an input field and an output field")
    if mutation == DELETE and (outputs or not inputs):
        part.error("a delete has an input field and no output field")
    if not outputs and mutation != DELETE:
        part.warning(f"{mutation!r} names no output field; nothing is recorded for it")
        return None
    return StageOperation(
        Kind.TRANSFORM,
        mutation,
        description,
        part.path,
        inputs=tuple(map(StageInput, names)),
        outputs=outputs,
        # A rename ends the old name like a deletion.
        dropped=names if mutation in (RENAME, DELETE) else (),
        has_unique_name=False,
    )


def _read_one_or_many(mutation: Part, name: str) -> Iterator[Field]:
    """Yield the field in a member such as `inputField`, if present, then the fields of `inputFields`."""
    if name in mutation:
        yield _read_field(mutation.member(name))
    yield from map(_read_field, mutation.items(f"{name}s"))


def _read_field(part: Part) -> Field:
    """Read a field: its name, an object with a name and a schema's type, or such an object as JSON text."""
    if isinstance(part.value, str) and part.value.lstrip().startswith("{"):
        part = Part(part.validator, _parse_object(part.value), part.path)
    if not part.is_object:
        return read_field(part)
    part.with_members("name", "type")
    name = part.required("name", bytes_max=NAME_BYTES_MAX)
    type_name = describe_type(part.get("type", ""))
    # The text of a type may contain names of the document, which the validator checks.
    return Field(name, Part(part.validator, {"type": type_name}, part.path).optional("type"))


def _parse_object(text: str) -> object:
    """Return the JSON object in a string, else the string, since a field name may begin with a brace."""
    try:
        # With surrogatepass, a lone surrogate does not raise here, but is reported by the validator.
        value = strict_json.parse(text.encode(errors="surrogatepass"))
    except UnreadableDocument:
        return text
    return value if isinstance(value, dict) else text
