"""What does a data row say: whether it holds what its checksum names, and what the catalogue must hold."""

from __future__ import annotations

from collections.abc import Mapping

from fll_hbase.errors import CorruptRow, InputError
from fll_hbase.keys import layout, ranges
from fll_hbase.keys.codec import unescaped
from fll_hbase.model import checksum as checksums
from fll_hbase.model import lineage
from fll_hbase.store import content_rows
from fll_hbase.store.content_rows import Content
from fll_hbase.store.maintenance.audit.expectations import Said, cell_text
from fll_hbase.store.maintenance.audit.findings import Finding, Kind, Mend
from fll_hbase.tables import Row


class WrongChecksum(CorruptRow):
    """The operations of a data row are not those that its checksum names."""


def tell(key: bytes, row: Row, said: Said) -> None:
    """What a data row says. Raises CorruptRow."""
    checksum = ranges.content_in(key)
    said.found.append(key)
    try:
        content = content_in(checksum, row)
    except WrongChecksum as error:
        said.faults.append(Finding(Kind.WRONG_CHECKSUM, key, str(error)))
        return
    wrong = sorted(_differing({put.column: put.value for put in content.data}, row))
    if wrong:
        told = f"{len(wrong)} cells, such as {wrong[0].decode(errors='backslashreplace')}"
        said.faults.append(Finding(Kind.WRONG_CELLS, key, told, Mend(key)))
    said.expected += [cell_text(*put) for put in content.catalogue]


def content_in(checksum: str, row: Row) -> Content:
    """The content that the operations of a data row make. Raises CorruptRow; WrongChecksum is one."""
    cells = {column: cell for column, cell in row.items() if column.startswith(layout.OPERATION)}
    try:
        texts = {
            unescaped(column[len(layout.OPERATION) :]): cell.value.decode() for column, cell in cells.items()
        }
    except UnicodeDecodeError as error:
        raise CorruptRow("an operation is not UTF-8") from error
    found = checksums.checksum_of_texts(texts)
    if found != checksum:
        raise WrongChecksum(f"its {len(texts)} operations have checksum {found}")
    try:
        return content_rows.content_of(
            lineage.partial([content_rows.operation_of(cell) for cell in cells.values()])
        )
    except InputError as error:
        raise CorruptRow(f"its operations make no lineage: {error}") from error


def _differing(wanted: Mapping[bytes, bytes], row: Row) -> set[bytes]:
    stored = {column: cell.value for column, cell in row.items()}
    return {column for column, _ in wanted.items() ^ stored.items()}
