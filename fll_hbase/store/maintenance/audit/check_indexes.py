"""Checks of references, ways, the run index, catalogue rows, alias rows and event bodies."""

from __future__ import annotations

from fll_hbase.keys import calendars, layout, ranges, retention
from fll_hbase.keys.codec import SEPARATOR
from fll_hbase.keys.columns import is_known
from fll_hbase.model import run_events
from fll_hbase.model.checksum import digest
from fll_hbase.runtime.errors import CorruptRow
from fll_hbase.store.copying import progress
from fll_hbase.store.maintenance.audit.expectations import RowFacts, cell_text
from fll_hbase.store.maintenance.audit.findings import Finding, Kind, unknown_columns
from fll_hbase.store.maintenance.liveness import needed_cell
from fll_hbase.tables import Cell, Row

_MARK_BEFORE_CALENDARS = layout.PROPERTIES + b"period-index"
"""The mark that releases before calendars put."""


def collect_reference(key: bytes, row: Row, facts: RowFacts) -> None:
    """Add the facts of a reference. The key is not validated."""
    # A malformed key matches the need of no run, and is parsed when it is rechecked: most are never parsed.
    for column, cell in known_cells(key, row, facts).items():
        facts.present.append(cell_text(key, column, cell.value))


def collect_way(key: bytes, row: Row, facts: RowFacts) -> None:
    """Add the facts of a way, or check the horizons of a dataset. Raises CorruptRow.

    The key of a way is not validated, as above.
    """
    if key.startswith(calendars.HORIZONS):
        if calendars.horizon_row(ranges.dataset_of(key[len(layout.WAYS) :])) != key:
            raise CorruptRow("is not the key of the horizons of a dataset")
        for column, cell in known_cells(key, row, facts).items():
            layout.parse_horizon(column)
            _check_empty(column, cell)
        return
    for column, cell in known_cells(key, row, facts).items():
        if column != calendars.WAY:
            raise CorruptRow(f"{column!r} is not the column of a way")
        facts.present.append(cell_text(key, column, cell.value))


def ignore(_key: bytes, _row: Row, _facts: RowFacts) -> None:
    """Check nothing: index rows of earlier releases are not read, and garbage collection deletes them."""


def collect_property(key: bytes, row: Row, facts: RowFacts) -> None:
    """Check a row about the table as a whole. Raises CorruptRow for another one, or a value in it."""
    if key == progress.ROW:
        progress.decode_progress(row[progress.COLUMN].value)
        return
    if key not in (calendars.MARK_ROW, _MARK_BEFORE_CALENDARS, retention.REQUESTS_ROW):
        raise CorruptRow("is not the key of a property of the table")
    for column, cell in known_cells(key, row, facts).items():
        if column.startswith(retention.REQUEST):
            retention.parse_request(column)
        _check_empty(column, cell)


def collect_run_index(key: bytes, row: Row, facts: RowFacts) -> None:
    """Add the facts of a row of the run index. The key is not validated, as above."""
    # As garbage collection, by run and start: cells of programs that the run had before stay as long as it.
    facts.present.append(needed_cell(key, b"").row)
    for column, cell in known_cells(key, row, facts).items():
        text = cell_text(key, column, cell.value)
        facts.present.append(text)
        facts.allowed.append(text)


def collect_dataset(key: bytes, row: Row, facts: RowFacts) -> None:
    """Add the facts of a catalogue row, and a finding for each altered cell. Raises CorruptRow."""
    if layout.dataset_row(ranges.dataset_of(key)) != key:
        raise CorruptRow("is not the key of a catalogue row")
    for column, cell in known_cells(key, row, facts).items():
        _check_catalogue_cell(column, cell)
        if _has_digest(column) and digest(cell.value).encode() != column.rpartition(SEPARATOR)[-1]:
            facts.findings.append(Finding(Kind.ALTERED, key, column.decode()))
        text = cell_text(key, column, cell.value)
        facts.present.append(text)
        # Fields of contents that were deleted stay as long as the dataset: no finding. Neither is metadata.
        facts.allowed.append(text)
    if _is_of_runs(row):
        facts.present.append(key)


def collect_aliases(key: bytes, row: Row, facts: RowFacts) -> None:
    """Add the facts of an alias row: each alias is expected at both datasets. Raises CorruptRow."""
    dataset = ranges.dataset_of(key)
    if layout.alias_row(dataset) != key:
        raise CorruptRow("is not the key of an alias row")
    for column in known_cells(key, row, facts):
        alias = layout.parse_alias(column)
        facts.present.append(cell_text(key, column))
        facts.allowed.append(cell_text(key, column))
        facts.expected.append(cell_text(layout.alias_row(alias), layout.alias_column(dataset)))


def collect_event_body(key: bytes, row: Row, facts: RowFacts) -> None:
    """Add the facts of an event body, the lineage or run facts that events report, stored once.

    Raises CorruptRow if the cell is missing or cannot be decoded; a wrong digest is a finding.
    """
    facts.present.append(key)
    if layout.EVENT_BODY not in known_cells(key, row, facts):
        raise CorruptRow(f"has {sorted(row)!r}, but not {layout.EVENT_BODY!r}")
    body = row[layout.EVENT_BODY].value
    if layout.event_body_row(digest(body)) != key:
        facts.findings.append(Finding(Kind.ALTERED, key, layout.EVENT_BODY.decode()))
        return
    # Lineage and facts bodies share the prefix and have no mark of their kind: it has to decode as either.
    try:
        run_events.decode_lineage(body)
    except CorruptRow:
        run_events.decode_run_facts(body)


def known_cells(key: bytes, row: Row, facts: RowFacts) -> Row:
    """Return the cells of known columns, and add a finding on the others, which a newer release may use."""
    unknown = [column for column in row if not is_known(key, column)]
    if not unknown:
        return row
    facts.findings += unknown_columns(key, unknown)
    return {column: cell for column, cell in row.items() if column not in unknown}


def _is_of_runs(row: Row) -> bool:
    """Return whether only runs put a catalogue row, so that a content names its dataset."""
    # Metadata that is recorded without a run declares fields, or has none at all.
    is_declared = any(column.startswith(layout.DECLARED) for column in row)
    return not is_declared and any(column.startswith((layout.WRITTEN, layout.READ)) for column in row)


def _has_digest(column: bytes) -> bool:
    """Return whether a catalogue column ends with the digest of its value."""
    if column.startswith(layout.DESCRIPTION):
        return True
    field = layout.parse_field_column(column)
    return field is not None and field[2]


def _check_catalogue_cell(column: bytes, cell: Cell) -> None:
    """Raise CorruptRow unless the cell has a catalogue's column, and a value only under a digest."""
    if _has_digest(column):
        return
    if layout.parse_field_column(column) is None and column != layout.EXISTS:
        layout.parse_horizon(column)
    _check_empty(column, cell)


def _check_empty(column: bytes, cell: Cell) -> None:
    """Raise CorruptRow unless the value of a cell is empty."""
    if cell.value:
        raise CorruptRow(f"{column!r} has the value {cell.value[:100]!r}, not an empty one")
