"""Checks of all rows except runs and contents: keys, columns and values. `check_seals` counts runs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TypeAlias

from fll_hbase.keys import access_rows, calendars, layout, ranges, retention, row_kinds
from fll_hbase.keys.codec import SEPARATOR
from fll_hbase.model import run_events
from fll_hbase.model.checksum import digest
from fll_hbase.runtime.errors import CorruptRow
from fll_hbase.store.access import decode_grants, decode_token
from fll_hbase.store.copying import progress
from fll_hbase.store.maintenance.audit.findings import (
    Finding,
    Kind,
    Repair,
    RowFacts,
    cell_text,
    cell_texts,
    token_text,
    unknown_columns,
)
from fll_hbase.store.maintenance.liveness import run_index_row
from fll_hbase.store.policies import decode_policy
from fll_hbase.store.rows import calendar_rows, flow_states, tag_rows
from fll_hbase.store.rows.calendar_rows import TOKEN_BYTES, ContentDay, SealedRun
from fll_hbase.tables import Cell, Row

_MARK_BEFORE_CALENDARS = layout.PROPERTIES + b"period-index"
"""The mark that releases without calendars put."""

SEALS = calendars.SEAL, calendars.STARTS
"""Columns of the counts made with a day's token."""

Page: TypeAlias = Sequence[tuple[bytes, Row]]
"""Rows of one kind, at least one."""

_TOKEN = re.compile(b"[0-9a-f]{%d}" % (2 * TOKEN_BYTES))


def collect_references(page: Page, facts: RowFacts) -> None:
    """Add the facts of references. Keys are not validated."""
    # A malformed key matches no run's need, and recheck parses it: most keys are never parsed.
    facts.present += cell_texts(_known_page(page, facts))


def collect_way(key: bytes, row: Row, facts: RowFacts) -> None:
    """Add the facts of a way, whose key is not checked, or check a dataset's horizons.

    An unknown column becomes a finding. Raises CorruptRow for a horizon in a way, a way among
    horizons, a wrong key of horizons, and a horizon with a value.
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
    """Check nothing: index rows of earlier releases are never read, and garbage collection deletes them."""


def collect_property(key: bytes, row: Row, facts: RowFacts) -> None:
    """Check a row about the whole table. Raises CorruptRow for an unknown row or a malformed cell."""
    if key == progress.ROW:
        if progress.COLUMN not in row:
            raise CorruptRow(f"has no {progress.COLUMN!r}")
        progress.decode_progress(row[progress.COLUMN].value)
        return
    if key.startswith(layout.FLOW_STATES):
        flow_states.decode_state(key, row)
        return
    if key not in (calendars.MARK_ROW, _MARK_BEFORE_CALENDARS, retention.REQUESTS_ROW):
        raise CorruptRow("is not the key of a property of the table")
    for column, cell in known_cells(key, row, facts).items():
        if column.startswith(retention.REQUEST):
            retention.parse_request(column)
        retention.parse_purges([column])
        _check_empty(column, cell)


def collect_run_index(page: Page, facts: RowFacts) -> None:
    """Add the facts of rows of the run index. Keys are not validated; malformed ones match no run."""
    # Match by run and start, like garbage collection: cells of a run's former programs stay with the run.
    facts.present += [run_index_row(layout.split_run_index_key(key)[1]) for key, _ in page]
    facts.optional += cell_texts(_known_page(page, facts))


def collect_dataset(key: bytes, row: Row, facts: RowFacts) -> None:
    """Add the facts of a catalogue row, and a finding for each altered cell. Raises CorruptRow."""
    if layout.dataset_row(ranges.dataset_of(key)) != key:
        raise CorruptRow("is not the key of a catalogue row")
    for column, cell in known_cells(key, row, facts).items():
        if not _has_digest(column):
            if layout.parse_field_column(column) is None and column != layout.EXISTS:
                layout.parse_horizon(column)
            _check_empty(column, cell)
        elif digest(cell.value).encode() != column.rpartition(SEPARATOR)[-1]:
            facts.findings.append(Finding(Kind.ALTERED, key, column.decode()))
        # Fields of deleted contents stay as long as the dataset and are not a finding. Neither is metadata.
        facts.optional.append(cell_text(key, column, cell.value))
    # Only runs put fields without declaring any, and a content must name the dataset of a run.
    # Metadata recorded without a run declares fields, or has no fields.
    is_declared = any(column.startswith(layout.DECLARED) for column in row)
    if not is_declared and any(column.startswith((layout.WRITTEN, layout.READ)) for column in row):
        facts.present.append(key)


def collect_aliases(key: bytes, row: Row, facts: RowFacts) -> None:
    """Add the facts of an alias row: each alias is expected at both datasets. Raises CorruptRow."""
    dataset = ranges.dataset_of(key)
    if layout.alias_row(dataset) != key:
        raise CorruptRow("is not the key of an alias row")
    for column in known_cells(key, row, facts):
        alias = layout.parse_alias(column)
        facts.optional.append(cell_text(key, column))
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
    # Lineage and facts bodies share the prefix without a mark of their kind, so try to decode as either.
    try:
        run_events.decode_lineage(body)
    except CorruptRow:
        run_events.decode_run_facts(body)


def known_cells(key: bytes, row: Row, facts: RowFacts) -> Row:
    """Return the cells of known columns; add a finding for unknown ones, which a newer release may use."""
    unknown = row_kinds.unknown_names(key, row)
    if not unknown:
        return row
    facts.findings += unknown_columns(key, unknown)
    return {column: cell for column, cell in row.items() if column not in unknown}


def _known_page(page: Page, facts: RowFacts) -> Page:
    """Return rows with the cells of known columns, and add a finding for unknown ones to each row."""
    columns = {column for _, row in page for column in row}
    if not row_kinds.unknown_names(page[0][0], columns):
        return page
    return [(key, known_cells(key, row, facts)) for key, row in page]


def _has_digest(column: bytes) -> bool:
    """Return whether a catalogue column ends with a digest of its value."""
    if column.startswith(layout.DESCRIPTION):
        return True
    field = layout.parse_field_column(column)
    return field is not None and field[2]


def _check_empty(column: bytes, cell: Cell) -> None:
    """Raise CorruptRow unless the value of a cell is empty."""
    if cell.value:
        raise CorruptRow(f"{column!r} must be empty, and has the value {cell.value[:100]!r}")


def collect_calendar(key: bytes, row: Row, facts: RowFacts) -> None:
    """Add the facts of a calendar: the days with a token. Raises CorruptRow for a malformed key or column.

    A malformed token, or an unreadable seal made with the day's token, becomes a finding with a repair.
    """
    _, period = calendars.parse_calendar(key)
    days = set()
    for column in known_cells(key, row, facts):
        kind, day = calendars.parse_day_column(column, period)
        days.add(day)
        if kind == calendars.TOKEN:
            facts.present.append(token_text(key, day))
    for day in days:
        try:
            check_day(row, day)
        except CorruptRow as error:
            # A seal that does not match its token is never read, so it is ignored. A touch ends this one.
            facts.findings.append(Finding(Kind.UNREADABLE, key, str(error), Repair(key)))


def days_of(key: bytes, columns: Iterable[bytes]) -> set[ContentDay]:
    """Return the days with cells in a calendar row, ignoring unknown columns. Raises CorruptRow."""
    checksum, period = calendars.parse_calendar(key)
    return {
        ContentDay(checksum, calendars.parse_day_column(column, period)[1])
        for column in columns
        if column.startswith(calendars.DAY_COLUMNS)
    }


def check_day(row: Row, day: int) -> None:
    """Raise CorruptRow for a malformed token of a day, or an unreadable seal that its token validates."""
    token = calendar_rows.token_of(row, day)
    if token is not None and not _TOKEN.fullmatch(token):
        raise CorruptRow(f"{token[:100]!r} is not a token")
    for kind in SEALS:
        for part in calendar_rows.sealed_day(row, day, kind) or ():
            calendar_rows.decode_program(part.program, SealedRun(0, ""))


def collect_tags(key: bytes, row: Row, facts: RowFacts) -> None:
    """Add the facts of the tags of a field: each is expected in the index. Raises CorruptRow."""
    field = layout.parse_tagged_field(key)
    if layout.tags_row(field) != key:
        raise CorruptRow("is not the key of a row of tags")
    for column, cell in known_cells(key, row, facts).items():
        tag = tag_rows.decode_tag(field, column, cell)
        if tag is not None:
            facts.expected.append(cell_text(layout.tag_index_row(tag.tag, field), layout.TAGGED))


def collect_tag_index(key: bytes, row: Row, facts: RowFacts) -> None:
    """Add the facts of an index row of tags, which stays when its tag is removed. Raises CorruptRow."""
    layout.parse_tag_index(key)
    for column, cell in known_cells(key, row, facts).items():
        _check_empty(column, cell)
        facts.optional.append(cell_text(key, column))


def collect_policy(key: bytes, row: Row, facts: RowFacts) -> None:
    """Check the row of a policy. Raises CorruptRow."""
    layout.parse_policy(key)
    for cell in known_cells(key, row, facts).values():
        decode_policy(key, cell.value)


def collect_access(key: bytes, row: Row, facts: RowFacts) -> None:
    """Check the row of a token or of grants. Raises CorruptRow."""
    cells = known_cells(key, row, facts)
    if key.startswith(access_rows.TOKENS):
        decode_token(key, cells)
    elif key.startswith(access_rows.GRANTS):
        decode_grants(key, cells)
    else:
        raise CorruptRow("is neither the key of a token nor of grants")
