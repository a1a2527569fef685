"""Column lineage of a query parser: pairs of a target and its sources.

A pair is a list of two objects. The first has `Left`, a table whose rows are decided by the columns of the
second, or `Right`, a column that is derived from the columns of the second.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fll_hbase.model.datasets import Dataset
from fll_hbase.sources.datahub import urns
from fll_hbase.sources.datahub.proposal import UPSERT, Proposal, object_without_nulls
from fll_hbase.sources.validation import Validator, child_path, items_with_path

# The output names databases and tables, but no platform.
PLATFORM = "hive"
ASPECT = "fineGrainUpstreamLineage"
_PARTS = ("DatabaseName", "SchemaName", "TableName")


def is_query_parser_output(document: object) -> bool:
    """Return whether a document is a pair, or a list with at least one pair."""
    return _is_pair(document) or (isinstance(document, list) and any(map(_is_pair, document)))


def proposals(validator: Validator, document: object) -> Iterator[Proposal]:
    """Yield a `fineGrainUpstreamLineage` proposal per written table, sorted by urn; warn of other items."""
    pairs = [document] if _is_pair(document) else document
    # Pairs of one table may be apart in the list; grouped, they are one run.
    written: dict[str, dict[str, dict[str, Any]]] = {}
    for item, path in items_with_path(pairs if isinstance(pairs, list) else [], ""):
        if not _is_pair(item):
            detail = "must be a list of a `Left` or `Right` and of what it is made of; left out"
            validator.warning(path, detail)
            continue
        errors_before = validator.errors.count
        pair_written: dict[str, dict[str, dict[str, Any]]] = {}
        _add_pair(validator, pair_written, item, "" if _is_pair(document) else path)
        if not validator.leave_out(path, errors_before=errors_before):
            _merge_pair(written, pair_written)
    for urn, upstreams in sorted(written.items()):
        value = {"upstreams": [{"dataset": dataset, **upstreams[dataset]} for dataset in sorted(upstreams)]}
        yield Proposal(urn, ASPECT, UPSERT, value, "", "", 0)


def _add_pair(
    validator: Validator, written: dict[str, dict[str, dict[str, Any]]], pair: list[Any], path: str
) -> None:
    """Add the upstreams of a pair to `written`: by urn of the written table, by urn of the table read."""
    is_table = "Left" in pair[0]
    member = "Left" if is_table else "Right"
    target_path, sources_path = child_path(child_path(path, 0), member), child_path(path, 1)
    target = object_without_nulls(validator, pair[0][member], target_path)
    sources = object_without_nulls(validator, pair[1], sources_path)
    upstreams = written.setdefault(_table(validator, target, target_path, "fqtn" if is_table else "fqcn"), {})
    for item, item_path in items_with_path(
        validator.items(sources, "tables", sources_path), child_path(sources_path, "tables")
    ):
        # A table may be read without any of its columns.
        upstreams.setdefault(
            _table(validator, object_without_nulls(validator, item, item_path), item_path, "fqtn"),
            _empty_upstream(),
        )
    for item, item_path in items_with_path(
        validator.items(sources, "columns", sources_path), child_path(sources_path, "columns")
    ):
        column = object_without_nulls(validator, item, item_path)
        source = upstreams.setdefault(_table(validator, column, item_path, "fqcn"), _empty_upstream())
        name = validator.required(column, "fqcnColumnName", item_path)
        if is_table:
            source["constraints"].append(name)
        else:
            target_field = validator.required(target, "fqcnColumnName", target_path)
            source["fields"].append({"sourceField": name, "targetField": target_field})


def _merge_pair(
    written: dict[str, dict[str, dict[str, Any]]], pair_written: dict[str, dict[str, dict[str, Any]]]
) -> None:
    """Add the upstreams of one pair to `written`, the upstreams of all pairs."""
    for urn, upstreams in pair_written.items():
        for dataset, members in upstreams.items():
            upstream = written.setdefault(urn, {}).setdefault(dataset, _empty_upstream())
            for name, items in members.items():
                upstream[name] += items
        written.setdefault(urn, {})


def _empty_upstream() -> dict[str, Any]:
    return {"fields": [], "constraints": []}


def _table(validator: Validator, data: dict[str, Any], path: str, prefix: str) -> str:
    """Return the urn of a table, without a schema that only repeats the table's name."""
    names = [validator.optional(data, f"{prefix}{part}", path) for part in _PARTS]
    names[2] = validator.required(data, f"{prefix}TableName", path)
    # As in seed 001: `tmp`, `tfvdm1`, `tfvdm1` is the table `tmp.tfvdm1`.
    if names[1] == names[2]:
        names[1] = ""
    return urns.dataset_urn(Dataset(PLATFORM, ".".join(filter(None, names))))


def _is_pair(item: object) -> bool:
    """Return whether an item is a list of an object with `Left` or `Right` alone, and its sources."""
    return (
        isinstance(item, list)
        and len(item) == 2
        and isinstance(item[0], dict)
        and len(item[0]) == 1
        and bool(item[0].keys() & {"Left", "Right"})
    )
