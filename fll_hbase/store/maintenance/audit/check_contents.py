"""Checks of content rows: the operations match the checksum, and the catalogue lists their datasets."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from fll_hbase.keys import layout, ranges
from fll_hbase.keys.codec import unescape
from fll_hbase.model import checksum as checksums
from fll_hbase.model import lineage
from fll_hbase.model.field_relations import is_same_lineage
from fll_hbase.runtime.errors import CorruptRow, InputError, TooLarge
from fll_hbase.store.maintenance.audit.check_indexes import known_cells
from fll_hbase.store.maintenance.audit.findings import Finding, Kind, Repair, RowFacts, cell_text
from fll_hbase.store.maintenance.liveness import catalogue_keys
from fll_hbase.store.rows import content_rows
from fll_hbase.store.rows.content_rows import EncodedContent
from fll_hbase.store.rows.field_map_codec import FORM_1, decode_field_map
from fll_hbase.tables import Cell, Row


class WrongChecksum(CorruptRow):
    """Raised if the checksum in the key of a content row does not match its operations."""


def collect(key: bytes, row: Row, facts: RowFacts) -> None:
    """Add the facts of a content row, which has a set of operations and the cells derived from them.

    Raises CorruptRow for operations that cannot be decoded; a wrong checksum is a finding.
    """
    checksum = ranges.checksum_of(key)
    facts.present.append(key)
    with suppress(CorruptRow):
        # Also for a faulty content: a fault does not make its datasets strays.
        facts.allowed += catalogue_keys(key, row)
    cells = {column: cell.value for column, cell in known_cells(key, row, facts).items()}
    # The checksum covers only the operations; all other cells are derived from them and compared below.
    try:
        content = rebuild_content(checksum, row)
    except WrongChecksum as error:
        facts.findings.append(Finding(Kind.WRONG_CHECKSUM, key, str(error)))
        return
    wanted = {put.column: put.value for put in content.data}
    if cells.get(layout.VERSION) == FORM_1.encode() and _is_same_field_map(wanted, cells):
        facts.findings.append(Finding(Kind.OLD_FORM, key, f"form {FORM_1}", Repair(key)))
        cells |= {column: wanted[column] for column in (layout.VERSION, layout.FIELD_MAP)}
    wrong = sorted(_differing_columns(wanted, cells))
    # One repair covers all cells: the checksum proves the operations, so the row can be encoded again.
    if wrong:
        detail = f"{len(wrong)} cells, such as {wrong[0].decode(errors='backslashreplace')}"
        facts.findings.append(Finding(Kind.WRONG_CELLS, key, detail, Repair(key)))
    facts.expected += [cell_text(*put) for put in content.catalogue]
    facts.allowed += {put.row for put in content.catalogue}


def rebuild_content(checksum: str, row: Row) -> EncodedContent:
    """Encode the operations of a content row again.

    Raises WrongChecksum if they do not match `checksum`, another CorruptRow if they cannot be decoded.
    """
    cells = {column: cell for column, cell in row.items() if column.startswith(layout.OPERATION)}
    try:
        texts = {
            unescape(column[len(layout.OPERATION) :]): cell.value.decode() for column, cell in cells.items()
        }
    except UnicodeDecodeError as error:
        raise CorruptRow("an operation is not UTF-8") from error
    computed = checksums.checksum_of_texts(texts)
    if computed != checksum:
        raise WrongChecksum(f"its {len(texts)} operations have checksum {computed}")
    # Lenient, because contents of events may have no READ or no WRITE.
    try:
        return content_rows.encode_content(
            lineage.build_lineage_lenient([content_rows.decode_operation(cell) for cell in cells.values()])
        )
    except (InputError, TooLarge) as error:
        raise CorruptRow(f"its operations are not valid lineage: {error}") from error


def _differing_columns(wanted: Mapping[bytes, bytes], stored: Mapping[bytes, bytes]) -> set[bytes]:
    """Return the columns that differ or that one side lacks, except complete graphs, which form 1 has."""
    operations = sum(column.startswith(layout.OPERATION) for column in wanted)
    complete_graph = content_rows.encode_ranges((1 << operations) - 1)
    return {
        column
        for column, value in wanted.items() ^ stored.items()
        # Only form 1 has this cell; later forms imply it.
        if not (column.startswith(layout.GRAPHS) and value == complete_graph)
    }


def _is_same_field_map(wanted: Mapping[bytes, bytes], stored: Mapping[bytes, bytes]) -> bool:
    """Return whether both have a field map that can be read, and these relate the same fields."""
    try:
        maps = [
            decode_field_map({layout.FIELD_MAP: Cell(cells[layout.FIELD_MAP], 0)})
            for cells in (wanted, stored)
        ]
    except (CorruptRow, KeyError):
        return False
    return is_same_lineage(*maps)
