"""Recording of documents of every source, the same for API, CLI and Spark: detect, read, record, report.

reader = DocumentReader(columns=store.catalogue.field_names)
parsed = reader.try_read(raw, detect(raw), namespace="shop", now_ms=now_ms)
[result] = ingest(store, [parsed])
"""

from fll_hbase.ingest.ingest import find_conflicts, ingest, preview
from fll_hbase.ingest.outcomes import ParsedDocument, RecordOutcome, RecordResult
from fll_hbase.ingest.reader import DocumentReader
from fll_hbase.ingest.registry import FORMATS, DocumentFormat, DocumentHead, detect, format_named

__all__ = [
    "FORMATS",
    "DocumentFormat",
    "DocumentHead",
    "DocumentReader",
    "ParsedDocument",
    "RecordOutcome",
    "RecordResult",
    "detect",
    "find_conflicts",
    "format_named",
    "ingest",
    "preview",
]
