"""How many documents at a time: batches of bounded length and size, in the order of the file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import msgspec

from fll_hbase.cli.lines import Line
from fll_hbase.sources.checks import ID_BYTES_MAX

BATCH_RUNS = 500
BATCH_BYTES_MAX = 2**23


@dataclass(frozen=True, slots=True)
class Placed:
    """A document and the namespace it is recorded in; empty where none is known, or none that may be."""

    line: Line
    namespace: str
    run: str


class _Run(msgspec.Struct):
    run: str = ""


class _Head(msgspec.Struct):
    """What of a document decides where it goes; the rest is read by the reader."""

    run: _Run = msgspec.field(default_factory=_Run)
    namespace: str | None = None


_HEADS = msgspec.json.Decoder(_Head)


def batches(lines: Iterable[Line], *, namespace: str) -> Iterator[list[Placed]]:
    """Documents that can be recorded in any order: of a run that is there already a new batch begins.

    `namespace` is that of documents that name none; it may be empty.
    """
    batch: list[Placed] = []
    runs: set[str] = set()
    size_bytes = 0
    for line in lines:
        placed = _placed(line, namespace)
        full = len(batch) == BATCH_RUNS or size_bytes + len(line.raw) > BATCH_BYTES_MAX
        if batch and (full or placed.run in runs):
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
        return Placed(line, namespace, "")
    own = namespace if head.namespace is None else head.namespace
    return Placed(line, own if len(own.encode()) <= ID_BYTES_MAX else "", head.run.run)
