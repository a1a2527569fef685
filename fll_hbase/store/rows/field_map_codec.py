"""The field map of a content row, `d:m`, encoded and decoded by pure functions.

docs/reference/row-keys.md defines the current form, and form 1 of earlier releases.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, TypeVar

from fll_hbase.keys import layout
from fll_hbase.model.datasets import Dataset, DatasetField
from fll_hbase.model.field_map import CopiedFields, DerivedFields, FieldMap, StatedSources
from fll_hbase.model.field_sets import FieldSet
from fll_hbase.runtime.errors import CorruptRow
from fll_hbase.tables import Row

T = TypeVar("T")

FORM = "2"
"""Version of the form of a content row, stored in `d:v`."""
FORM_1 = "1"
"""The older form, which is read but not written."""

_SPANS = re.compile(r"([0-9]{1,9}(-[0-9]{1,9})?(,[0-9]{1,9}(-[0-9]{1,9})?)*)?")


def decode_field_map(row: Row) -> FieldMap:
    """Return the field map of a content row in either form. Raises CorruptRow, including if it has none."""
    try:
        data = json.loads(row[layout.FIELD_MAP].value)
        return _from_form_1(data) if isinstance(data["dropped"], list) else _from_json(data)
    except (ValueError, KeyError, TypeError, IndexError, RecursionError) as error:
        raise CorruptRow("the field map of a content row cannot be read") from error


def encode_field_map(field_map: FieldMap) -> bytes:
    """Return a field map as JSON in the newest form."""
    return json.dumps(_to_json(field_map), ensure_ascii=False, separators=(",", ":")).encode()


def encode_positions(positions: Sequence[int]) -> str:
    """Return positions in their order as text, consecutive ones as a span: `5-7,0` is 5, 6, 7, 0."""
    spans: list[list[int]] = []
    for position in positions:
        if spans and spans[-1][1] + 1 == position:
            spans[-1][1] = position
        else:
            spans.append([position, position])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in spans)


def decode_positions(text: str, stop: int, *, count_max: int) -> tuple[int, ...]:
    """Return the positions in a string from `encode_positions`, in their order, or () for an empty string.

    Raises ValueError for a position not below `stop`, over `count_max`, a descending span or another form.
    """
    if not _SPANS.fullmatch(text):
        raise ValueError(f"{text[:200]!r} is not a list of positions")
    # Read at most one position more than allowed: a corrupt cell must not exhaust memory.
    positions = tuple(islice(_iter_positions(text, stop), count_max + 1))
    if len(positions) > count_max:
        raise ValueError(f"more than {count_max} positions")
    return positions


def _iter_positions(text: str, stop: int) -> Iterator[int]:
    """Yield the positions in a string of spans, all below `stop`. Raises ValueError for any other span."""
    for span in text.split(",") if text else ():
        first, _, last = span.partition("-")
        # Check before building the range: a corrupt cell must not exhaust memory.
        if not int(first) <= int(last or first) < stop:
            raise ValueError(f"{span!r} is not a span of positions up to {stop - 1}")
        yield from range(int(first), int(last or first) + 1)


def _to_json(field_map: FieldMap) -> dict[str, Any]:
    """Return the JSON object of a field map: datasets and fields by position, sets by number."""
    fields: dict[Dataset, list[str]] = {source: [] for source in field_map.sources}
    for field in field_map.fields:
        fields[field.dataset].append(field.name)
    index_of = {dataset: index for index, dataset in enumerate(field_map.destinations)}
    source_index_of = {dataset: index for index, dataset in enumerate(field_map.sources)}
    generated: dict[int, list[str]] = {}
    for field in field_map.generated:
        generated.setdefault(index_of[field.dataset], []).append(field.name)
    body: dict[str, Any] = {
        "sources": [[dataset.namespace, dataset.name, names] for dataset, names in fields.items()],
        "destinations": [[dataset.namespace, dataset.name] for dataset in field_map.destinations],
        "sets": [_set_to_json(field_set) for field_set in field_map.sets],
        "copied": [
            [index_of[entry.destination], entry.fields, encode_positions(entry.positions)]
            for entry in field_map.copied
        ],
        "derived": [[index_of[entry.destination], entry.fields, entry.number] for entry in field_map.derived],
        "generated": list(generated.items()),
        "dropped": field_map.dropped,
        "whole": [[index_of[dataset], number] for dataset, number in field_map.dataset_wide],
        "unread": [source_index_of[dataset] for dataset in field_map.read_without_fields],
        "unwritten": [index_of[dataset] for dataset in field_map.written_without_fields],
    }
    if field_map.unknown is not None:
        body["unknown"] = [
            [index_of[to], [source_index_of[source] for source in sources]]
            for to, sources in field_map.unknown
        ]
    return body


def _set_to_json(field_set: FieldSet) -> list[str]:
    """Return the four members of a set as texts of positions, without trailing empty ones."""
    members = (field_set.direct, field_set.indirect, field_set.direct_sets, field_set.indirect_sets)
    texts = [encode_positions(positions) for positions in members]
    while texts and not texts[-1]:
        texts.pop()
    return texts


def _from_json(data: dict[str, Any]) -> FieldMap:
    fields = _fields(data)
    sources, destinations = _sources(data), _destinations(data)
    sets = tuple(_set_from_json(texts, len(fields), number) for number, texts in enumerate(data["sets"]))
    return FieldMap(
        fields=fields,
        sources=sources,
        destinations=destinations,
        sets=sets,
        copied=tuple(
            _copied_from_json(_item(destinations, index), names, positions, len(fields))
            for index, names, positions in data["copied"]
        ),
        derived=tuple(
            DerivedFields(_item(destinations, index), tuple(names), _checked_number(number, sets))
            for index, names, number in data["derived"]
        ),
        generated=_generated(data, destinations),
        dropped=None if data["dropped"] is None else _checked_number(data["dropped"], sets),
        dataset_wide=tuple(
            (_item(destinations, index), _checked_number(number, sets)) for index, number in data["whole"]
        ),
        read_without_fields=tuple(_item(sources, index) for index in data["unread"]),
        written_without_fields=tuple(_item(destinations, index) for index in data["unwritten"]),
        unknown=_unknown_from_json(data.get("unknown"), sources, destinations),
    )


def _unknown_from_json(
    stated: list[tuple[int, list[int]]] | None, sources: Sequence[Dataset], destinations: Sequence[Dataset]
) -> StatedSources | None:
    """Return the sources stated to be related in an unknown way, or None if the row states none."""
    if stated is None:
        return None
    return tuple(
        (_item(destinations, to), tuple(_item(sources, n) for n in numbers)) for to, numbers in stated
    )


def _copied_from_json(
    destination: Dataset, names: Sequence[str], positions: str, fields: int
) -> CopiedFields:
    """Return an entry of copied fields. Raises ValueError unless each name has one source position."""
    _check_names(names)
    entry = CopiedFields(destination, tuple(names), decode_positions(positions, fields, count_max=len(names)))
    if len(entry.fields) != len(entry.positions):
        raise ValueError(f"{len(names)} copied fields have {len(entry.positions)} sources")
    return entry


def _set_from_json(texts: Sequence[str], fields: int, number: int) -> FieldSet:
    """Return the set of this number. Raises ValueError for a position of no field or of no earlier set."""
    # A set refers only to earlier sets, because resolving a cycle would not end.
    stops = (fields, fields, number, number)
    if len(texts) > len(stops):
        raise ValueError(f"a set has {len(texts)} members instead of {len(stops)}")
    return FieldSet(
        *(decode_positions(text, stop, count_max=stop) for text, stop in zip(texts, stops, strict=False))
    )


def _checked_number(number: Any, sets: Sequence[FieldSet]) -> int:
    """Return `number` unchanged. Raises IndexError if no set has this number."""
    _item(sets, number)
    return int(number)


def _check_names(names: Sequence[object]) -> None:
    """Raise ValueError for a name that is not text."""
    if not all(isinstance(name, str) for name in names):
        raise ValueError("a name is not text")


def _item(items: Sequence[T], index: int) -> T:
    """Return `items[index]`. Raises IndexError beyond the end, and for a negative index."""
    if index < 0:
        raise IndexError(f"{index} is not an index")
    return items[index]


def _sources(data: dict[str, Any]) -> tuple[Dataset, ...]:
    """Return the source datasets of a JSON object of either form, in order."""
    return tuple(Dataset(namespace, name) for namespace, name, _ in data["sources"])


def _destinations(data: dict[str, Any]) -> tuple[Dataset, ...]:
    """Return the destination datasets of a JSON object of either form, in order."""
    return tuple(Dataset(namespace, name) for namespace, name in data["destinations"])


def _fields(data: dict[str, Any]) -> tuple[DatasetField, ...]:
    """Return the fields of all sources of a JSON object, in the order of positions. Raises ValueError."""
    for _, _, names in data["sources"]:
        _check_names(names)
    return tuple(
        DatasetField(source, name)
        for source, (_, _, names) in zip(_sources(data), data["sources"], strict=True)
        for name in names
    )


def _generated(data: dict[str, Any], destinations: Sequence[Dataset]) -> tuple[DatasetField, ...]:
    """Return the generated fields by destination. Raises IndexError."""
    return tuple(
        DatasetField(_item(destinations, index), name) for index, names in data["generated"] for name in names
    )


def _from_form_1(data: dict[str, Any]) -> FieldMap:
    """Read form 1, in which each set of fields is a hex number whose bit n means source field n."""
    destinations = _destinations(data)
    fields = _fields(data)
    sets: dict[FieldSet, int] = {}

    def number_of(direct: str, indirect: str) -> int:
        """Return the number of the set of these direct and indirect fields, adding it if it is new."""
        field_set = FieldSet(_bit_positions(direct, len(fields)), _bit_positions(indirect, len(fields)))
        return sets.setdefault(field_set, len(sets))

    derived = tuple(
        DerivedFields(_item(destinations, index), tuple(names), number_of(direct, indirect))
        for index, names, direct, indirect in data["flows"]
    )
    dataset_wide = tuple((_item(destinations, index), number_of("0", bits)) for index, bits in data["whole"])
    dropped = number_of(*data["dropped"]) if data["dropped"] != ["0", "0"] else None
    return FieldMap(
        fields=fields,
        sources=_sources(data),
        destinations=destinations,
        sets=tuple(sets),
        copied=(),
        derived=derived,
        generated=_generated(data, destinations),
        dropped=dropped,
        dataset_wide=dataset_wide,
        read_without_fields=tuple(_item(_sources(data), index) for index in data["unread"]),
        written_without_fields=tuple(_item(destinations, index) for index in data["unwritten"]),
    )


def _bit_positions(text: str, stop: int) -> tuple[int, ...]:
    """Return the positions of the set bits of a hex number. Raises ValueError if one is not below `stop`."""
    bits = int(text, 16)
    if bits < 0 or bits.bit_length() > stop:
        raise ValueError("a set has a bit for no field")
    digits = bin(bits)[:1:-1]
    return tuple(match.start() for match in re.finditer("1", digits))
