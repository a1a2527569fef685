"""Delivery of one plan file: its lines become events, which are sent and acknowledged in order."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any, Protocol

from fll_hbase.capture.losses import describe, loss_event
from fll_hbase.capture.plan_lines import PlanLines
from fll_hbase.capture.plan_spool import Losses, PlanFile, PlanSpoolError
from fll_hbase.capture.resolver.dump import Application, decode_line
from fll_hbase.client.remote.http_session import HttpSession
from fll_hbase.client.remote.problems import DOCUMENT_FAULTS
from fll_hbase.runtime.batches import split_batches
from fll_hbase.runtime.errors import LineageError
from fll_hbase.runtime.json_types import Json

_log = logging.getLogger("fll_hbase.capture")

EVENTS_MAX = 500
"""Events per request; fewer than the server records within the time of a request."""

READ_BYTES_MAX = 2**22
"""Bytes of plans that are resolved before their events are sent."""

_BEGIN = b'{"application":'
_END = b'"applicationEnd"'
_END_BYTES = 100
"""Length of the end of a line that names its kind."""


class EventSource(Protocol):
    """Makes OpenLineage events from the lines of one plan file, in order."""

    def events(self, line: bytes) -> list[dict[str, Any]]:
        """Return the events that this line completes."""

    def finish(self) -> list[dict[str, Any]]:
        """Return the events that waited for more lines when the application ended."""


class PlanDelivery:
    """Sends the events of a plan file, and acknowledges its lines. Not safe for threads.

    `sent` and `refused` count events.
    """

    def __init__(self, plan_file: PlanFile, source: EventSource) -> None:
        """Begin at the start of the plan file. Acknowledged lines are resolved again, but not sent again."""
        self.plan_file = plan_file
        self.sent = self.refused = 0
        self._source = source
        self._lines = PlanLines(plan_file.path)
        # Later lines may refer to lines before this offset, so those are resolved again, but not sent again.
        self._acknowledged = plan_file.acknowledged()
        self._pending: list[bytes] = []
        self._read_until = 0
        self._application: Application | None = None
        self.is_finished = False
        """True once the end of the application was read, so that nothing follows."""
        self.is_complete = False
        """True once the whole plan file is recorded and removed."""

    def step(self, client: HttpSession, *, wait_seconds: float | None = None) -> bool:
        """Send the pending events, else those of the next lines; return whether there were lines or events.

        `wait_seconds` bounds each request. Raises LineageError if events cannot be sent now; the next call
        sends those that the server has not answered.
        """
        if not self._pending and not self._read():
            return False
        for batch in split_batches(list(self._pending), items_max=EVENTS_MAX, size_bytes=len):
            self._settle(batch, _send(client, batch, wait_seconds))
        if self._read_until > self._acknowledged:
            self.plan_file.acknowledge(self._read_until)
            self._acknowledged = self._read_until
        return True

    def finish(self) -> None:
        """Add events that still wait for lines, and an event that counts executions missing from the file."""
        self._add(self._source.finish())
        losses = self.plan_file.losses()
        # Without the first line the application is unknown.
        if losses and self._application:
            self._add([loss_event(self._application, self.plan_file.head.namespace, losses)])
        self.is_finished = True

    def report_losses(self, losses: Losses) -> None:
        """Store and log the number of lost executions, unless it is known. Raises PlanSpoolError."""
        reported = self.plan_file.losses()
        if losses.unwritten > reported.unwritten or losses.unseen > reported.unseen:
            _log.warning("not recorded are %s", describe(losses))
            self.plan_file.store_losses(losses)

    @property
    def is_half_full(self) -> bool:
        """Return whether more than half of the plan file's limit was read, so that it should restart."""
        return self._read_until > self.plan_file.head.bytes_max // 2

    def restart(self, empty: Callable[[int], bool]) -> None:
        """Let the listener empty the plan file, all of which is recorded, through `empty(bytes)`.

        If `empty` returns False, the file stays as it is. Raises PlanSpoolError.
        """
        recorded = self._acknowledged
        # Acknowledge first: if the process is killed here, everything is sent again, and nothing is stored
        # twice. In the other order, lines written after the file is emptied would be left out.
        self.plan_file.acknowledge(0)
        if empty(recorded):
            self._lines = PlanLines(self.plan_file.path)
            self._acknowledged = self._read_until = 0
        else:
            self.plan_file.acknowledge(recorded)

    def complete(self) -> None:
        """Remove the plan file, whose lines are all recorded. Raises PlanSpoolError."""
        self.is_complete = True
        self.plan_file.remove()

    def _read(self) -> bool:
        """Read and resolve further lines, including the application's end; return whether there were any."""
        lines = self._lines.read(READ_BYTES_MAX)
        for end, line in lines:
            events = self._source.events(line)
            self._read_until = end
            if end > self._acknowledged:
                self._add(events)
            if line.startswith(_BEGIN):
                # The resolver logs a damaged line.
                with suppress(ValueError):
                    self._application = decode_line(line).application
            if _END in line[:_END_BYTES]:
                self.report_losses(_losses(line))
                self.finish()
        return bool(lines)

    def _add(self, events: Iterable[Json]) -> None:
        """Append events, as JSON, to the events to send."""
        self._pending += (json.dumps(event).encode() for event in events)

    def _settle(self, batch: Sequence[bytes], refused: Sequence[tuple[bytes, LineageError]]) -> None:
        """Count and forget a batch that was answered; set its refused events aside, or log their loss."""
        if refused:
            if not self.refused:
                _log.warning(
                    "the server refused lineage of this application, which is now in %s: %s",
                    self.plan_file.refused_path,
                    refused[0][1],
                )
            self.refused += len(refused)
            try:
                self.plan_file.refuse([event for event, _ in refused])
            except PlanSpoolError as error:
                _log.error("%d refused events are lost: %s", len(refused), error)
        self.sent += len(batch) - len(refused)
        del self._pending[: len(batch)]


def _losses(line: bytes) -> Losses:
    """Return the numbers of lost executions in an `applicationEnd` line; zeros if it is damaged."""
    try:
        end = json.loads(line)["applicationEnd"]
        return Losses(int(end["dropped"]), int(end.get("missed", 0)))
    except (ValueError, KeyError, TypeError, AttributeError):
        return Losses()


def _send(
    client: HttpSession, events: Sequence[bytes], wait_seconds: float | None
) -> list[tuple[bytes, LineageError]]:
    """Send events; return those that were refused. Raises LineageError for any other fault."""
    try:
        answers = client.record_events(events, wait_seconds=wait_seconds)
    except DOCUMENT_FAULTS as error:
        # The server refused the request as a whole, but may accept fewer events at a time.
        if len(events) == 1:
            return [(events[0], error)]
        middle = len(events) // 2
        return [
            *_send(client, events[:middle], wait_seconds),
            *_send(client, events[middle:], wait_seconds),
        ]
    return [(events[index], error) for index, error in sorted(answers.items())]
