"""Delivery of plan files: their lines become events, which are sent and acknowledged in order."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from fll_hbase.capture.plan_spool import Losses, PlanFile, PlanSpool, PlanSpoolError
from fll_hbase.capture.resolver import Resolver
from fll_hbase.capture.resolver.dump import Application, decode_line
from fll_hbase.capture.resolver.events import PRODUCER, run_id
from fll_hbase.client.remote.http_session import HttpSession
from fll_hbase.client.remote.problems import DOCUMENT_FAULTS
from fll_hbase.recorder.marked_directory import os_reason
from fll_hbase.runtime.batches import split_batches
from fll_hbase.runtime.errors import LineageError
from fll_hbase.runtime.json_types import Json

_log = logging.getLogger("fll_hbase.capture")

EVENTS_MAX = 500
"""Events per request; fewer than the server records within the time of a request."""

READ_BYTES_MAX = 2**22
"""Bytes of plans that are resolved before their events are sent."""

IDLE_SECONDS_MIN = 30.0
"""Age at which a file without an end counts as complete; a JVM outlives its driver by less."""

_BEGIN = b'{"application":'
_END = b'"applicationEnd"'
_END_BYTES = 100
"""Length of the end of a line that names its kind."""


class PlanLines:
    """The complete lines of a plan file, read as they are appended."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0

    def read(self, bytes_max: int) -> list[tuple[int, bytes]]:
        """Return lines that were not read before, each with the offset of its end, [] if there are none.

        Reads parts of `bytes_max` bytes until they have the end of a line. A last line without an end is read
        again by the next call. Raises PlanSpoolError.
        """
        content = b""
        try:
            with self._path.open("rb") as file:
                file.seek(self._offset)
                while len(content) < bytes_max or b"\n" not in content:
                    part = file.read(bytes_max)
                    if not part:
                        break
                    content += part
        except OSError as error:
            raise PlanSpoolError(f"{self._path} cannot be read: {os_reason(error)}") from error
        # Read an unfinished line again later: the listener takes back a line that a full disk cut.
        # splitlines() would also end lines at other characters.
        *complete, _ = content.split(b"\n")
        lines = []
        for line in complete:
            self._offset += len(line) + 1
            lines.append((self._offset, line))
        return lines


class PlanDelivery:
    """Sends the events of a plan file, and acknowledges its lines. Not safe for threads.

    `sent` and `refused` count events.
    """

    def __init__(self, plan_file: PlanFile) -> None:
        """Begin at the start of the plan file. Acknowledged lines are resolved again, but not sent again."""
        self.plan_file = plan_file
        self.sent = self.refused = 0
        self._resolver = Resolver(plan_file.head.namespace)
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
        """Send the pending events, else events in the next lines; return whether there were lines or events.

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
        """Add the waiting events and one that counts executions missing from the file; `step` sends them."""
        self._add(self._resolver.finish())
        losses = self.plan_file.losses()
        # Without the first line the application is unknown.
        if losses and self._application:
            self._add([_loss_event(self._application, self.plan_file.head.namespace, losses)])
        self.is_finished = True

    def report_losses(self, losses: Losses) -> None:
        """Store and log numbers of lost executions if one is higher than stored. Raises PlanSpoolError."""
        reported = self.plan_file.losses()
        if losses.unwritten > reported.unwritten or losses.unseen > reported.unseen:
            _log.warning("not recorded are %s", _describe(losses))
            self.plan_file.store_losses(losses)

    @property
    def is_half_full(self) -> bool:
        """Return whether more than half of the plan file's limit was read, so that it should restart."""
        return self._read_until > self.plan_file.head.bytes_max // 2

    def restart(self, empty: Callable[[int], bool]) -> None:
        """Let the listener empty the plan file, which is recorded as a whole, through `empty(bytes)`.

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
        """Remove the plan file, which must be recorded. Set `is_complete`, even on PlanSpoolError."""
        self.is_complete = True
        self.plan_file.remove()

    def _read(self) -> bool:
        """Read and resolve further lines, to the application's end at most; return whether there were any."""
        lines = self._lines.read(READ_BYTES_MAX)
        for end, line in lines:
            events = self._resolver.events(line)
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


def send_left(spool: PlanSpool, client: HttpSession, *, destination: str | None) -> Iterator[PlanDelivery]:
    """Send the plans left for a destination (None: for any) to `client`.

    Yields the delivery of a file after each step, and once more when the file is done. A file is removed when
    all of it is recorded. A file that may still grow stays, since the JVM of an application outlives its
    driver by a few seconds. Raises LineageError when the server does not answer or a file cannot be used.
    """
    for plan_file in spool.left(destination):
        delivery = PlanDelivery(plan_file)
        try:
            while delivery.step(client):
                yield delivery
            if not delivery.is_finished and plan_file.idle_seconds() > IDLE_SECONDS_MIN:
                delivery.finish()
                while delivery.step(client):
                    yield delivery
            if delivery.is_finished:
                delivery.complete()
            yield delivery
        finally:
            if not delivery.is_complete:
                plan_file.close()


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
    """Send events, or halves if refused as a whole; return those refused. Raises LineageError otherwise."""
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


def _loss_event(application: Application, namespace: str, losses: Losses) -> Json:
    """Return the event of the application's run that says how many executions are missing from the file.

    The run is the parent of all runs of the application. The API shows its `errorMessage`.
    """
    text = f"capture lost {_describe(losses)}"
    return {
        "eventType": "COMPLETE",
        "eventTime": datetime.now(UTC).isoformat(),
        "producer": PRODUCER,
        "run": {
            "runId": run_id(application),
            "facets": {"errorMessage": {"message": text, "programmingLanguage": "python"}},
        },
        "job": {"namespace": namespace, "name": application.name},
        "inputs": [],
        "outputs": [],
    }


def _describe(losses: Losses) -> str:
    """Return how many executions were lost and why, as a string for logs and errors; "" if none were."""
    texts = []
    if losses.unwritten:
        texts.append(f"{losses.unwritten} executions of this application, because the spool was full")
    if losses.unseen:
        # Not all executions write, and Spark does not say which ones it dropped.
        texts.append(
            f"up to {losses.unseen} executions of this application: Spark dropped their events, as the queue"
            " of the listener was full (spark.scheduler.listenerbus.eventqueue.fll.capacity)"
        )
    return "; ".join(texts)
