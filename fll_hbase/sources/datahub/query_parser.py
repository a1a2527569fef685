"""What does a query parser's column lineage say (seed 001): pairs of a target and what it is made of.

A pair is a list of two objects. `Left` names a table and the columns that decided which rows it got; `Right`
names a column and the columns that it is made of. Tables are those of one warehouse, hive.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fll_hbase.model.datasets import Dataset
from fll_hbase.sources.datahub import urns
from fll_hbase.sources.datahub.proposal import UPSERT, Proposal, told
from fll_hbase.sources.validation import Validator, each, inside

PLATFORM = "hive"
ASPECT = "fineGrainUpstreamLineage"
_PARTS = ("DatabaseName", "SchemaName", "TableName")


def is_pairs(document: object) -> bool:
    """Whether a document is one such pair, or a list of them."""
    return _is_pair(document) or (isinstance(document, list) and any(map(_is_pair, document)))


def proposals(checks: Validator, document: object) -> Iterator[Proposal]:
    """One proposal for each table written, in the form of the aspect that seed 001 proposed."""
    pairs = [document] if _is_pair(document) else document
    written: dict[str, dict[str, dict[str, Any]]] = {}
    for item, at in each(pairs if isinstance(pairs, list) else [], ""):
        if not _is_pair(item):
            checks.error(at, "must be a list of a `Left` or `Right` and of what it is made of")
            continue
        place = "" if _is_pair(document) else at
        _add(checks, written, item, place)
    for urn, upstreams in sorted(written.items()):
        value = {"upstreams": [{"dataset": dataset, **upstreams[dataset]} for dataset in sorted(upstreams)]}
        yield Proposal(urn, ASPECT, UPSERT, value, "", "", 0)


def _add(checks: Validator, written: dict[str, dict[str, dict[str, Any]]], pair: list[Any], at: str) -> None:
    of_table = "Left" in pair[0]
    side = "Left" if of_table else "Right"
    target_at, made_at = inside(inside(at, 0), side), inside(at, 1)
    target = told(checks, pair[0][side], target_at)
    made_of = told(checks, pair[1], made_at)
    upstreams = written.setdefault(_table(checks, target, target_at, "fqtn" if of_table else "fqcn"), {})
    for item, place in each(checks.items(made_of, "tables", made_at), inside(made_at, "tables")):
        upstreams.setdefault(_table(checks, told(checks, item, place), place, "fqtn"), _nothing())
    for item, place in each(checks.items(made_of, "columns", made_at), inside(made_at, "columns")):
        column = told(checks, item, place)
        source = upstreams.setdefault(_table(checks, column, place, "fqcn"), _nothing())
        name = checks.required(column, "fqcnColumnName", place)
        if of_table:
            source["constraints"].append(name)
        else:
            made = checks.required(target, "fqcnColumnName", target_at)
            source["fields"].append({"sourceField": name, "targetField": made})


def _nothing() -> dict[str, Any]:
    return {"fields": [], "constraints": []}


def _table(checks: Validator, said: dict[str, Any], at: str, prefix: str) -> str:
    """The urn of a table; a schema that only repeats the table's name is no part of it."""
    names = [checks.optional(said, f"{prefix}{part}", at) for part in _PARTS]
    names[2] = checks.required(said, f"{prefix}TableName", at)
    if names[1] == names[2]:
        names[1] = ""
    return urns.urn(Dataset(PLATFORM, ".".join(filter(None, names))))


def _is_pair(item: object) -> bool:
    return (
        isinstance(item, list)
        and len(item) == 2
        and isinstance(item[0], dict)
        and len(item[0]) == 1
        and bool(item[0].keys() & {"Left", "Right"})
    )
