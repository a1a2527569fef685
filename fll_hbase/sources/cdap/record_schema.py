"""Which fields does a record's schema have: Avro-like JSON as CDAP writes it, to full paths with types."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from fll_hbase.errors import UnreadableDocument
from fll_hbase.sources import strict_json
from fll_hbase.sources.validation import NAME_BYTES_MAX

FIELD_TEXT_MIN = 16
"""Characters that it takes to say a field; records that name each other make more of them of a short text."""

DEPTH_MAX = 64
_NULL = "null"


@dataclass(frozen=True, slots=True)
class Schema:
    """Fields as full paths with their types, in order; per record, at any depth, the paths inside it."""

    types: Mapping[str, str]
    records: Mapping[str, tuple[str, ...]]


class InvalidSchema(Exception):
    """Not the schema of a record; the text says why."""


class TooManyFields(InvalidSchema):
    """A schema whose records name each other, and come to more fields than they may."""


def parse_schema(text: str, *, spare: int) -> Schema:
    """The fields of a schema, at most `spare` more than its text has room for. Raises NoSchema."""
    try:
        said = strict_json.parse(text.encode())
    except (UnreadableDocument, UnicodeEncodeError) as error:
        raise InvalidSchema(str(error)) from error
    if not isinstance(said, dict) or said.get("type") != "record":
        raise InvalidSchema("not an object with the type `record`")
    walk = _Walk(len(text) // FIELD_TEXT_MIN + spare)
    walk.add(said, "", frozenset())
    return Schema(walk.types, {path: tuple(paths) for path, paths in walk.records.items()})


def describe_type(said: object, depth: int = 0) -> str:
    """A type in few words: `long`, `string?` where it may be null, `array<string>`, `map<string, long>`."""
    if depth > DEPTH_MAX:
        return ""
    match said:
        case str():
            return said
        case list():
            return _union([describe_type(one, depth + 1) for one in said])
        case {"logicalType": "decimal", "precision": int(precision), "scale": int(scale)}:
            return f"decimal({precision}, {scale})"
        case {"logicalType": str(name)}:
            return name
        case {"type": "array", "items": items}:
            return f"array<{describe_type(items, depth + 1)}>"
        case {"type": "map", "values": values, **others}:
            keys = others.get("keys", "string")
            return f"map<{describe_type(keys, depth + 1)}, {describe_type(values, depth + 1)}>"
        case {"type": inner}:
            return describe_type(inner, depth + 1)
    return ""


def _union(types: list[str]) -> str:
    some = [said for said in types if said != _NULL]
    if not some:
        return _NULL
    union = some[0] if len(some) == 1 else f"union<{', '.join(some)}>"
    return f"{union}?" if len(some) < len(types) else union


@dataclass(slots=True)
class _Walk:
    """The fields found so far, and the records that have a name others may say for them."""

    fields_max: int
    types: dict[str, str] = field(default_factory=dict)
    records: dict[str, dict[str, None]] = field(default_factory=dict)
    named: dict[str, dict[str, Any]] = field(default_factory=dict)

    def add(self, record: dict[str, Any], path: str, inside: frozenset[int]) -> None:
        """The fields of a record at a path; `inside` are the records around it."""
        name, fields, before = record.get("name"), record.get("fields"), len(self.types)
        if not isinstance(fields, list):
            raise InvalidSchema(f"the record at {path or 'the top'!r} lists no fields")
        if len(inside) > DEPTH_MAX:
            raise InvalidSchema(f"records nest deeper than {DEPTH_MAX}")
        if isinstance(name, str):
            self.named.setdefault(name, record)
        if path:
            self.records[path] = {}
        for said in fields:
            self._field(said, path, inside | {id(record)})
        if path and len(self.types) == before:
            self._leaf(path, "record")

    def _field(self, said: object, path: str, inside: frozenset[int]) -> None:
        if not isinstance(said, dict) or "type" not in said:
            raise InvalidSchema(f"a field of {path or 'the top'!r} has no name or no type")
        full = f"{path}/{_name(said)}" if path else _name(said)
        if len(full.encode()) > NAME_BYTES_MAX:
            raise InvalidSchema(f"the name of a field is longer than {NAME_BYTES_MAX} bytes")
        records = [record for record in self._records(said["type"]) if id(record) not in inside]
        for record in records:
            self.add(record, full, inside)
        if not records:
            self._leaf(full, describe_type(said["type"]))

    def _leaf(self, path: str, said: str) -> None:
        self.types[path] = said
        if len(self.types) > self.fields_max:
            raise TooManyFields(
                f"its records name each other, which makes more than {self.fields_max} fields"
            )
        for record in _around(path):
            if record in self.records:
                self.records[record][path] = None

    def _records(self, said: object, depth: int = 0) -> Iterator[dict[str, Any]]:
        """The records that a type holds: itself, an item of an array, a value of a map, one of a union."""
        if depth > DEPTH_MAX:
            raise InvalidSchema(f"types nest deeper than {DEPTH_MAX}")
        match said:
            case str() if said in self.named:
                yield self.named[said]
            case list():
                for one in said:
                    yield from self._records(one, depth + 1)
            case dict() if said.get("type") == "record":
                yield said
            case {"type": "array", "items": inner} | {"type": "map", "values": inner}:
                yield from self._records(inner, depth + 1)
            case {"type": dict() | list() as inner}:
                yield from self._records(inner, depth + 1)


def _name(said: dict[str, Any]) -> str:
    name = said.get("name")
    if not isinstance(name, str) or not name:
        raise InvalidSchema("a field has no name")
    return name


def _around(path: str) -> Iterator[str]:
    at = path.find("/")
    while at != -1:
        yield path[:at]
        at = path.find("/", at + 1)
