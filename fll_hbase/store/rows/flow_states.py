"""Cells of the checks of a flow policy: the last complete look, and the violations that were reported.

docs/reference/row-keys.md defines the format.
"""

from __future__ import annotations

from typing import Annotated

import msgspec
import xxhash

from fll_hbase.keys import layout
from fll_hbase.keys.codec import is_hex
from fll_hbase.model.datasets import DatasetField
from fll_hbase.model.flow_policy import FlowPolicy
from fll_hbase.runtime.errors import CorruptRow, in_row
from fll_hbase.store.rows.run_rows import decode_json
from fll_hbase.tables import Put, Row

_Time = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]


class Look(msgspec.Struct, frozen=True, rename={"at_ms": "at", "policy_at_ms": "policy"}):
    """When a complete look began, and when the policy that it looked for was put, in ms since 1970."""

    at_ms: _Time
    policy_at_ms: _Time


class FlowState(msgspec.Struct, frozen=True):
    """The last complete look of a policy's checks, None before the first one, and reported digests."""

    look: Look | None
    reported: frozenset[str]


def digest(policy: FlowPolicy, source: DatasetField, destination: DatasetField) -> str:
    """Return the id of a violation: a hash of the rule and of both fields, as 32 hex digits."""
    rule = (policy.name, policy.tag, policy.into, policy.only_into, policy.influence, policy.unless_masked)
    names = [(*field.dataset, field.name) for field in (source, destination)]
    return xxhash.xxh3_128_hexdigest(msgspec.json.encode((rule, names)))


def decode_state(key: bytes, row: Row) -> FlowState:
    """Return the state in a row, which may be empty, ignoring other columns. Raises CorruptRow."""
    look, reported = None, set()
    with in_row(key):
        for column, cell in row.items():
            if column == layout.LAST_LOOK:
                look = decode_json(cell.value, Look, "a look")
            elif column.startswith(layout.REPORTED):
                name = column[len(layout.REPORTED) :]
                if not is_hex(name, digits=layout.CHECKSUM_DIGITS):
                    raise CorruptRow(f"{column!r} is not the column of a violation")
                reported.add(name.decode())
    return FlowState(look, frozenset(reported))


def look_put(policy: FlowPolicy, at_ms: int) -> Put:
    """Return the cell that notes a complete look for a policy."""
    value = msgspec.json.encode(Look(at_ms, policy.at_ms))
    return Put(layout.flow_state_row(policy.name), layout.LAST_LOOK, value)


def reported_put(policy: FlowPolicy, name: str) -> Put:
    """Return the cell that notes a violation, given its digest, as reported."""
    return Put(layout.flow_state_row(policy.name), layout.reported_column(name), b"")
