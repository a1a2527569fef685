"""Where do documents go: to a store of this process or to a server, with one outcome for each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Protocol, TypeAlias

from fll_hbase.cli.batches import Placed
from fll_hbase.client import errors
from fll_hbase.client.http import Server
from fll_hbase.errors import (
    ChecksumConflict,
    FieldError,
    InputError,
    LineageError,
    TooLarge,
    UnreadableDocument,
)
from fll_hbase.ingest.detect import Form
from fll_hbase.ingest.registry import LineReader, Told
from fll_hbase.sources.name_rules import NameRules
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.store.write.commit import Recorded


class How(Enum):
    """What an accepted document was: new, in another's place, or the very same again."""

    RECORDED = "recorded"
    REPLACED = "replaced"
    REPEATED = "repeated"


@dataclass(frozen=True, slots=True)
class Accepted:
    """A document that is stored, durably."""

    how: How
    warnings: tuple[FieldError, ...]


Outcome: TypeAlias = Accepted | LineageError


class Sink(Protocol):
    """Takes documents. Raises LineageError where it is not known what became of them."""

    def record(self, batch: Sequence[Placed]) -> list[Outcome]:
        """Store all that can be; one outcome for each, in order."""


class StoreSink:
    """A store of this process."""

    def __init__(self, store: LineageStore, rules: NameRules, *, now_ms: int) -> None:
        self._store = store
        self._now_ms = now_ms
        self._reader = LineReader(rules=rules, columns=store.catalogue.field_names)

    def record(self, batch: Sequence[Placed]) -> list[Outcome]:
        readings = [_read(self._reader, placed, self._now_ms) for placed in batch]
        told = [reading for reading in readings if isinstance(reading, Told)]
        answers = iter(self._store.record([run for one in told for run in one.runs]))
        self._store.describe(schema for one in told for schema in one.schemas)
        return [
            _accepted(reading, [next(answers) for _ in reading.runs])
            if isinstance(reading, Told)
            else reading
            for reading in readings
        ]


class ServerSink:
    """A server: one request for each namespace of a batch."""

    def __init__(self, server: Server, rules: NameRules, *, now_ms: int) -> None:
        self._server = server
        self._now_ms = now_ms
        self._reader = LineReader(rules=rules, columns=lambda _: None)

    def record(self, batch: Sequence[Placed]) -> list[Outcome]:
        outcomes: dict[int, Outcome] = {}
        by_namespace: dict[str, list[Placed]] = {}
        for placed in batch:
            if placed.form in (Form.OPENLINEAGE, Form.DATAHUB) and not placed.line.error:
                outcomes[placed.line.number] = self._one(placed)
            elif not placed.namespace or placed.line.error:
                outcomes[placed.line.number] = self._refusal(placed)
            elif placed.form is not Form.LINEAGE or b"\n" in placed.line.raw.rstrip():
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
            if placed.form is Form.OPENLINEAGE:
                return _told(self._server.record_event(placed.line.raw))
            if placed.form is Form.DATAHUB:
                return _proposed(self._server.record_proposals(placed.line.raw))
            route = placed.form.value
            return _told(self._server.record(placed.line.raw, namespace=placed.namespace, route=route))
        except (InputError, TooLarge, ChecksumConflict) as error:
            return error

    def _refusal(self, placed: Placed) -> LineageError:
        """Why there is no URL to send it to, with all else that is wrong with it."""
        reading = _read(self._reader, placed, self._now_ms)
        if isinstance(reading, LineageError):
            return reading
        return UnreadableDocument([FieldError("namespace", "missing")])


def _read(reader: LineReader, placed: Placed, now_ms: int) -> Told | LineageError:
    if placed.line.error is not None:
        return placed.line.error
    try:
        return reader.read(placed.line.raw, placed.form, namespace=placed.namespace or None, now_ms=now_ms)
    except LineageError as error:
        return error


def _accepted(told: Told, answers: Sequence[Recorded | LineageError]) -> Outcome:
    """What became of a document: refused where any of its runs was, new where any of them is."""
    refused = [answer for answer in answers if isinstance(answer, LineageError)]
    if refused:
        return refused[0]
    hows = {
        _how(recorded=answer.recorded, replaced=answer.replaced)
        for answer in answers
        if isinstance(answer, Recorded)
    }
    return Accepted(_most(hows), told.warnings)


def _most(hows: set[How]) -> How:
    """One word for all runs of a document; one that only describes end points is recorded."""
    return next((how for how in How if how in hows), How.RECORDED)


def _proposed(said: Mapping[str, Any]) -> Outcome:
    runs = [run for entity in said["entities"] for run in entity["runs"]]
    return Accepted(
        _most({_how(recorded=run["recorded"], replaced=run.get("replaced", False)) for run in runs}), ()
    )


def _told(said: Mapping[str, Any]) -> Outcome:
    if "recorded" not in said:
        return errors.error(said)
    how = _how(recorded=said["recorded"], replaced=said.get("replaced", False))
    return Accepted(how, errors.faults(said.get("warnings", ())))


def _how(*, recorded: bool, replaced: bool) -> How:
    if not recorded:
        return How.REPEATED
    return How.REPLACED if replaced else How.RECORDED
