"""Spark SQL cases: their scripts as documents, and the lineage that a reading of them has.

`spark_sql.json` has for each query its columns with their source columns, written `<table>.<column>`. A query
that only selects becomes a table `out`; tables of the setup are the schema, its views are statements of the
script.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fll_hbase.model.datasets import Dataset
from fll_hbase.model.operations import Influence, InputField, Read, Transform, Write, inputs_of
from fll_hbase.sources import sql
from fll_hbase.sources.native.document import Reading

ALL: list[dict[str, Any]] = json.loads(Path(__file__).with_name("spark_sql.json").read_text(encoding="utf-8"))
PLAIN = [case for case in ALL if "query_sql" in case]
"""Cases that are plain SQL; the others need a session."""

Lineage = dict[str, dict[str, list[str]]]
"""Source fields by target and field."""

Kinds = dict[str, set[str]]
"""Kinds of influence by source field."""

_TABLE = re.compile(r"CREATE TABLE (\S+) \((.*)\) USING \w+$", re.DOTALL)


def case_id(case: dict[str, Any]) -> str:
    return str(case["id"])


def read(case: dict[str, Any]) -> Reading:
    """Read a case as one script."""
    tables = [match for statement in case["setup_sql"] if (match := _TABLE.match(statement))]
    views = [statement for statement in case["setup_sql"] if not _TABLE.match(statement)]
    writes = case["kind"] == "write"
    query = case["query_sql"] if writes else f"CREATE TABLE out AS {case['query_sql']}"
    document = {
        "run": {
            "application": "cases",
            "type": "spark",
            "program": case["id"],
            "run": "1",
            "startTime": 10**12,
        },
        "sql": ";\n".join([*views, query]),
        "schema": {match[1]: _columns(match[2]) for match in tables},
    }
    return sql.read_document(document, namespace="cases", columns=_no_fields)


def _no_fields(_: Dataset) -> None:
    return None


def _columns(definitions: str) -> list[str]:
    """Return the names in column definitions, whose types may contain commas."""
    depth, columns = 0, [""]
    for letter in definitions:
        depth += {"<": 1, "(": 1, ">": -1, ")": -1}.get(letter, 0)
        is_separator = letter == "," and depth == 0
        columns = [*columns, ""] if is_separator else [*columns[:-1], columns[-1] + letter]
    return [column.split()[0] for column in columns]


def expected(case: dict[str, Any]) -> Lineage:
    """Return the direct lineage that a case expects."""
    by_sink = case.get("expected_by_sink") or {case.get("sink") or "out": case["expected"]}
    return {
        sink: {name: sorted(sources) for name, sources in fields.items()} for sink, fields in by_sink.items()
    }


def direct(reading: Reading, *, sinks: set[str]) -> Lineage:
    """Return the direct lineage of some targets."""
    origins, transforms = _origins(reading)
    lineage: Lineage = {}
    for write, written in _written_fields(reading, sinks):
        fields = lineage.setdefault(write.destination.name, {})
        if written.influence is Influence.DIRECT:
            sources = {
                f"{origins[source.origin]}.{source.name}"
                for source in transforms[written.origin].inputs
                if source.influence is Influence.DIRECT
            }
            fields[written.name] = sorted({*fields.get(written.name, ()), *sources})
    return lineage


def indirect(reading: Reading, *, sinks: set[str]) -> tuple[Kinds, dict[str, Kinds]]:
    """Return the kinds of indirect influence on all rows of some targets, and on single columns."""
    origins, transforms = _origins(reading)
    rows: Kinds = {}
    columns: dict[str, Kinds] = {}
    for _, written in _written_fields(reading, sinks):
        if written.influence is Influence.INDIRECT:
            rows.setdefault(f"{origins[written.origin]}.{written.name}", set()).add(written.kind.upper())
            continue
        for source in inputs_of(transforms[written.origin]):
            if source.influence is Influence.INDIRECT:
                kinds = columns.setdefault(written.name, {})
                kinds.setdefault(f"{origins[source.origin]}.{source.name}", set()).add(source.kind.upper())
    return rows, columns


def _written_fields(reading: Reading, sinks: set[str]) -> Iterator[tuple[Write, InputField]]:
    for write in reading.operations.info.operations:
        if isinstance(write, Write) and write.destination.name in sinks:
            yield from ((write, written) for written in write.inputs)


def _origins(reading: Reading) -> tuple[dict[str, str], dict[str, Transform]]:
    operations = reading.operations.info.operations
    origins = {
        operation.name: operation.source.name for operation in operations if isinstance(operation, Read)
    }
    return origins, {
        operation.name: operation for operation in operations if isinstance(operation, Transform)
    }
