"""Where do documents go: to a store of this process or to a server, with one outcome for each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Protocol, TypeAlias

from fll_hbase.cli.batches import LINEAGE, OPENLINEAGE, PIPELINES, SQL, Placed
from fll_hbase.errors import (
    ChecksumConflict,
    Fault,
    FaultyInput,
    LineageError,
    TooLarge,
    UnreadableDocument,
)
from fll_hbase.recorder import problems
from fll_hbase.recorder.server import Server
from fll_hbase.sources import openlineage, pipeline_config, sql, strict_json
from fll_hbase.sources.document import Reading
from fll_hbase.sources.naming import NameRules
from fll_hbase.sources.reader import DocumentReader
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.store.recording import Recorded, Said


class How(Enum):
    """What an accepted document was: new, in another's place, or the very same again."""

    RECORDED = "recorded"
    REPLACED = "replaced"
    REPEATED = "repeated"


@dataclass(frozen=True, slots=True)
class Accepted:
    """A document that is stored, durably."""

    how: How
    warnings: tuple[Fault, ...]


Outcome: TypeAlias = Accepted | LineageError


class Sink(Protocol):
    """Takes documents. Raises LineageError where it is not known what became of them."""

    def record(self, batch: Sequence[Placed]) -> list[Outcome]:
        """Store all that can be; one outcome for each, in order."""


class StoreSink:
    """A store of this process."""

    def __init__(self, store: LineageStore, rules: NameRules) -> None:
        self._store = store
        self._rules = rules
        self._reader = DocumentReader()

    def record(self, batch: Sequence[Placed]) -> list[Outcome]:
        readings = [self._read(placed) for placed in batch]
        said = [_said(reading) for reading in readings]
        answers = iter(self._store.record([one for one in said if one is not None]))
        self._store.describe(
            schema
            for reading in readings
            if isinstance(reading, openlineage.Reading) and reading.event is None
            for schema in reading.schemas
        )
        return [
            _accepted(next(answers) if one is not None else None, reading)
            for one, reading in zip(said, readings, strict=True)
        ]

    def _read(self, placed: Placed) -> Reading | openlineage.Reading | LineageError:
        if placed.route == OPENLINEAGE and placed.line.error is None:
            try:
                return openlineage.read(openlineage.parse(placed.line.raw), rules=self._rules)
            except LineageError as error:
                return error
        return _read(self._reader, placed, self._store.catalogue.field_names)


class ServerSink:
    """A server: one request for each namespace of a batch."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._reader = DocumentReader()

    def record(self, batch: Sequence[Placed]) -> list[Outcome]:
        outcomes: dict[int, Outcome] = {}
        by_namespace: dict[str, list[Placed]] = {}
        for placed in batch:
            if placed.route == OPENLINEAGE and not placed.line.error:
                outcomes[placed.line.number] = self._one(placed)
            elif not placed.namespace or placed.line.error:
                outcomes[placed.line.number] = self._refusal(placed)
            elif placed.route != LINEAGE or b"\n" in placed.line.raw.rstrip():
                outcomes[placed.line.number] = self._one(placed)
            else:
                by_namespace.setdefault(placed.namespace, []).append(placed)
        for namespace, some in by_namespace.items():
            answers = self._server.record_batch([placed.line.raw for placed in some], namespace=namespace)
            for placed, told in zip(some, answers, strict=True):
                outcomes[placed.line.number] = _told(told)
        return [outcomes[placed.line.number] for placed in batch]

    def _one(self, placed: Placed) -> Outcome:
        """A document that no batch can hold: over many lines, or of another form."""
        try:
            if placed.route == OPENLINEAGE:
                return _told(self._server.record_event(placed.line.raw))
            told = self._server.record(placed.line.raw, namespace=placed.namespace, route=placed.route)
            return _told(told)
        except (FaultyInput, TooLarge, ChecksumConflict) as error:
            return error

    def _refusal(self, placed: Placed) -> LineageError:
        """Why there is no URL to send it to, with all else that is wrong with it."""
        reading = _read(self._reader, placed, lambda _: None)
        if isinstance(reading, LineageError):
            return reading
        return UnreadableDocument([Fault("namespace", "missing")])


def _read(reader: DocumentReader, placed: Placed, columns: sql.Lookup) -> Reading | LineageError:
    if placed.line.error is not None:
        return placed.line.error
    try:
        if placed.route == SQL:
            said = strict_json.parse(placed.line.raw)
            return sql.read(said, namespace=placed.namespace or None, columns=columns)
        if placed.route == PIPELINES:
            return pipeline_config.read(
                strict_json.parse(placed.line.raw), namespace=placed.namespace or None
            )
        return reader.read(placed.line.raw, namespace=placed.namespace or None)
    except LineageError as error:
        return error


def _said(reading: Reading | openlineage.Reading | LineageError) -> Said | None:
    """What of a run there is to record."""
    match reading:
        case Reading():
            return reading.recorded
        case openlineage.Reading():
            return reading.event
        case LineageError():
            return None


def _accepted(
    answer: Recorded | LineageError | None, reading: Reading | openlineage.Reading | LineageError
) -> Outcome:
    """What became of a document; one that tells of no run has no answer."""
    if isinstance(reading, LineageError):
        return reading
    if isinstance(answer, LineageError):
        return answer
    warnings = reading.warnings if isinstance(reading, Reading) else ()
    if answer is None:
        return Accepted(How.RECORDED, warnings)
    return Accepted(_how(recorded=answer.recorded, replaced=answer.replaced), warnings)


def _told(said: Mapping[str, Any]) -> Outcome:
    if "recorded" not in said:
        return problems.error(said)
    how = _how(recorded=said["recorded"], replaced=said.get("replaced", False))
    return Accepted(how, problems.faults(said.get("warnings", ())))


def _how(*, recorded: bool, replaced: bool) -> How:
    if not recorded:
        return How.REPEATED
    return How.REPLACED if replaced else How.RECORDED
