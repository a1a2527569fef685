"""Checks of the rows of tags, the tag index, policies, tokens and grants."""

from __future__ import annotations

from fll_hbase.keys import access_rows, layout
from fll_hbase.runtime.errors import CorruptRow
from fll_hbase.store.access import decode_grants, decode_token
from fll_hbase.store.maintenance.audit.check_indexes import known_cells
from fll_hbase.store.maintenance.audit.expectations import RowFacts, cell_text
from fll_hbase.store.policies import decode_policy
from fll_hbase.store.rows import tag_rows
from fll_hbase.tables import Row


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
        if cell.value:
            raise CorruptRow(f"{column!r} has the value {cell.value[:100]!r}, not an empty one")
        facts.present.append(cell_text(key, column))
        facts.allowed.append(cell_text(key, column))


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
