"""Stored rows for users: kind, names, times and values decoded from keys, columns and cells."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import msgspec

from fll_hbase.keys import access_rows, calendars, layout, ranges
from fll_hbase.keys.codec import SEPARATOR, unescape
from fll_hbase.keys.row_kinds import kind_name
from fll_hbase.model.datasets import Dataset
from fll_hbase.model.runs import RunKey
from fll_hbase.model.window import DAY_MS
from fll_hbase.runtime import typed_json
from fll_hbase.runtime.errors import CorruptRow, TooLarge
from fll_hbase.store.rows import calendar_rows, run_rows
from fll_hbase.tables import Cell, Row

Parts: TypeAlias = dict[str, Any]
"""Names in a key, as texts; members whose names end with `Ms` are times in milliseconds since 1970."""

CELLS_MAX = 100
"""Maximum number of cells shown per row; a dataset may have thousands of fields."""

VALUE_CHARACTERS_MAX = 200


@dataclass(frozen=True, slots=True)
class CellView:
    """A cell; `value` is decoded, or raw unless `is_readable`, and cut to VALUE_CHARACTERS_MAX."""

    column: str
    value: str
    size_bytes: int
    stamp_ms: int
    is_readable: bool = True


@dataclass(frozen=True, slots=True)
class RowView:
    """A row with its first cells; `error` says why the key cannot be read, or is ""."""

    key: str
    kind: str
    parts: Parts
    cells: tuple[CellView, ...]
    cells_total: int
    error: str = ""

    @property
    def is_readable(self) -> bool:
        """Return whether key and shown cells could be decoded."""
        return not self.error and all(cell.is_readable for cell in self.cells)


def view_row(key: bytes, row: Row) -> RowView:
    """Decode a row. Raises nothing: parts that cannot be decoded are shown as they are, and marked."""
    error = ""
    parts: Parts = {}
    try:
        if key[:2] not in _KEYS:
            raise CorruptRow("this release knows no row of this kind")
        parts = _KEYS[key[:2]](key)
    except (CorruptRow, TooLarge) as refusal:
        error = str(refusal)
    cells = tuple(_view_cell(key, column, row[column]) for column in sorted(row)[:CELLS_MAX])
    return RowView(to_text(key), kind_name(key), parts, cells, len(row), error)


def to_text(key: bytes) -> str:
    """Return a key or column as text: escaped names are ASCII, any other byte becomes `\\xNN`."""
    return key.decode("ascii", "backslashreplace")


def _view_cell(key: bytes, column: bytes, cell: Cell) -> CellView:
    """Return a cell with its value decoded and cut, or its bytes as Python writes them if that fails."""
    heads = _VALUES.get(key[:2], {})
    decode = next((heads[head] for head in heads if column.startswith(head)), bytes.decode)
    is_readable = True
    try:
        value = decode(cell.value)
    except (CorruptRow, ValueError):
        is_readable, value = False, repr(cell.value[:VALUE_CHARACTERS_MAX])
    if len(value) > VALUE_CHARACTERS_MAX:
        value = value[: VALUE_CHARACTERS_MAX - 1] + "…"
    return CellView(to_text(column), value, len(cell.value), cell.stamp_ms, is_readable)


def _dataset(dataset: Dataset) -> Parts:
    """Return the namespace and name of a dataset."""
    return {"namespace": dataset.namespace, "name": dataset.name}


def _run_parts(run: RunKey) -> Parts:
    """Return the id of a run, and its namespace if the id is unique in only that one."""
    return {"run": run.run} | ({"runNamespace": run.namespace} if run.namespace else {})


def _reference(key: bytes) -> Parts:
    """Return dataset, start and run id in the key of a reference. Raises CorruptRow."""
    segments = _segments(key, 5)
    tail = layout.parse_reference_tail(SEPARATOR.join(segments[3:]))
    return {**_dataset(ranges.dataset_of(key)), "startMs": tail.start_ms, **_run_parts(tail.run)}


_DIRECTIONS = {b"b": "backward", b"f": "forward"}


def _way(key: bytes) -> Parts:
    """Return dataset, direction, checksum and period of a way, or the dataset of a horizon row."""
    if key.startswith(calendars.HORIZONS):
        _, _, namespace, name = _segments(key, 4)
        return _dataset(Dataset(unescape(namespace), unescape(name)))
    _, direction, namespace, name, _, _ = _segments(key, 6)
    if direction not in _DIRECTIONS:
        raise CorruptRow(f"{key!r} has no direction")
    parts = _dataset(Dataset(unescape(namespace), unescape(name))) | {"direction": _DIRECTIONS[direction]}
    period, checksum = calendars.parse_way(key)
    return parts | {"checksum": checksum, "periodMs": _period_ms(period)}


def _calendar(key: bytes) -> Parts:
    """Return the checksum and the start of the period in the key of a calendar. Raises CorruptRow."""
    checksum, period = calendars.parse_calendar(key)
    return {"checksum": checksum, "periodMs": _period_ms(period)}


def _period_ms(period: int) -> int:
    """Return the start of a period in milliseconds since 1970."""
    return period * calendars.PERIOD_DAYS * DAY_MS


def _run_index(key: bytes) -> Parts:
    """Return the namespace, start and run id in a key of the run index. Raises CorruptRow."""
    namespace, tail = layout.split_run_index_key(key)
    reference = layout.parse_run_index_tail(tail)
    return {"namespace": unescape(namespace), "startMs": reference.start_ms, **_run_parts(reference.run)}


def _catalogue(key: bytes) -> Parts:
    """Return the dataset in the key of a catalogue row or an alias row. Raises CorruptRow."""
    _segments(key, 3)
    return _dataset(ranges.dataset_of(key))


def _tags(key: bytes) -> Parts:
    """Return the field in the key of a row of tags. Raises CorruptRow."""
    field = layout.parse_tagged_field(key)
    return {**_dataset(field.dataset), "field": field.name}


def _tag_index(key: bytes) -> Parts:
    """Return the tag and the field in a key of the tag index. Raises CorruptRow."""
    tag, field = layout.parse_tag_index(key)
    return {"tag": tag, **_dataset(field.dataset), "field": field.name}


def _policy(key: bytes) -> Parts:
    """Return the name in the key of a policy, and its namespace, if it has one. Raises CorruptRow."""
    name, namespace = layout.parse_policy(key)
    return {"policy": name} | ({"namespace": namespace} if namespace else {})


def _segments(key: bytes, count: int) -> list[bytes]:
    """Return the segments of a key. Raises CorruptRow unless there are `count`."""
    segments = key.split(SEPARATOR)
    if len(segments) != count:
        raise CorruptRow(f"{key!r} has {len(segments)} segments, not {count}")
    return segments


def _access(key: bytes) -> Parts:
    """Return the id of a token, or the user or group that has grants."""
    if key.startswith(access_rows.TOKENS):
        return {"token": access_rows.parse_token(key)}
    subject = access_rows.parse_subject(key)
    return {subject.kind.value: subject.name}


_KEYS: Mapping[bytes, Callable[[bytes], Parts]] = {
    layout.CONTENTS: lambda key: {"checksum": ranges.checksum_of(key)},
    layout.RUNS: lambda key: _run_parts(ranges.run_of(key)),
    **dict.fromkeys(layout.REFERENCES, _reference),
    layout.WAYS: _way,
    layout.CALENDARS: _calendar,
    layout.RUN_INDEX: _run_index,
    layout.DATASETS: _catalogue,
    layout.ALIASES: _catalogue,
    layout.EVENT_BODIES: lambda key: {"digest": layout.decode_checksum(_segments(key, 2)[1])},
    layout.TAGS: _tags,
    layout.TAG_INDEX: _tag_index,
    layout.POLICIES: _policy,
    layout.ACCESS: _access,
    layout.PROPERTIES: lambda key: {"property": unescape(_segments(key, 2)[1])},
}


def _names(value: bytes) -> str:
    """Return escaped program names, joined by `|`, as text with spaces, or "" for no names."""
    return " ".join(unescape(name) for name in value.split(SEPARATOR)) if value else ""


def _commit(value: bytes) -> str:
    """Return a document or commit record as text: checksum, start, state, then program and details if any."""
    head = run_rows.decode_head(value)
    shown = f"{head.checksum} start {head.start_ms} {head.state.value}"
    if run_rows.is_head_only(value):
        return shown
    run = run_rows.decode_run(RunKey(""), value).run
    names = f"{run.namespace} {run.application} {run.version} {run.type} {run.program}"
    return f"{shown} {names}" + (f" {run.details}" if run.details else "")


def _seal(value: bytes) -> str:
    """Return a seal as text: for each program, the number of runs and the listed ids."""
    texts = []
    # Starts are not shown, so any day will do.
    for part in calendar_rows.decode_seal(value, 0):
        ids = " ".join(run.run for run in part.runs)
        texts.append(f"{part.total}{' failed' if part.failed else ''} of {_names(part.program)}: {ids}")
    return "; ".join(texts)


def _json(value: bytes) -> str:
    """Return a value unchanged. Raises CorruptRow if it is not JSON."""
    try:
        typed_json.decode(value, msgspec.Raw)
    except msgspec.DecodeError as error:
        raise CorruptRow(f"not JSON: {error}") from error
    return value.decode()


_REFERENCE_VALUES = {layout.REFERENCE: _names, layout.FAILED_REFERENCE: _names}
_VALUES: Mapping[bytes, Mapping[bytes, Callable[[bytes], str]]] = {
    layout.RUNS: {layout.DOCUMENT: _commit, layout.COMMIT: _commit},
    **dict.fromkeys(layout.REFERENCES, _REFERENCE_VALUES),
    layout.CALENDARS: {calendars.SEAL: _seal, calendars.STARTS: _seal},
    layout.CONTENTS: dict.fromkeys(
        (layout.SOURCES, layout.DESTINATIONS, layout.FIELD_MAP, layout.OPERATION_NAMES, layout.OPERATION),
        _json,
    ),
    layout.EVENT_BODIES: {layout.EVENT_BODY: _json},
}
"""Decoders of values by row kind and beginning of the column; all other values are text.

Values of tags and policies are JSON, or empty if removed, and both can be shown as text.
"""
