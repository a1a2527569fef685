"""Documents from files of exported rows: JSON lines, a JSON array, CSV or Parquet, in bounded memory."""

from __future__ import annotations

import codecs
import csv
import io
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, BinaryIO

import msgspec

from fll_hbase.ingest.ndjson import (
    GZIP_ERRORS,
    GZIP_MAGIC,
    InputLine,
    open_stream,
    read_documents,
    refused,
    too_large,
)
from fll_hbase.ingest.registry import DocumentFormat
from fll_hbase.runtime.errors import ConfigurationError, FieldError, LineageError, UnreadableDocument

PARQUET_MAGIC = b"PAR1"
PARQUET_ROWS = 500
"""Rows of Parquet that are in memory at a time."""
_DELIMITERS = {".csv": ",", ".tsv": "\t", "json": "", ".jsonl": ""}
"""The delimiter of CSV by the end of a file's name, empty for JSON."""
_FIELD_CHARACTERS_MAX = 2**31 - 1
"""The largest limit of the library on every system; rows have a smaller limit of their own."""
NULL_TEXTS = ("", r"\N", "null", "NULL")
"""Texts of a null in CSV: Snowflake writes `\\N`, and downloads of Databricks have `null`."""


@dataclass(frozen=True, slots=True)
class RowFile:
    """A file of rows of `row_format`; names of tables are in `dataset_namespace`, if that is not empty."""

    row_format: DocumentFormat
    dataset_namespace: str = ""

    def read(self, file: BinaryIO, *, name: str, bytes_max: int) -> Iterator[InputLine]:
        """Yield a document for each run, of at most `bytes_max` bytes of rows, numbered by its first line.

        Rows must be in ascending order of the columns that identify runs: a run out of order has an error.
        The same goes for a run that is too large, or next to a row that cannot be read or has no run. `name`
        is the name of the file. In CSV, `bytes_max` also limits the characters of a row. In Parquet, rows are
        counted instead of lines. Raises ConfigurationError for Parquet without pyarrow or from a pipe.
        """
        rows = _read_rows(file, name=name, bytes_max=bytes_max)
        groups = _Groups(self.row_format.run_columns, bytes_max)
        for group in groups.split(rows):
            yield group if isinstance(group, InputLine) else InputLine(group.number, self.wrap(group.rows))

    def wrap(self, rows: Iterable[bytes]) -> bytes:
        """Return the document of rows, each a JSON object."""
        head, tail = self.ends()
        return b"".join((head, b",".join(rows), tail))

    def ends(self) -> tuple[bytes, bytes]:
        """Return the texts of a document in front of its rows and behind them."""
        member = {"datasetNamespace": self.dataset_namespace} if self.dataset_namespace else {}
        tail = json.dumps(member)[1:]
        return b'{"%s":[' % self.row_format.name.encode(), f"]{', ' if member else ''}{tail}".encode()


@dataclass(slots=True)
class _Group:
    """Adjacent rows of one run from line `number` on; an `error` takes the place of the rows."""

    key: str
    number: int
    rows: list[bytes] = field(default_factory=list)
    size_bytes: int = 0
    error: LineageError | None = None

    def add(self, raw: bytes, bytes_max: int) -> None:
        """Add a row, unless the group has an error; above `bytes_max` bytes it has TooLarge and no rows."""
        self.size_bytes += len(raw) + 1
        if self.size_bytes > bytes_max:
            self.error = self.error or too_large(bytes_max)
        if self.error:
            self.rows.clear()
        else:
            self.rows.append(raw)


class _Groups:
    """Splits rows into groups of one run each. Without `columns`, each row is a group."""

    def __init__(self, columns: tuple[str, ...], bytes_max: int) -> None:
        self._columns = columns
        self._bytes_max = bytes_max
        self._last_key = ""
        self._broken = 0
        """The line of the last row if that cannot be read or has no run, else 0."""

    def split(self, rows: Iterable[InputLine]) -> Iterator[_Group | InputLine]:
        """Yield groups, each row without a run alone, or errors in place of a row or of a group beside it."""
        group: _Group | None = None
        for row in map(_checked, rows):
            key = "" if row.error else _run_key(row.raw, self._columns)
            if group is not None and key != group.key:
                yield self._ended(group, broken=0 if key or not self._columns else row.number)
                group = None
            if key:
                group = group or self._begin(key, row.number)
                group.add(row.raw, self._bytes_max)
                continue
            if row.error:
                yield row
            else:
                # A row without a run is refused by its reader, which names all of its faults.
                only = _Group("", row.number)
                only.add(row.raw, self._bytes_max)
                yield self._ended(only)
            self._broken = row.number if self._columns else 0
        if group is not None:
            yield self._ended(group)

    def _begin(self, key: str, number: int) -> _Group:
        """Return a new group, with an error if it is out of order or follows a row in doubt (`_broken`)."""
        group = _Group(key, number)
        if key <= self._last_key:
            column = self._columns[0]
            detail = (
                f"run {key[:100]!r} follows run {self._last_key[:100]!r}: rows of a run may be elsewhere; "
                f"sort the rows by {column}, or by the first of {', '.join(self._columns)} that is not null"
            )
            group.error = UnreadableDocument([FieldError(column, detail)])
        elif self._broken:
            group.error = _incomplete(self._broken)
        self._last_key, self._broken = max(key, self._last_key), 0
        return group

    def _ended(self, group: _Group, *, broken: int = 0) -> _Group | InputLine:
        """Return a complete group, or its error if it has one or line `broken` follows, which has no run."""
        error = group.error or (_incomplete(broken) if broken else None)
        return InputLine(group.number, b"", error) if error else group


def _incomplete(number: int) -> UnreadableDocument:
    """Return the error of a run next to a row that cannot be read, which may belong to it."""
    detail = f"the row at line {number} cannot be read and may belong to this run; correct it first"
    return UnreadableDocument([FieldError("", detail)])


def _checked(row: InputLine) -> InputLine:
    """Return a row, or its error if it is not a JSON object."""
    # The text becomes a part of a document, in which any other text could have another meaning.
    try:
        if row.error is not None or isinstance(msgspec.json.decode(row.raw), dict):
            return row
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        return refused(row.number, f"not JSON: {error}")
    return refused(row.number, "must be an object with the columns of a row")


def _run_key(raw: bytes, columns: tuple[str, ...]) -> str:
    """Return the first of `columns`, in any case, with a value, as text; "" for none or another type."""
    if not columns:
        return ""
    members = {name.lower(): value for name, value in msgspec.json.decode(raw).items()}
    values = (members.get(column) for column in columns)
    key = next((value for value in values if value is not None and value != ""), "")
    return str(key) if isinstance(key, str | int) else ""


def _read_rows(file: BinaryIO, *, name: str, bytes_max: int) -> Iterator[InputLine]:
    """Yield the rows of a file as JSON with their lines; errors in place of unreadable rows.

    Only rows of CSV and Parquet are sure to be objects.
    """
    magic = file.read(len(PARQUET_MAGIC))
    if magic == PARQUET_MAGIC:
        yield from _read_parquet(file)
        return
    body = open_stream(file.read, head=magic, gzipped=magic.startswith(GZIP_MAGIC))
    try:
        delimiter = _delimiter(name, body.peek(1))
    except GZIP_ERRORS as error:
        yield refused(1, f"broken gzip: {error}; no row was read")
        return
    if delimiter:
        yield from _read_csv(body, delimiter=delimiter, characters_max=bytes_max)
    else:
        yield from read_documents(body, bytes_max=bytes_max)


def _delimiter(name: str, beginning: bytes) -> str:
    """Return the delimiter of CSV, or "" for JSON: by the name of a file, else by its first line."""
    plain = name.lower().removesuffix(".gz")
    for ending, delimiter in _DELIMITERS.items():
        if plain.endswith(ending):
            return delimiter
    line = beginning.removeprefix(codecs.BOM_UTF8).lstrip().partition(b"\n")[0]
    if not line or line.startswith((b"{", b"[")):
        return ""
    return "\t" if b"\t" in line else ","


def _read_csv(body: io.BufferedReader[Any], *, delimiter: str, characters_max: int) -> Iterator[InputLine]:
    """Yield the rows of CSV with a header line as JSON objects without values in NULL_TEXTS.

    A row with a wrong number of values is an error in its place. Text that is not CSV in UTF-8 ends the rows
    with an error, and so do a name twice in the header and a row of more than `characters_max` characters.
    """
    # Columns of JSON exceed the library's limit of fields, which is one for all readers of the process.
    csv.field_size_limit(_FIELD_CHARACTERS_MAX)
    text = _RowLines(io.TextIOWrapper(body, "utf-8-sig", newline=""), characters_max)
    lines = csv.reader(text, delimiter=delimiter, strict=True)
    number = 1
    try:
        header = next(lines, [])
        if repeated := sorted(name for name, count in Counter(header).items() if count > 1):
            raise csv.Error(f"the header has {', '.join(map(repr, repeated))} more than once")
        number = lines.line_num + 1
        text.begin()
        for values in lines:
            if values and len(values) != len(header):
                yield refused(number, f"has {len(values)} values, but the header has {len(header)}")
            elif values:
                row = {
                    name: value for name, value in zip(header, values, strict=True) if value not in NULL_TEXTS
                }
                yield InputLine(number, msgspec.json.encode(row))
            number = lines.line_num + 1
            text.begin()
    except (csv.Error, UnicodeDecodeError, *GZIP_ERRORS) as error:
        yield refused(number, f"not CSV in UTF-8: {error}. This line and all later lines were not read")


class _RowLines:
    """Iterates over the lines of a text, which end with csv.Error in a row of too many characters.

    Quoted values may have line ends, so the reader of CSV reads any number of lines for one row.
    """

    def __init__(self, text: io.TextIOBase, characters_max: int) -> None:
        self._text = text
        self._characters_max = self._left = characters_max

    def begin(self) -> None:
        """Begin a row with the next line: count its characters from 0. The reader calls this for each row."""
        self._left = self._characters_max

    def __iter__(self) -> Iterator[str]:
        """Yield the lines with their line ends."""
        while line := self._text.readline(self._left + 1):
            self._left -= len(line)
            if self._left < 0:
                raise csv.Error(f"a row has more than {self._characters_max} characters")
            yield line


def _read_parquet(file: BinaryIO) -> Iterator[InputLine]:
    """Yield the rows of a Parquet file from its beginning, numbered from 1, without nulls.

    A broken file ends with an error. Raises ConfigurationError without pyarrow, or if `file` cannot seek.
    """
    if not file.seekable():
        raise ConfigurationError("Parquet from standard input: give the name of the file instead")
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise ConfigurationError("Parquet needs pyarrow, which the extra `spark` installs") from error
    file.seek(0)
    number = 1
    try:
        # Spark writes INT96, and pandas nanoseconds, which Python's times do not have.
        for batch in pq.ParquetFile(file, coerce_int96_timestamp_unit="us").iter_batches(PARQUET_ROWS):
            types = [
                pa.timestamp("us", t.tz) if str(t).startswith("timestamp[ns") else t
                for t in batch.schema.types
            ]
            columns = [column.cast(t, safe=False) for column, t in zip(batch.columns, types, strict=True)]
            for row in pa.RecordBatch.from_arrays(columns, names=batch.schema.names).to_pylist():
                present = {name: value for name, value in row.items() if value is not None}
                yield InputLine(number, msgspec.json.encode(present, enc_hook=str))
                number += 1
    # Values that Python cannot represent raise ValueError or OverflowError.
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
        yield refused(number, f"not Parquet: {error}. This row and all later rows were not read")
