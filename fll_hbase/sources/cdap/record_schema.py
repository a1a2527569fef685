"""Record schemas: from CDAP's Avro-like JSON to full field paths with types."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

from fll_hbase.runtime import deadline
from fll_hbase.runtime.errors import UnreadableDocument
from fll_hbase.sources import strict_json
from fll_hbase.sources.validation import NAME_BYTES_MAX

FIELD_CHARS_MIN = 16
"""Minimum characters of a field in JSON; a schema's text has room for one field per this many."""

# Bounds the recursion of these functions, which need several stack frames for each level.
DEPTH_MAX = 64
_NULL = "null"


@dataclass(frozen=True, slots=True)
class Schema:
    """Types by full field path, in order, and the paths inside each record by the record's path."""

    types: Mapping[str, str]
    records: Mapping[str, tuple[str, ...]]


class InvalidSchema(Exception):
    """A string that is not the schema of a record; the message says why."""


class TooManyFields(InvalidSchema):
    """A schema whose named records expand to more fields than allowed."""


def parse_schema(text: str, *, spare_fields: int) -> Schema:
    """Parse a schema with at most `spare_fields` beyond its text's room. Raises InvalidSchema, TooLarge."""
    try:
        record = strict_json.parse(text.encode())
    except (UnreadableDocument, UnicodeEncodeError) as error:
        raise InvalidSchema(str(error)) from error
    if not isinstance(record, dict) or record.get("type") != "record":
        raise InvalidSchema("not an object with the type `record`")
    # Records that name each other can grow exponentially, so the text's length bounds the number of fields.
    expansion = _Expansion(len(text) // FIELD_CHARS_MIN + spare_fields)
    expansion.add_record(record, "", frozenset())
    records = {path: tuple(paths) for path, paths in expansion.records.items()}
    return Schema(expansion.types, records)


def describe_type(schema: object, depth: int = 0) -> str:
    """Return a string such as `long`, `string?` (nullable) or `array<string>`; "" if too deep or unknown."""
    if depth > DEPTH_MAX:
        return ""
    match schema:
        case str():
            return schema
        case list():
            return _describe_union([describe_type(branch, depth + 1) for branch in schema])
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


def _describe_union(types: list[str]) -> str:
    """Return the text of a union: `union<a, b>` of several types, with `?` at the end if it has null."""
    branches = [name for name in types if name != _NULL]
    if not branches:
        return _NULL
    union = branches[0] if len(branches) == 1 else f"union<{', '.join(branches)}>"
    return f"{union}?" if len(branches) < len(types) else union


@dataclass(slots=True)
class _Expansion:
    """Fields found so far, and the records that other records refer to by name."""

    fields_max: int
    types: dict[str, str] = field(default_factory=dict)
    records: dict[str, dict[str, None]] = field(default_factory=dict)
    by_name: dict[str, dict[str, Any]] = field(default_factory=dict)

    def add_record(self, record: dict[str, Any], path: str, ancestors: frozenset[int]) -> None:
        """Add a record's fields at a path; `ancestors` are ids of records around it. Raises InvalidSchema."""
        name, fields, count = record.get("name"), record.get("fields"), len(self.types)
        if not isinstance(fields, list):
            raise InvalidSchema(f"the record at {path or 'the top'!r} lists no fields")
        if len(ancestors) > DEPTH_MAX:
            raise InvalidSchema(f"records nest deeper than {DEPTH_MAX}")
        if isinstance(name, str):
            self.by_name.setdefault(name, record)
        if path:
            self.records[path] = {}
        for member in deadline.watched(fields):
            self._add_field(member, path, ancestors | {id(record)})
        # A record without fields is a field itself.
        if path and len(self.types) == count:
            self._add_leaf(path, "record")

    def _add_field(self, member: object, parent: str, ancestors: frozenset[int]) -> None:
        """Add a field, or its records' fields; a recursive record is a plain field. Raises InvalidSchema."""
        if not isinstance(member, dict) or "type" not in member:
            raise InvalidSchema(f"a field of {parent or 'the top'!r} has no name or no type")
        name = member.get("name")
        if not isinstance(name, str) or not name:
            raise InvalidSchema("a field has no name")
        path = f"{parent}/{name}" if parent else name
        if len(path.encode()) > NAME_BYTES_MAX:
            raise InvalidSchema(f"the name of a field is longer than {NAME_BYTES_MAX} bytes")
        records = [record for record in self._records_of(member["type"]) if id(record) not in ancestors]
        for record in records:
            self.add_record(record, path, ancestors)
        if not records:
            self._add_leaf(path, describe_type(member["type"]))

    def _add_leaf(self, path: str, type_name: str) -> None:
        """Add a field and list it in the records around it. Raises TooManyFields."""
        self.types[path] = type_name
        if len(self.types) > self.fields_max:
            raise TooManyFields(
                f"its records name each other, which makes more than {self.fields_max} fields"
            )
        # An operation may name a record to mean all fields inside it.
        for ancestor in accumulate(path.split("/")[:-1], "{}/{}".format):
            if ancestor in self.records:
                self.records[ancestor][path] = None

    def _records_of(self, schema: object, depth: int = 0) -> Iterator[dict[str, Any]]:
        """Yield the records inside a type, through arrays, maps and unions. Raises InvalidSchema."""
        if depth > DEPTH_MAX:
            raise InvalidSchema(f"types nest deeper than {DEPTH_MAX}")
        match schema:
            case str() if schema in self.by_name:
                yield self.by_name[schema]
            case list():
                for branch in schema:
                    yield from self._records_of(branch, depth + 1)
            case dict() if schema.get("type") == "record":
                yield schema
            case (
                {"type": "array", "items": inner}
                | {"type": "map", "values": inner}
                | {"type": dict() | list() as inner}
            ):
                yield from self._records_of(inner, depth + 1)
