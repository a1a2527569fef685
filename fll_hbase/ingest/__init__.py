"""Recording of documents of every source, shared by API, CLI and Spark: detect, read, record, report.

reader = DocumentReader(columns=store.catalogue.field_names)
parsed = reader.try_read(raw, detect(raw), namespace="shop", now_ms=now_ms)
[result] = ingest(store, [parsed])
"""
