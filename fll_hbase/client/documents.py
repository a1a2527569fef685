"""How many documents at a time: batches of bounded length and size, in the order of the file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from fll_hbase.ingest.detect import Form, glance
from fll_hbase.ingest.ndjson import Line
from fll_hbase.sources.validation import ID_BYTES_MAX

BATCH_RUNS = 500
BATCH_BYTES_MAX = 2**23


@dataclass(frozen=True, slots=True)
class Placed:
    """A document, where it is recorded, and in which namespace; empty where none is known, or may be."""

    line: Line
    namespace: str
    run: str
    form: Form = Form.LINEAGE


def batches(lines: Iterable[Line], *, namespace: str) -> Iterator[list[Placed]]:
    """Documents that can be recorded in any order: of a run that is there already a new batch begins.

    One that is read by what was recorded before it is a batch by itself. `namespace` is that of documents
    that name none; it may be empty.
    """
    batch: list[Placed] = []
    runs: set[str] = set()
    size_bytes = 0
    for line in lines:
        placed = _placed(line, namespace)
        full = len(batch) == BATCH_RUNS or size_bytes + len(line.raw) > BATCH_BYTES_MAX
        alone = Form.SQL in (placed.form, batch[-1].form if batch else Form.LINEAGE)
        if batch and (full or alone or placed.run in runs):
            yield batch
            batch, runs, size_bytes = [], set(), 0
        batch.append(placed)
        runs.update({placed.run} - {""})
        size_bytes += len(line.raw)
    if batch:
        yield batch


def _placed(line: Line, namespace: str) -> Placed:
    seen = glance(line.raw)
    own = namespace if seen.namespace is None else seen.namespace
    own = own if len(own.encode()) <= ID_BYTES_MAX else ""
    run = "" if seen.form is Form.OPENLINEAGE else seen.run
    return Placed(line, own, run, seen.form)
