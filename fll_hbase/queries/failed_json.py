"""The member `failed` of answers with `failed=true`: what failed and aborted runs alone performed."""

from __future__ import annotations

from collections.abc import Collection

from fll_hbase.model.dataset_lineage import DatasetLineage
from fll_hbase.runtime.json_types import Json


def failed_member(key: object, failed: Collection[object]) -> Json:
    """Return the member of an item whose key is among those that failed runs alone have, else nothing."""
    return {"failed": True} if key in failed else {}


def mark_failed_pairs(pairs: list[Json], complete: DatasetLineage | None) -> list[Json]:
    """Return the pairs, with `failed` in those that complete runs have with no influence; None marks none."""
    if complete is None:
        return pairs
    return [pair if _is_in(pair, complete) else pair | {"failed": True} for pair in pairs]


def _is_in(pair: Json, complete: DatasetLineage) -> bool:
    if "scope" in pair:
        return pair["from"] in complete.dataset_wide
    key = pair["from"], pair["to"]
    return key in complete.direct or key in complete.indirect
