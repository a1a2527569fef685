"""Documents of exported rows: their members, and values that exports write in several ways."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import msgspec

from fll_hbase.model.dataset_spelling import path_name
from fll_hbase.model.datasets import Dataset
from fll_hbase.model.lineage import FieldLineageInfo
from fll_hbase.model.runs import ProgramRun, RecordedRun, State, encode_details
from fll_hbase.runtime import deadline
from fll_hbase.runtime.errors import FieldError
from fll_hbase.sources.native.document import read_head
from fll_hbase.sources.validation import ID_BYTES_MAX, NAME_BYTES_MAX, Part

DATASET_NAMESPACE = "datasetNamespace"
ERROR_CHARACTERS_MAX = 2_000
"""Longest stored error of a failed statement."""

_TARGETS_MAX = 3
"""Written tables in the name of a program."""
_ZONE = re.compile(r" (?:UTC|Z|([+-]\d\d):?(\d\d))$")
_NUMBER = re.compile(r"\d{10,}(?:\.\d*)?|\d\.\d+[Ee]\+?\d+")
"""A number as text, as BigQuery's API writes times. Shorter ones are dates, such as `20260301`."""
_DIVISORS = ((10**11, 1), (10**14, 10**3), (10**17, 10**6))
"""The divisors of seconds, milliseconds and microseconds, each with the number that is too large for it."""
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")


class Row(Part):
    """A row, or an object inside it, and methods for values that exports write in several ways."""

    __slots__ = ()

    def first_text(self, *names: str, bytes_max: int | None = None) -> str:
        """Return the first column that is not null or empty, "" if there is none; an integer becomes text.

        Any other value, and a text of more than `bytes_max` bytes, adds an error and returns `?`.
        """
        for name in names:
            value = self.get(name)
            # Exports write ids as numbers if all of their characters are digits.
            if type(value) is int:
                return str(value)
            if value is not None and value != "":
                return self.validator.name(value, self.path_of(name), bytes_max=bytes_max)
        return ""

    def required_text(self, *names: str, bytes_max: int | None = None) -> str:
        """Return the first column as `first_text` does; `?` with an error if there is none."""
        value = self.first_text(*names, bytes_max=bytes_max)
        if not value:
            others = f", and so is {', '.join(names[1:])}" if len(names) > 1 else ""
            self.error(f"missing{others}", names[0])
        return value or "?"

    def first_time_ms(self, *names: str) -> int:
        """Return the first time that is not null, in ms since 1970; 0 with an error for a missing or bad one.

        The last name is in the error of a missing time. A number, also as text of ten digits or more, counts
        seconds, milliseconds, microseconds or nanoseconds since 1970, by its size. Any other text is ISO
        8601, also with a space before the zone.
        """
        name = next((name for name in names if self.get(name) not in (None, "")), names[-1])
        value: Any = self.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool):
            value = _number_to_text(value)
        elif isinstance(value, str) and _NUMBER.fullmatch(value):
            value = _number_to_text(float(value))
        elif isinstance(value, str):
            value = _ZONE.sub(lambda zone: f"{zone[1]}:{zone[2]}" if zone[1] else "Z", value)
        given = {} if value is None or value == "" else {name: value}
        return Part(self.validator, given, self.path).time_ms(name)

    def nested(self, name: str) -> Row:
        """Return a column, parsed if it is a text, which must be JSON.

        The value is None if the column is missing, blank or, with an error, not JSON.
        """
        value = self.get(name)
        if isinstance(value, str):
            try:
                value = msgspec.json.decode(value) if value.strip() else None
            except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError) as error:
                self.error(f"is not JSON: {error}", name)
                value = None
        return Row(self.validator, value, self.path_of(name))

    def record(self, name: str) -> Row:
        """Return a column, an object or its JSON text, or {} if missing; add an error for another type."""
        part = self.nested(name)
        return Row(self.validator, {}, part.path) if part.value is None else part.as_object()

    def nested_items(self, name: str) -> list[Row]:
        """Return the items of an array of objects, none if it is missing; add errors for other values."""
        part = self.nested(name)
        if part.value is not None and not isinstance(part.value, list):
            part.error("must be an array of objects")
        return [item for item in part.listed() if item.as_object().is_object]


@dataclass(frozen=True, slots=True)
class RowDocument:
    """The rows of a document, the namespace of its runs, and the namespace of its datasets or ""."""

    top: Part
    rows: tuple[Row, ...]
    namespace: str
    dataset_namespace: str

    def read_each(self, read_run: Callable[[Row, RowDocument], RecordedRun | None]) -> ParsedRows:
        """Return the runs that `read_run` returns for the rows, without None. Raises like `parsed`."""
        return self.parsed([read_run(row, self) for row in deadline.watched(self.rows)])

    def parsed(self, runs: Iterable[RecordedRun | None]) -> ParsedRows:
        """Return the runs without None, with the warnings. Raises UnreadableDocument with all errors."""
        self.top.validator.check()
        return ParsedRows(tuple(filter(None, runs)), tuple(self.top.validator.warnings))

    def recorded(
        self,
        info: FieldLineageInfo,
        *,
        run: str,
        start_ms: int,
        application: str,
        kind: str,
        program: str,
        state: State,
        user: str,
        sql: str,
        error: str,
        parent: str = "",
    ) -> RecordedRun:
        """Return the run of a statement, with at most ERROR_CHARACTERS_MAX characters of its error."""
        details = encode_details(sql=sql, error=error[:ERROR_CHARACTERS_MAX], parent=parent, user=user)
        return RecordedRun(
            ProgramRun(self.namespace, application, "", kind, program, run, start_ms, state, details), info
        )


@dataclass(frozen=True, slots=True)
class ParsedRows:
    """A run for each statement of the rows, and warnings."""

    runs: tuple[RecordedRun, ...]
    warnings: tuple[FieldError, ...]


def read_rows(document: object, source: str, *, namespace: str | None, has_lower_names: bool) -> RowDocument:
    """Read the rows in the member `source`; with `has_lower_names`, names of columns ignore case.

    `namespace` comes from the URL. If it is None, the document must contain one. Adds an error for each row
    that is not an object, and if there are no rows. Raises UnreadableDocument for anything but an object.
    """
    top, namespace = read_head(document, namespace, source, "namespace", DATASET_NAMESPACE)
    dataset_namespace = top.optional(DATASET_NAMESPACE, bytes_max=ID_BYTES_MAX)
    if top.get(source) == []:
        top.error("must have at least one row", source)
    items = [item for item in top.items(source, required=True) if item.as_object().is_object]
    rows = tuple(_row(item, has_lower_names=has_lower_names) for item in items)
    return RowDocument(top, rows, namespace, dataset_namespace)


def _row(item: Part, *, has_lower_names: bool) -> Row:
    """Return a row, maybe with lower-case names; add an error for names that differ only in case."""
    members = {name.lower() if has_lower_names else name: value for name, value in item.members.items()}
    if len(members) < len(item.members):
        item.error("has two columns whose names differ only in case")
    return Row(item.validator, members, item.path)


def _number_to_text(number: float) -> str:
    """Return a number of seconds or of a smaller unit since 1970 as a time, or as it is."""
    divisor = next((divisor for below, divisor in _DIVISORS if number < below), 10**9)
    try:
        return datetime.fromtimestamp(number / divisor, tz=UTC).isoformat(timespec="milliseconds")
    except (ValueError, OverflowError, OSError):
        return str(number)


def path_dataset(path: str, namespace: str) -> Dataset:
    """Return a path as captured jobs and OpenLineage name it: `s3://bucket/a/` is `a` in `s3://bucket`.

    Partitions at its end are removed. A path without a scheme, or whose own namespace is too long,
    is in `namespace`, unchanged.
    """
    dataset = Dataset(*path_name(path))
    is_uri = _SCHEME.match(path) and len(dataset.namespace.encode()) <= ID_BYTES_MAX
    return dataset if is_uri else Dataset(namespace, path)


def program_name(verb: str, targets: Iterable[Dataset]) -> str:
    """Return a name for statements that write: `INSERT a, b, c and 2 more`, or the verb; cut if too long."""
    names = [dataset.name for dataset in targets]
    more = f" and {len(names) - _TARGETS_MAX} more" if len(names) > _TARGETS_MAX else ""
    name = f"{verb} {', '.join(names[:_TARGETS_MAX])}{more}".strip()
    return name.encode()[:NAME_BYTES_MAX].decode(errors="ignore")
