"""Column lineage from a query parser: pairs of a target and its sources.

A pair is a list of two objects. The first has `Left`, a table, or `Right`, a column. The rows of the table
depend on the columns in the second object, and the column is derived from them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

from fll_hbase.model.datasets import Dataset
from fll_hbase.runtime import deadline
from fll_hbase.sources.datahub import urns
from fll_hbase.sources.datahub.proposal import UPSERT, Proposal, without_nulls
from fll_hbase.sources.validation import Part

# The output names databases and tables, but not the platform.
PLATFORM = "hive"
ASPECT = "fineGrainUpstreamLineage"
_Upstreams: TypeAlias = dict[str, dict[str, Any]]
"""Upstreams of a written table by the urns of the tables read."""

_PARTS = ("DatabaseName", "SchemaName", "TableName")


def is_query_parser_output(document: object) -> bool:
    """Return whether a document is a pair, or a list with at least one pair."""
    return _is_pair(document) or (
        isinstance(document, list) and any(map(_is_pair, deadline.watched(document)))
    )


def proposals(document: Part) -> Iterator[Proposal]:
    """Yield a `fineGrainUpstreamLineage` proposal per written table, sorted by urn; warn of other items."""
    # Pairs of one table may be apart in the list, so they are grouped into one run.
    written: dict[str, _Upstreams] = {}
    for item in [document] if _is_pair(document.value) else document.listed():
        if not _is_pair(item.value):
            item.warning("must be a list of a `Left` or `Right` and its sources; left out")
            continue
        pair = item.readable(_read_pair)
        if pair is None:
            continue
        merged = written.setdefault(pair[0], {})
        for dataset, members in pair[1].items():
            upstream = merged.setdefault(dataset, _empty_upstream())
            for name, items in members.items():
                upstream[name] += items
    for urn, upstreams in sorted(written.items()):
        value = {"upstreams": [{"dataset": dataset, **upstreams[dataset]} for dataset in sorted(upstreams)]}
        yield Proposal(urn, ASPECT, UPSERT, Part(document.validator, value), "", 0)


def _read_pair(pair: Part) -> tuple[str, _Upstreams]:
    """Return the urn of the written table of a pair, and its upstreams; add errors for missing names."""
    left, right = pair.listed()
    is_table = "Left" in left
    target = without_nulls(left.member("Left" if is_table else "Right"))
    sources = without_nulls(right)
    upstreams: dict[str, dict[str, Any]] = {}
    urn = _table(target, "fqtn" if is_table else "fqcn")
    for item in sources.items("tables"):
        # A table may be read without any of its columns.
        upstreams.setdefault(_table(without_nulls(item), "fqtn"), _empty_upstream())
    for item in sources.items("columns"):
        column = without_nulls(item)
        source = upstreams.setdefault(_table(column, "fqcn"), _empty_upstream())
        name = column.required("fqcnColumnName")
        if is_table:
            source["constraints"].append(name)
        else:
            source["fields"].append({"sourceField": name, "targetField": target.required("fqcnColumnName")})
    return urn, upstreams


def _empty_upstream() -> dict[str, Any]:
    """Return the empty lists of an upstream table: fields and constraints."""
    return {"fields": [], "constraints": []}


def _table(data: Part, prefix: str) -> str:
    """Return the urn of a table, without a schema that only repeats the table's name."""
    names = [data.optional(f"{prefix}{part}") for part in _PARTS]
    names[2] = data.required(f"{prefix}TableName")
    # As in DataHub, `tmp`, `tfvdm1`, `tfvdm1` is the table `tmp.tfvdm1`.
    if names[1] == names[2]:
        names[1] = ""
    return urns.dataset_urn(Dataset(PLATFORM, ".".join(filter(None, names))))


def _is_pair(item: object) -> bool:
    """Return whether an item is a pair: an object with only `Left` or `Right`, and its sources."""
    return (
        isinstance(item, list)
        and len(item) == 2
        and isinstance(item[0], dict)
        and len(item[0]) == 1
        and bool(item[0].keys() & {"Left", "Right"})
    )
