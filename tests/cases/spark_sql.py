"""What do the Spark SQL cases expect: their scripts as documents, and what a reading of them says.

`spark_sql.json` holds for each query the columns it gives, each with the source columns that make it, written
`<table>.<column>`. A query that only selects becomes a table `out`; tables of the setup are the schema, its
views are statements of the script.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from fll_hbase.model.datasets import Dataset
from fll_hbase.model.operations import Influence, Read, Transform, Write, inputs_of
from fll_hbase.sources import sql
from fll_hbase.sources.native.document import Reading

ALL: list[dict[str, Any]] = json.loads(Path(__file__).with_name("spark_sql.json").read_text(encoding="utf-8"))
PLAIN = [case for case in ALL if "query_sql" in case]
"""Cases that are plain SQL; the others need a session."""

Lineage = dict[str, dict[str, list[str]]]
"""By target and field its source fields."""

_TABLE = re.compile(r"CREATE TABLE (\S+) \((.*)\) USING \w+$", re.DOTALL)


def case_id(case: dict[str, Any]) -> str:
    return str(case["id"])


def read(case: dict[str, Any]) -> Reading:
    """The reading of a case as one script."""
    tables = [match for said in case["setup_sql"] if (match := _TABLE.match(said))]
    views = [said for said in case["setup_sql"] if not _TABLE.match(said)]
    writes = case["kind"] == "write"
    query = case["query_sql"] if writes else f"CREATE TABLE out AS {case['query_sql']}"
    document = {
        "run": {"application": "cases", "type": "spark", "program": case["id"], "run": "1", "startTime": 1},
        "sql": ";\n".join([*views, query]),
        "schema": {match[1]: _columns(match[2]) for match in tables},
    }
    return sql.read_document(document, namespace="cases", columns=_nothing)


def _nothing(_: Dataset) -> None:
    return None


def _columns(said: str) -> list[str]:
    """The names of column definitions, whose types may have commas of their own."""
    depth, parts = 0, [""]
    for letter in said:
        depth += {"<": 1, "(": 1, ">": -1, ")": -1}.get(letter, 0)
        parts = [*parts, ""] if letter == "," and depth == 0 else [*parts[:-1], parts[-1] + letter]
    return [part.split()[0] for part in parts]


def expected(case: dict[str, Any]) -> Lineage:
    """The direct lineage that a case expects."""
    said = case.get("expected_by_sink") or {case.get("sink") or "out": case["expected"]}
    return {
        sink: {name: sorted(sources) for name, sources in fields.items()} for sink, fields in said.items()
    }


def direct(reading: Reading, *, sinks: set[str]) -> Lineage:
    """The direct lineage of the targets asked for."""
    origins, made = _origins(reading)
    found: Lineage = {}
    for write in reading.operations.info.operations:
        if isinstance(write, Write) and write.destination.name in sinks:
            fields = found.setdefault(write.destination.name, {})
            for taken in write.inputs:
                if taken.influence is Influence.DIRECT:
                    sources = {
                        f"{origins[each.origin]}.{each.name}"
                        for each in made[taken.origin].inputs
                        if each.influence is Influence.DIRECT
                    }
                    fields[taken.name] = sorted({*fields.get(taken.name, ()), *sources})
    return found


def indirect(
    reading: Reading, *, sinks: set[str]
) -> tuple[dict[str, set[str]], dict[str, dict[str, set[str]]]]:
    """What shapes all rows of the targets, and what shapes single columns, with the kinds."""
    origins, made = _origins(reading)
    whole: dict[str, set[str]] = {}
    columns: dict[str, dict[str, set[str]]] = {}
    for write in reading.operations.info.operations:
        if isinstance(write, Write) and write.destination.name in sinks:
            for taken in write.inputs:
                if taken.influence is Influence.INDIRECT:
                    whole.setdefault(f"{origins[taken.origin]}.{taken.name}", set()).add(taken.kind.upper())
                    continue
                for each in inputs_of(made[taken.origin]):
                    if each.influence is Influence.INDIRECT:
                        shaping = columns.setdefault(taken.name, {})
                        shaping.setdefault(f"{origins[each.origin]}.{each.name}", set()).add(
                            each.kind.upper()
                        )
    return whole, columns


def _origins(reading: Reading) -> tuple[dict[str, str], dict[str, Transform]]:
    operations = reading.operations.info.operations
    origins = {one.name: one.source.name for one in operations if isinstance(one, Read)}
    return origins, {one.name: one for one in operations if isinstance(one, Transform)}
