"""What do the other rows say: the day index, the catalogue, further names, and parts of events."""

from __future__ import annotations

from fll_hbase.errors import CorruptRow
from fll_hbase.keys import layout, ranges
from fll_hbase.keys.codec import SEPARATOR, day_of
from fll_hbase.model import run_events
from fll_hbase.model.checksum import digest
from fll_hbase.store.maintenance.audit.expectations import Said, cell_text
from fll_hbase.store.maintenance.audit.findings import Finding, Kind
from fll_hbase.tables import Cell, Row

_WITNESSES = (layout.WITNESS, layout.FAILED_WITNESS)


def tell_reference(key: bytes, row: Row, said: Said) -> None:
    """References are there; whether they can be read counts only where no run needs them."""
    for column, cell in row.items():
        said.found.append(cell_text(key, column, cell.value))


def tell_index(key: bytes, row: Row, said: Said) -> None:
    """Index rows are there, if their witnesses can be read. Raises CorruptRow."""
    day = None
    for column, cell in row.items():
        if column in _WITNESSES:
            day = layout.day_in(key) if day is None else day
            witness = layout.parsed_tail(cell.value)
            if day_of(witness.start_ms) != day:
                raise CorruptRow(f"{column.decode()} is a witness of another day: {cell.value!r}")
        said.found.append(cell_text(key, column))


def tell_end_point(key: bytes, row: Row, said: Said) -> None:
    """Catalogue cells may be there: schemas put them too. Raises CorruptRow."""
    if layout.end_point_row(ranges.end_point_in(key)) != key:
        raise CorruptRow("is not the key of a catalogue row")
    for column, cell in row.items():
        _check_catalogue(column, cell)
        if _names_digest(column) and digest(cell.value).encode() != column.rpartition(SEPARATOR)[-1]:
            said.faults.append(Finding(Kind.ALTERED, key, column.decode()))
        text = cell_text(key, column, cell.value)
        said.found.append(text)
        said.allowed.append(text)


def tell_aliases(key: bytes, row: Row, said: Said) -> None:
    """A further name is told at both ends. Raises CorruptRow."""
    end_point = ranges.end_point_in(key)
    if layout.alias_row(end_point) != key:
        raise CorruptRow("is not the key of an alias row")
    for column in row:
        alias = layout.parsed_alias(column)
        said.found.append(cell_text(key, column))
        said.allowed.append(cell_text(key, column))
        said.expected.append(cell_text(layout.alias_row(alias), layout.alias_column(end_point)))


def tell_part(key: bytes, row: Row, said: Said) -> None:
    """A part is there, and is what its digest names. Raises CorruptRow."""
    said.found.append(key)
    if row.keys() != {layout.PART}:
        raise CorruptRow(f"holds {sorted(row)!r}, not {layout.PART!r} alone")
    text = row[layout.PART].value
    if layout.part_row(digest(text)) != key:
        said.faults.append(Finding(Kind.ALTERED, key, layout.PART.decode()))
        return
    try:
        run_events.parsed_part(text)
    except CorruptRow:
        run_events.parsed_facts(text)


def _names_digest(column: bytes) -> bool:
    if column.startswith(layout.DESCRIPTION):
        return True
    field = layout.parsed_field_column(column)
    return field is not None and field[2]


def _check_catalogue(column: bytes, cell: Cell) -> None:
    """Raises CorruptRow for what is no cell of the catalogue."""
    if _names_digest(column):
        return
    if layout.parsed_field_column(column) is None and column != layout.EXISTS:
        layout.parsed_horizon(column)
    if cell.value:
        raise CorruptRow(f"{column!r} holds {cell.value[:100]!r}, not nothing")
