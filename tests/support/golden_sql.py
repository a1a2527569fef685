"""Golden cases of SQL: the statements as text, and the names that they need."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fll_hbase.sources import sql
from fll_hbase.sources.native.document import Reading
from tests.support import golden_facts
from tests.support.golden_cases import Case, read_cases
from tests.support.golden_facts import Notation

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
    return {**given, **case.json("json")}


def read(given: dict[str, Any]) -> Reading:
    """Read a document as the tests do."""
    return sql.read_document(given, namespace=NAMESPACE, columns=lambda dataset: CATALOGUE.get(dataset.name))


def notation(given: dict[str, Any]) -> Notation:
    """Return the notation of what is read from a document."""
    namespace = given.get("datasetNamespace", NAMESPACE)
    return Notation(namespace if isinstance(namespace, str) else NAMESPACE, describes_columns=True)


def lines(case: Case) -> Iterator[str]:
    """Yield what is read from a case."""
    given = document(case)
    return golden_facts.dry_run(lambda: read(given), notation(given))
