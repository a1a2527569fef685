"""Operations of OpenLineage events: datasets and their columns as reads, transforms and writes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from fll_hbase.model.checksum import operation_from_json
from fll_hbase.model.datasets import Dataset, DatasetMetadata, Field
from fll_hbase.model.operations import Influence, InputField, Operation, Read, Transform, Write
from fll_hbase.model.run_events import DatasetMention, EventLineage, InputColumn, OutputColumn
from fll_hbase.model.unique_names import UniqueNames
from fll_hbase.runtime.errors import CorruptRow

RENAME = "RENAME"


def build_operations(lineage: EventLineage) -> list[Operation]:
    """Return the operations of a run's merged events.

    Returns the operations of an exported run if the lineage carries any. Otherwise returns a READ for each
    source, and for each output a TRANSFORM per column and a WRITE. An output without column lineage is
    written with its dataset-wide inputs alone, if any. A renamed one copies its known fields. Raises
    CorruptRow if carried operations cannot be parsed.
    """
    # An export of another store (facet `fll_run`): its operations are stored as they were recorded there.
    if lineage.operations:
        return list(carried_operations(lineage.operations))
    positions = {dataset: position for position, dataset in enumerate(lineage.datasets)}
    outputs = [_expand_rename(positions, mention) for mention in lineage.mentions if mention.written]
    used = _used_fields(positions, lineage.mentions, outputs)
    names = UniqueNames()
    # Sorted, so that `#2` denotes the same dataset in every run: operation names are part of the checksum.
    origins = {index: names.assign(f"read {lineage.datasets[index][1]}") for index in sorted(used)}
    types = {
        mention.dataset_index: dict(mention.fields or ())
        for mention in lineage.mentions
        if not mention.written
    }
    unconfirmed = frozenset(lineage.unconfirmed)
    operations: list[Operation] = []
    for index, fields in used.items():
        source, typed = lineage.datasets[index], types.get(index, {})
        read = tuple(Field(name, typed.get(name, "")) for name in sorted(fields))
        operations.append(Read(origins[index], "", Dataset(*source), "", read, source in unconfirmed))
    for mention in outputs:
        operations += _output_operations(mention, lineage.datasets[mention.dataset_index], origins, names)
    return operations


def dataset_metadata(lineage: EventLineage) -> Iterator[DatasetMetadata]:
    """Yield the fields, description and aliases of each mention that has any, without tags.

    A dataset that is both read and written has two mentions. Unconfirmed sources are left out.
    """
    unconfirmed = frozenset(lineage.unconfirmed)
    for mention in lineage.mentions:
        dataset = lineage.datasets[mention.dataset_index]
        if dataset in unconfirmed:
            continue
        if mention.fields or mention.aliases or mention.description:
            yield DatasetMetadata(
                Dataset(*dataset),
                tuple(Field(*field) for field in mention.fields or ()),
                mention.description,
                tuple(Dataset(*alias) for alias in mention.aliases),
            )


def carried_operations(text: str) -> Iterator[Operation]:
    """Yield the operations of an exported run, one per line. Raises CorruptRow."""
    for line in text.split("\n"):
        try:
            yield operation_from_json(line)
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise CorruptRow(f"{line[:200]!r} is not an operation") from error


def _expand_rename(positions: Mapping[tuple[str, str], int], mention: DatasetMention) -> DatasetMention:
    """Return the mention of a renamed dataset with columns copied from the previous one.

    The columns are empty if the fields are unknown. A mention that has columns, or whose previous dataset is
    not in `positions`, is returned unchanged, as is one without a rename.
    """
    previous = mention.previous
    index = positions.get(previous) if previous else None
    if mention.lifecycle != RENAME or index is None or mention.columns is not None:
        return mention
    # A rename changes no column: each field is derived from the previous field of the same name.
    columns = tuple(
        OutputColumn(name, (InputColumn(index, name, True, "", RENAME),)) for name, _ in mention.fields or ()
    )
    return DatasetMention(
        dataset_index=mention.dataset_index,
        written=True,
        fields=mention.fields,
        columns=columns,
        lifecycle=RENAME,
        previous=previous,
    )


def _used_fields(
    positions: Mapping[tuple[str, str], int],
    mentions: Iterable[DatasetMention],
    outputs: Iterable[DatasetMention],
) -> dict[int, set[str]]:
    """Return the names of the fields read from each source, by its index; an empty set if unknown."""
    used: dict[int, set[str]] = {mention.dataset_index: set() for mention in mentions if not mention.written}
    for mention in outputs:
        # A READ without fields keeps the renamed dataset related to its previous one if no schema is known.
        if mention.lifecycle == RENAME and mention.previous and mention.previous in positions:
            used.setdefault(positions[mention.previous], set())
        column_inputs = (column_input for column in mention.columns or () for column_input in column.inputs)
        for input_column in (*mention.dataset_inputs, *column_inputs):
            used.setdefault(input_column.dataset_index, set()).add(input_column.field)
    return dict(sorted(used.items()))


def _output_operations(
    mention: DatasetMention, dataset: tuple[str, str], origins: dict[int, str], names: UniqueNames
) -> Iterator[Operation]:
    """Yield a TRANSFORM for each column of an output, then its WRITE with dataset-wide inputs as indirect."""
    types = dict(mention.fields or ())
    inputs = []
    for column in mention.columns or ():
        name = names.assign(f"{dataset[1]}.{column.name}")
        outputs = (Field(column.name, types.get(column.name, "")),)
        yield Transform(name, _describe(column.inputs), _input_fields(column.inputs, origins), outputs)
        inputs.append(InputField(name, column.name))
    # Agents mark some dataset-wide inputs DIRECT, but they influence all rows (docs/record/openlineage.md,
    # Facets).
    dataset_inputs = (msgspec.structs.replace(item, direct=False) for item in mention.dataset_inputs)
    inputs += _input_fields(dataset_inputs, origins)
    name = names.assign(f"write {dataset[1]}")
    description = "; ".join(filter(None, (mention.lifecycle, _describe(mention.dataset_inputs))))
    yield Write(name, description, Dataset(*dataset), "", tuple(inputs))


def _input_fields(columns: Iterable[InputColumn], origins: dict[int, str]) -> tuple[InputField, ...]:
    """Return the inputs of an operation, without duplicates, in the order of `columns`."""
    inputs = (
        InputField(origins[column.dataset_index], column.field)
        if column.direct
        else InputField(origins[column.dataset_index], column.field, Influence.INDIRECT, column.kind)
        for column in columns
    )
    # Columns that differ only in their transformation become equal inputs, since inputs have no
    # transformation.
    return tuple(dict.fromkeys(inputs))


def _describe(inputs: Sequence[InputColumn]) -> str:
    """Return the transformations of inputs as one text: `sum(price); day (filter): day > 3, masked`.

    Direct inputs come first, each with its source field if their transformations differ. "" if no input has
    a transformation.
    """
    described = sorted(
        {
            (not column.direct, column.field, column.kind, column.transformation)
            for column in inputs
            if column.transformation
        }
    )
    if not described:
        return ""
    direct = {transformation for is_indirect, _, _, transformation in described if not is_indirect}
    steps = [*direct] if len(direct) == 1 else []
    for is_indirect, field, kind, transformation in described:
        if is_indirect:
            steps.append(f"{field} ({kind or 'indirect'}): {transformation}")
        elif len(direct) > 1:
            steps.append(f"{field}: {transformation}")
    return "; ".join(steps)
