"""Golden cases of SQL: the statements as text, and the names that they need."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import golden_facts
from golden_cases import Case, read_cases
from golden_facts import Notation

from fll_hbase.model.datasets import Dataset
from fll_hbase.sources import sql

START_MS = 1_763_683_200_000
NAMESPACE = "shop"
CATALOGUE = {"catalogued": ["amount", "day", "id"]}
"""Fields of datasets in the catalogue."""


def documents() -> list[dict[str, Any]]:
    """Return the documents of all cases."""
    return [document(case) for case in read_cases("sql")]


def document(case: Case) -> dict[str, Any]:
    """Return the document of a case; its program is the case's name without the first word."""
    run = {
        "application": "shop",
        "type": "sql",
        "program": case.name.partition("_")[2],
        "run": "r1",
        "startTime": START_MS,
    }
    given: dict[str, Any] = {"run": run, "sql": "".join(case.texts("sql"))}
    for name, text in case.members.items():
        if name.startswith("default "):
            given.setdefault("defaults", {})[name.removeprefix("default ")] = text
        else:
            given[name] = text
    schema = dict(line.split(": ") for text in case.texts("schema") for line in text.splitlines())
    if schema:
        given["schema"] = {table: names.split(", ") for table, names in schema.items()}
    return given | case.json("json")


def lines(case: Case) -> Iterator[str]:
    """Yield what is read from a case."""
    given = document(case)
    namespace = given.get("datasetNamespace", NAMESPACE)
    notation = Notation(namespace if isinstance(namespace, str) else NAMESPACE, describes_columns=True)

    def columns(dataset: Dataset) -> list[str] | None:
        return CATALOGUE.get(dataset.name)

    yield from golden_facts.dry_run(
        lambda: sql.read_document(given, namespace=NAMESPACE, columns=columns), notation
    )
