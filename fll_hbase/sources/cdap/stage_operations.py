"""What does a stage declare: `operations` and `fieldMutations` in one form, with fields by name alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any

from fll_hbase.errors import FieldError, UnreadableDocument
from fll_hbase.model.datasets import Dataset, Field
from fll_hbase.model.operations import Influence
from fll_hbase.sources import strict_json
from fll_hbase.sources.cdap.record_schema import describe_type
from fll_hbase.sources.native.shared_members import read_end_point, read_field, read_influence
from fll_hbase.sources.validation import NAME_BYTES_MAX, Validator, each, inside

RENAME, DELETE = "rename", "delete"
_MUTATION = ("inputFields", "inputField", "mutation", "description", "outputField", "outputFields")
_OPERATION = ("type", "name", "description", "inputs", "outputs", "source", "destination")


class Kind(Enum):
    """What an operation of a stage does."""

    READ = "READ"
    TRANSFORM = "TRANSFORM"
    WRITE = "WRITE"


_KINDS = [kind.value for kind in Kind]


@dataclass(frozen=True, slots=True)
class StageInput:
    """A field that an operation takes: `name`, or `stage.name` where several stages lead to its own."""

    name: str
    influence: Influence = Influence.DIRECT
    kind: str = ""


@dataclass(frozen=True, slots=True)
class StageOperation:
    """One operation of a stage. `gone` are fields that end with it; `unique` says that its name is its own,
    not the word of a mutation; without an `end_point` a READ or WRITE is of the stage's."""

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

    @property
    def input_names(self) -> dict[str, None]:
        """The fields it takes, each once."""
        return dict.fromkeys(taken.name for taken in self.inputs)


def read_operations(checks: Validator, said: dict[str, Any], at: str, namespace: str) -> tuple[StageOperation, ...]:
    """All that a stage declares: operations first, then mutations."""
    operations = each(checks.items(said, "operations", at), inside(at, "operations"))
    mutations = each(checks.items(said, "fieldMutations", at), inside(at, "fieldMutations"))
    return (
        *(_operation(checks, item, place, namespace) for item, place in operations),
        *(one for item, place in mutations for one in _mutation(checks, item, place)),
    )


def _operation(checks: Validator, item: object, at: str, namespace: str) -> StageOperation:
    said = checks.members(item, at, _OPERATION)
    kind = Kind(checks.choice(said, "type", at, _KINDS, Kind.TRANSFORM.value))
    name = checks.required(said, "name", at) if isinstance(item, dict) else "?"
    description = checks.optional(said, "description", at)
    taken = each(checks.items(said, "inputs", at), inside(at, "inputs"))
    inputs = tuple(_taken(checks, one, place) for one, place in taken)
    made = each(checks.items(said, "outputs", at), inside(at, "outputs"))
    outputs = tuple(_field(checks, one, place) for one, place in made)
    member = {Kind.READ: "source", Kind.WRITE: "destination"}.get(kind)
    end_point, end_point_description = None, ""
    if member is not None and member in said:
        end_point, end_point_description = read_end_point(checks, said, member, at, namespace)
    gone = tuple(one.name for one in inputs) if kind is Kind.TRANSFORM and not outputs else ()
    inputs = () if kind is Kind.READ else inputs
    outputs = () if kind is Kind.WRITE else outputs
    return StageOperation(
        kind,
        name,
        description,
        at,
        inputs,
        outputs,
        gone,
        dataset=end_point,
        dataset_description=end_point_description,
    )


def _taken(checks: Validator, item: object, at: str) -> StageInput:
    """A name, or an object with a name, as fields are, and perhaps an influence, as inputs elsewhere are."""
    if not isinstance(item, dict) or "influence" not in item:
        return StageInput(_field(checks, item, at).name)
    said = checks.members(item, at, ("name", "type", "influence", "kind"))
    name = checks.required(said, "name", at, bytes_max=NAME_BYTES_MAX)
    return StageInput(name, *read_influence(checks, said, at))


def _mutation(checks: Validator, item: object, at: str) -> Iterator[StageOperation]:
    """One mutation; without an output it is a deletion, or it says nothing that lineage could tell."""
    said = checks.members(item, at, _MUTATION)
    if not isinstance(item, dict):
        return
    word = checks.required(said, "mutation", at)
    description = checks.optional(said, "description", at)
    inputs = tuple(_one_or_many(checks, said, "inputField", at))
    outputs = tuple(_one_or_many(checks, said, "outputField", at))
    names = tuple(field.name for field in inputs)
    if word == RENAME and (not inputs or not outputs):
        checks.error(at, "a rename has an input field and an output field")
    if word == DELETE and (outputs or not inputs):
        checks.error(at, "a delete has an input field and no output field")
    if outputs or word == DELETE:
        gone = names if word in (RENAME, DELETE) else ()
        taken = tuple(map(StageInput, names))
        yield StageOperation(Kind.TRANSFORM, word, description, at, taken, outputs, gone, has_unique_name=False)
    else:
        checks.warnings.append(FieldError(at, f"{word!r} names no output field; nothing is recorded of it"))


def _one_or_many(checks: Validator, said: dict[str, Any], member: str, at: str) -> Iterator[Field]:
    if member in said:
        yield _field(checks, said[member], inside(at, member))
    for item, place in each(checks.items(said, f"{member}s", at), inside(at, f"{member}s")):
        yield _field(checks, item, place)


def _field(checks: Validator, item: object, at: str) -> Field:
    """A field: its name, an object with a name and a type as schemas have types, or JSON text of that."""
    if isinstance(item, str) and item.lstrip().startswith("{"):
        item = _parsed(item)
    if not isinstance(item, dict):
        return read_field(checks, item, at)
    said = checks.members(item, at, ("name", "type"))
    name = checks.required(said, "name", at, bytes_max=NAME_BYTES_MAX)
    return Field(name, checks.optional({"type": describe_type(said.get("type", ""))}, "type", at))


def _parsed(text: str) -> object:
    """The JSON that a text is, else the text: a name may begin with a brace."""
    try:
        said = strict_json.parse(text.encode(errors="surrogatepass"))
    except UnreadableDocument:
        return text
    return said if isinstance(said, dict) else text
