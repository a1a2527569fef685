"""Expectations of the Spark SQL cases, compared with captured events."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

Json = dict[str, Any]
Kinds = dict[str, dict[str, set[str]]]
"""Kinds by column and source; the column `*` is all rows."""

# Two things may be reported either way, as the notes of the cases have it: arguments of COALESCE may count as
# conditions, and so may the key of a pivot.
CONDITIONS = {"j06_full_outer_using", "d06_fillna", "x01_pivot"}

# The case has one list for two targets, but the condition belongs to the second one only.
TWO_TARGETS = {"m08_multi_insert": {"tgt2": {"cust.tier": ["FILTER"]}}}

ARRAYS = {
    "g01_explode_in_select": ["ev.tags"],
    "g03_lateral_view_outer_posexplode": ["ev.tags"],
    "g04_explode_map": ["ev.attrs"],
    "g06_inline": ["ev.tags"],
    "g07_two_lateral_views": ["ev.attrs", "ev.tags"],
}
"""Arrays whose elements become rows; cases may count them as a filter, the page says why they are a join."""


def differences(case: Json, events: list[Json]) -> list[str]:
    """Differences from the expectations of a case."""
    expected = case.get("expected_by_sink") or {case.get("sink") or "out": case["expected"]}
    outputs = {_table(output["name"], case): output for event in events for output in event["outputs"]}
    if len(outputs) != sum(len(event["outputs"]) for event in events):
        return ["an output was written twice"]
    if set(outputs) != set(expected):
        return [f"outputs are {sorted(outputs)}"]
    return [text for sink in expected for text in _compare(case, sink, expected[sink], outputs[sink])]


def _table(name: str, case: Json) -> str:
    tail = name.rpartition("/")[2]
    if "/ice/" in name:
        return f"ice.db.{tail}"
    return "out" if tail == f"{case['id']}_out" else tail


def _compare(case: Json, sink: str, expected: dict[str, list[str]], output: Json) -> list[str]:
    lineage = output["facets"]["columnLineage"]
    fields = {name: item["inputFields"] for name, item in lineage["fields"].items()}
    if set(fields) != set(expected):
        return [f"columns are {sorted(fields)}"]
    direct, indirect = _kinds(case, {**fields, "*": lineage["dataset"]})
    allowed = case.get("allowed_extra_direct", {})
    texts = []
    for column, sources in expected.items():
        extra = set(direct[column]) - set(sources) - set(allowed.get(column, ()))
        texts += [f"{column} <- {source} is missing" for source in set(sources) - set(direct[column])]
        texts += [f"{column} <- {source} is too much" for source in extra]
        for source, kinds in case["expected_subtype"].get(column, {}).items():
            if direct[column].get(source, set()) - set(kinds):
                texts.append(f"{column} <- {source} is {direct[column][source]}")
    return texts + _compare_indirect(case, sink, indirect)


def _kinds(case: Json, inputs: dict[str, list[Json]]) -> tuple[Kinds, Kinds]:
    direct: Kinds = defaultdict(lambda: defaultdict(set))
    indirect: Kinds = defaultdict(lambda: defaultdict(set))
    for column, items in inputs.items():
        for item in items:
            # A path in a struct counts as its column, which is what most cases name.
            source = f"{_table(item['name'], case)}.{item['field'].partition('.')[0]}"
            for kind in item["transformations"]:
                kinds = direct if kind["type"] == "DIRECT" else indirect
                kinds[column][source].add(kind["subtype"])
    return direct, indirect


def _excess(column: str, sources: dict[str, set[str]], permitted: list[dict[str, list[str]]]) -> list[str]:
    texts = []
    for source, kinds in sources.items():
        allowed = {kind for kinds_by_source in permitted for kind in kinds_by_source.get(source, ())}
        if kinds - allowed:
            texts.append(f"{column} <~ {source} {kinds - allowed} is too much")
    return texts


def _compare_indirect(case: Json, sink: str, indirect: Kinds) -> list[str]:
    influence = case["expected_indirect"]
    rows = TWO_TARGETS.get(case["id"], {}).get(sink, influence["dataset"])
    arrays = {array: ["JOIN"] for array in ARRAYS.get(case["id"], ())}
    required = {"*": {**rows, **arrays}, **influence["columns"]}
    optional = {"*": influence.get("optional_dataset", {})}
    either = influence.get("either_scope", {})
    texts = []
    for column, sources in required.items():
        for source, kinds in sources.items():
            if not indirect[column].get(source, set()) & set(kinds):
                texts.append(f"{column} <~ {source} is missing")
    for column, sources in indirect.items():
        permitted = [required.get(column, {}), optional.get(column, {}), either]
        if case["id"] in CONDITIONS and column != "*":
            permitted.append({source: ["CONDITIONAL"] for source in sources})
        texts += _excess(column, sources, permitted)
    for source, kinds in either.items():
        if not any(sources.get(source, set()) & set(kinds) for sources in indirect.values()):
            texts.append(f"{source} influences nothing")
    return texts
