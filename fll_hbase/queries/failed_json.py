"""The member `failed` of answers with `failed=true`: what failed and aborted runs alone performed."""

from __future__ import annotations

from collections.abc import Collection

from fll_hbase.runtime.json_types import Json


def failed_member(key: object, failed: Collection[object]) -> Json:
    """Return the member of an item whose key is among those that failed runs alone have, else nothing."""
    return {"failed": True} if key in failed else {}
