"""Which operations do events speak of: datasets and their columns, as reads, transforms and writes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from fll_hbase.errors import CorruptRow
from fll_hbase.model import checksum
from fll_hbase.model.datasets import Dataset, DatasetMetadata, Field
from fll_hbase.model.operations import Influence, InputField, Operation, Read, Transform, Write
from fll_hbase.model.run_events import DatasetMention, EventLineage, InputColumn, OutputColumn
from fll_hbase.model.unique_names import UniqueNames

RENAME = "RENAME"


def build_operations(part: EventLineage) -> list[Operation]:
    """The operations of all that a run told, merged: a read of every source, and of each output a transform
    for every column and a write. An output whose columns nothing told of is written without inputs.

    Raises CorruptRow where the operations that a part carries itself cannot be read.
    """
    if part.operations:
        return list(_carried(part.operations))
    outputs = [_with_rename(part, mention) for mention in part.mentions if mention.written]
    used = _used(part, outputs)
    names = UniqueNames()
    origins = {place: names.assign(f"read {part.datasets[place][1]}") for place in sorted(used)}
    types = {
        mention.dataset_index: dict(mention.fields or ()) for mention in part.mentions if not mention.written
    }
    made: list[Operation] = [
        _read(origins[place], part.datasets[place], fields, types.get(place, {}))
        for place, fields in used.items()
    ]
    for mention in outputs:
        made += _written(mention, part.datasets[mention.dataset_index], origins, names)
    return made


def dataset_metadata(part: EventLineage) -> Iterator[DatasetMetadata]:
    """What a part says of end points whatever the run did to them."""
    for mention in part.mentions:
        if mention.fields or mention.aliases or mention.description:
            yield DatasetMetadata(
                Dataset(*part.datasets[mention.dataset_index]),
                tuple(Field(*said) for said in mention.fields or ()),
                mention.description,
                tuple(Dataset(*alias) for alias in mention.aliases),
            )


def _carried(text: str) -> Iterator[Operation]:
    for line in text.split("\n"):
        try:
            yield checksum.operation_from_json(line)
        except (ValueError, KeyError, TypeError) as error:
            raise CorruptRow(f"{line[:200]!r} is not an operation") from error


def _with_rename(part: EventLineage, mention: DatasetMention) -> DatasetMention:
    """A renamed end point is made from the one it was, field by field where its fields are known."""
    if mention.lifecycle != RENAME or mention.previous not in part.datasets or mention.columns is not None:
        return mention
    place = part.datasets.index(mention.previous)
    columns = tuple(
        OutputColumn(name, (InputColumn(place, name, True, "", RENAME),)) for name, _ in mention.fields or ()
    )
    return DatasetMention(
        dataset_index=mention.dataset_index,
        written=True,
        fields=mention.fields,
        columns=columns,
        lifecycle=RENAME,
    )


def _used(part: EventLineage, outputs: Iterable[DatasetMention]) -> dict[int, set[str]]:
    """The fields that were taken of each source; none where it was only mentioned."""
    used: dict[int, set[str]] = {
        mention.dataset_index: set() for mention in part.mentions if not mention.written
    }
    for mention in outputs:
        if mention.lifecycle == RENAME and mention.previous in part.datasets:
            used.setdefault(part.datasets.index(mention.previous), set())
        for taken in (
            *mention.dataset_inputs,
            *(taken for column in mention.columns or () for taken in column.inputs),
        ):
            used.setdefault(taken.dataset_index, set()).add(taken.field)
    return dict(sorted(used.items()))


def _read(name: str, source: tuple[str, str], fields: Iterable[str], types: dict[str, str]) -> Read:
    outputs = tuple(Field(field, types.get(field, "")) for field in sorted(fields))
    return Read(name, "", Dataset(*source), "", outputs)


def _written(
    mention: DatasetMention, end_point: tuple[str, str], origins: dict[int, str], names: UniqueNames
) -> Iterator[Operation]:
    types = dict(mention.fields or ())
    inputs = []
    for column in mention.columns or ():
        name = names.assign(f"{end_point[1]}.{column.name}")
        made = (Field(column.name, types.get(column.name, "")),)
        yield Transform(name, _described(column.inputs), _taken(column.inputs, origins), made)
        inputs.append(InputField(name, column.name))
    inputs += _taken(mention.dataset_inputs, origins, whole=True)
    name = names.assign(f"write {end_point[1]}")
    yield Write(name, mention.lifecycle, Dataset(*end_point), "", tuple(inputs))


def _taken(
    takes: Iterable[InputColumn], origins: dict[int, str], *, whole: bool = False
) -> tuple[InputField, ...]:
    """The inputs that the takes are, each once."""
    inputs = (
        InputField(origins[taken.dataset_index], taken.field)
        if taken.direct and not whole
        else InputField(origins[taken.dataset_index], taken.field, Influence.INDIRECT, taken.kind)
        for taken in takes
    )
    return tuple(dict.fromkeys(inputs))


def _described(takes: Sequence[InputColumn]) -> str:
    """What was done with the source fields: once where it is the same with all."""
    said = sorted(
        {(taken.field, taken.transformation) for taken in takes if taken.direct and taken.transformation}
    )
    if len({how for _, how in said}) <= 1:
        return said[0][1] if said else ""
    return "; ".join(f"{field}: {how}" for field, how in said)
