"""How many documents at a time: batches of bounded length and size, in the order of the file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import msgspec

from fll_hbase.cli.lines import Line
from fll_hbase.sources.checks import ID_BYTES_MAX

BATCH_RUNS = 500
BATCH_BYTES_MAX = 2**23

LINEAGE, SQL, PIPELINES, OPENLINEAGE = "lineage", "sql", "pipelines", "openlineage"
"""Which form documents have: the last segment of the route they are recorded at, or whose events they are."""


@dataclass(frozen=True, slots=True)
class Placed:
    """A document, where it is recorded, and in which namespace; empty where none is known, or may be."""

    line: Line
    namespace: str
    run: str
    route: str = LINEAGE


class _Run(msgspec.Struct):
    run: str = ""


class _Head(msgspec.Struct):
    """What of a document decides where it goes; the rest is read by the reader."""

    run: _Run = msgspec.field(default_factory=_Run)
    namespace: str | None = None


class _Form(msgspec.Struct):
    """What of a document says which form it has."""

    sql: msgspec.Raw = msgspec.field(default_factory=msgspec.Raw)
    config: msgspec.Raw = msgspec.field(default_factory=msgspec.Raw)
    operations: msgspec.Raw = msgspec.field(default_factory=msgspec.Raw)
    event_time: msgspec.Raw = msgspec.field(default_factory=msgspec.Raw, name="eventTime")


_HEADS, _FORMS = msgspec.json.Decoder(_Head), msgspec.json.Decoder(_Form)


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
        alone = SQL in (placed.route, batch[-1].route if batch else "")
        if batch and (full or alone or placed.run in runs):
            yield batch
            batch, runs, size_bytes = [], set(), 0
        batch.append(placed)
        runs.update({placed.run} - {""})
        size_bytes += len(line.raw)
    if batch:
        yield batch


def _placed(line: Line, namespace: str) -> Placed:
    try:
        head = _HEADS.decode(line.raw)
    except (msgspec.MsgspecError, RecursionError):
        return Placed(line, namespace, "", _route(line.raw))
    own = namespace if head.namespace is None else head.namespace
    own = own if len(own.encode()) <= ID_BYTES_MAX else ""
    return Placed(line, own, head.run.run, _route(line.raw))


def _route(raw: bytes) -> str:
    if not any(member in raw for member in (b'"sql"', b'"config"', b'"eventTime"')):
        return LINEAGE
    try:
        form = _FORMS.decode(raw)
    except (msgspec.MsgspecError, RecursionError):
        return LINEAGE
    if bytes(form.event_time):
        return OPENLINEAGE
    if bytes(form.sql):
        return SQL
    return PIPELINES if bytes(form.config) and not bytes(form.operations) else LINEAGE
