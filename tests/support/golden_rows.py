"""Golden cases of exported rows: a row per line below `--rows`, and the runs that they become."""

from __future__ import annotations

import json
from collections.abc import Iterator

from fll_hbase.ingest.outcomes import ParsedDocument
from fll_hbase.ingest.registry import DocumentReader, format_named
from fll_hbase.model.runs import RecordedRun
from fll_hbase.queries import acknowledgements
from fll_hbase.runtime.errors import InputError
from tests.support import golden_facts
from tests.support.golden_cases import Case
from tests.support.golden_facts import Notation

NAMESPACE = "history"


def read(source: str, rows: list[object], dataset_namespace: str = "") -> ParsedDocument:
    """Read a document of rows of a source in NAMESPACE. Raises InputError."""
    document = {source: rows} | ({"datasetNamespace": dataset_namespace} if dataset_namespace else {})
    reader = DocumentReader(columns=lambda _: None)
    raw = json.dumps(document).encode()
    return reader.read(raw, format_named(source), namespace=NAMESPACE, now_ms=0)


def lines(case: Case) -> Iterator[str]:
    """Yield the runs of a case with their lineage, or the error of its rows."""
    namespace = case.members.get("datasets", "")
    rows = [json.loads(line) for text in case.texts("rows") for line in text.splitlines() if line]
    try:
        parsed = read(case.source, rows, namespace)
    except InputError as failure:
        yield from golden_facts.error(failure)
        return
    notation = Notation(namespace or NAMESPACE)
    for recorded in parsed.runs:
        assert isinstance(recorded, RecordedRun)
        yield from golden_facts.run(recorded.run)
        yield from golden_facts.lineage(acknowledgements.dry_run(recorded.info), notation)
        yield ""
    yield from golden_facts.problems("warning", parsed.warnings)
