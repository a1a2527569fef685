"""One connection: the event loop receives its requests and sends its answers, however slow its client is."""

from __future__ import annotations

import logging
import socket
import time
from http import HTTPStatus
from typing import Any

from waitress.buffers import OverflowableBuffer
from waitress.channel import ClientDisconnected, HTTPChannel
from waitress.task import Task

from fll_hbase.runtime import tracing
from fll_hbase.runtime.errors import FieldError, Overloaded, TooManyRequests, UnreadableDocument

from ..observability.logs import request_id
from ..observability.observer import CLIENT_LEFT_STATUS, AnsweredRequest, method_of, status_of
from ..wire import problems, responses
from ..wire.environ import PRINCIPAL
from .tasks import ProblemTask, Refusal, RequestParser, RequestTask, refusal_of

FIRST_BYTES, READ_BYTES = 2**14, 2**16
"""Bytes read at a time: at first, which is enough for most requests, and for large requests."""

SEND_BYTES = 2**16
"""Bytes of an answer that are collected before some are sent. Bytes that cannot be sent are spooled."""

UNSENT_BYTES_MAX = 2**20
"""Unsent bytes of answers from which on the next request of the connection waits."""

REQUESTS_MAX = 128
"""Maximum number of complete requests of a connection that wait or run; further ones are refused."""

CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"

PROBE_SECONDS = 2.0
"""How often a client that has stopped sending is probed for whether it still accepts an answer."""

IDLE_SECONDS = 75.0
"""How long a connection may stay without a request, or its client without taking any of an answer."""

HEAD_SECONDS, BODY_BYTES_PER_SECOND = 30.0, 1_000
"""How long the head of a request may take, and the rate at which its body must arrive beyond that time."""

LINGER_SECONDS = 2.0
"""How long input is still read after a refusal: closing at once could destroy the answer on its way."""

_log = logging.getLogger(__name__)


class Connection(HTTPChannel):  # type: ignore[misc]
    """A connection of waitress: `handle_` methods run in the event loop, `service` in a request thread."""

    requests: list[RequestParser]
    request: RequestParser | None
    # Bytes of its requests: memory of the arriving one, memory of the complete ones, bodies of all of them
    # (in memory or in files), body of the arriving one.
    sizes: tuple[int, int, int, int]
    will_close: bool
    connected: bool
    task_class = RequestTask
    error_task_class = ProblemTask
    parser_class = RequestParser
    # The client has closed the connection, or its half, and sends nothing more.
    input_ended = False
    # When such a client was last probed for whether it still accepts an answer, in monotonic seconds.
    probed_at = 0.0
    # An answer is being written; it is not yet counted and logged, and a part of it is already written.
    is_answering = False
    has_begun = False
    # There was something to send when the event loop last called `writable`.
    is_sending = False
    # The next request waits until the client takes its answers.
    is_paused = False
    # Monotonic time until which input is discarded; 0 while requests are read.
    linger_until = 0.0

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        # When bytes last came or went. waitress's own `last_activity` uses the wall clock, which can be set.
        self.active_at = time.monotonic()

        self.sizes = (0, 0, 0, 0)

    def writable(self) -> bool:
        """Return whether the event loop must call `handle_write`: to send, after a pause, or to close.

        Sets `is_sending`, on which `readable` depends. Less than SEND_BYTES wait while an answer is written.
        """
        # A snapshot: a request thread may send everything between this call and the call of `readable`, and
        # the connection would then wait for nothing.
        # A short answer is sent after it is counted and logged, so that a client that has it finds it in
        # metrics and logs.
        self.is_sending = self.total_outbufs_len >= (SEND_BYTES if self.is_answering else 1)
        # A paused connection counts: the event loop may have sent everything just before the thread paused.
        return self.is_sending or self.is_paused or self.will_close or self.close_when_flushed

    def readable(self) -> bool:
        """Return whether to read: while lingering, or up to one request ahead unless it sends or closes."""
        if self.linger_until:
            return True
        is_full = len(self.requests) > 1 or self.is_sending
        return not (is_full or self.input_ended or self.will_close or self.close_when_flushed)

    @property
    def is_bulk(self) -> bool:
        """Return whether the client sends much: a large request, or input that is discarded."""
        request = self.request
        return bool(self.linger_until) or (
            request is not None and request.header_bytes_received + request.body_bytes_received >= FIRST_BYTES
        )

    def handle_read(self) -> None:
        """Receive bytes or the end of input, or discard them while lingering; close on a socket error."""
        try:
            data = self.socket.recv(READ_BYTES if self.is_bulk else FIRST_BYTES)
        except BlockingIOError:
            return
        except OSError:
            self.handle_close()
            return
        if self.linger_until:
            if not data:
                self.handle_close()
        elif data:
            self.active_at = time.monotonic()
            self.received(data)
            if len(self.requests) > REQUESTS_MAX:
                self._refuse_ahead()
            self._weigh()
        else:
            self._end_input()

    def handle_write(self) -> None:
        """Send what is buffered, then resume a paused connection, or close it after its last answer."""
        with self.outbuf_lock:
            self._send()
            is_flushed = not self.total_outbufs_len
            resumes = self.is_paused and self.total_outbufs_len < UNSENT_BYTES_MAX
        if self.will_close or not self.connected:
            self.handle_close()
        elif resumes:
            self.is_paused = False
            self.server.add_task(self)
        elif self.close_when_flushed and is_flushed:
            self._close_gracefully()

    def handle_close(self) -> None:
        """Close the connection at once and drop the requests that no thread has. It may be closed already."""
        super().handle_close()
        with self.requests_lock:
            dropped = [] if self.request is None else [self.request]
            self.request = None
            if self.is_paused:
                # No thread would remove them later.
                dropped += self.requests
                self.requests = []
                self.is_paused = False
        for request in dropped:
            request.close()
        self._weigh()
        self.server.forget(self)

    def has_left(self) -> bool:
        """Return whether the client of the first request has closed the connection and waits for no answer.

        A client of HTTP/1.0 has left once its input has ended. One of HTTP/1.1 may have closed only its half
        and wait. It has left once `_probe` or a send has broken the connection.
        """
        return not self.connected or (self.input_ended and not _allows_interim(self.requests[0]))

    def is_alone(self) -> bool:
        """Return whether the client of the first request is the only active one (`Dispatcher.is_alone`)."""
        return bool(self.server.is_alone(self))

    def refuse(self, detail: str) -> None:
        """Answer the first request, not yet processed, with a 503 with this detail; stay connected."""
        seconds = self.server.retry_after_seconds
        self.requests[0].error = refusal_of(Overloaded(detail), closes=False, retry_after_seconds=seconds)

    def service(self) -> None:
        """Answer the first request under its request id and trace, and note it in logs and metrics."""
        request = self.requests[0]
        task = (self.error_task_class if request.error else self.task_class)(self, request)
        with self.outbuf_lock:
            # A new buffer for each answer: a buffer that has grown into a file stays a file.
            self.outbufs.append(OverflowableBuffer(self.adj.outbuf_overflow))
        token = request_id.set(responses.request_id(request.headers.get("X_REQUEST_ID", "")))
        try:
            with tracing.request(request.headers.get("TRACEPARENT", "")) as span:
                answered = self._answer(task)
                self.server.observer.observe(answered)
                span.end(answered.method, answered.route, answered.status)
        finally:
            request_id.reset(token)
            self.is_answering = False
            # Also after an error of the observer: the client waits for its answer.
            self._finish(task)

    def _answer(self, task: Task) -> AnsweredRequest:
        """Answer a request unless the connection is broken, and return it with the status that the app chose.

        Without one, the status is CLIENT_LEFT_STATUS. An error is logged and answered by 500.
        """
        answering = task
        # A request of a broken connection is not processed. A client that sends and leaves must have its
        # request processed, so the connection is tested before the probe below can break it.
        is_connected = self.connected
        self.is_answering = True
        if self.input_ended:
            # A batch was not probed while it waited for its thread, and may have many parts.
            self._probe(time.monotonic())
        try:
            if is_connected:
                task.service()
            else:
                task.close_on_finish = True
        except ClientDisconnected:
            task.close_on_finish = True
        except Exception:  # noqa: BLE001 (whatever the app raises is a 500, and logged)
            answering = self._fail(task)
        environ = task.environ or {} if isinstance(task, RequestTask) else {}
        self.server.clients.learn(task.request, environ.get(PRINCIPAL))
        # A status that the app chose counts even if the client left: a write may have been done.
        has_status = answering.complete or answering.wrote_header
        return AnsweredRequest(
            method=method_of(getattr(task.request, "command", "")),
            status=status_of(answering.status) if has_status else CLIENT_LEFT_STATUS,
            received_at=task.request.received_at,
            size_bytes=answering.content_bytes_written,
            remote=str(self.addr[0]),
            environ=environ,
        )

    def send_continue(self) -> None:
        """Tell the client to send the body that it holds back. Unlike waitress's own method, never close."""
        if self.request is not None:
            self.request.expect_continue = False
        self.sent_continue = True
        with self.outbuf_lock:
            self.outbufs[-1].append(CONTINUE)
            self.total_outbufs_len += len(CONTINUE)
            self._send()

    def write_soon(self, data: bytes) -> int:
        """Add bytes to the answer and return their number, without waiting.

        Raises ClientDisconnected, also if the temporary file of the answer cannot be written.
        """
        with self.outbuf_lock:
            if not self.connected:
                raise ClientDisconnected
            self.has_begun = True
            try:
                self.outbufs[-1].append(data)
            except OSError as error:
                # The temporary file cannot be written: a truncated answer must not look complete.
                self.connected = False
                _log.exception("an answer cannot be written to a temporary file")
                raise ClientDisconnected from error
            self.total_outbufs_len += len(data)
            if self.total_outbufs_len >= SEND_BYTES and self.total_outbufs_len - len(data) < SEND_BYTES:
                self._send()
        return len(data)

    def check_time(self, now: float) -> None:
        """Close a silent or lingering connection, refuse a slow request, or probe a half-closed client.

        `now` is in monotonic seconds. The connection may be closed already.
        """
        if self.requests and not self.is_paused:
            if self.input_ended and now - self.probed_at > PROBE_SECONDS:
                self._probe(now)
            return
        if self.linger_until:
            is_over = now > self.linger_until
        else:
            is_waiting = self.total_outbufs_len or self.request is None
            is_over = is_waiting and now - self.active_at > IDLE_SECONDS
        if is_over:
            # Not after flushing: the socket of a client that reads nothing never becomes writable.
            self.handle_close()
        elif self.request is not None and _is_late(self.request, now):
            detail = "the request did not arrive in time; send it faster, or in parts"
            problem = problems.status_problem(HTTPStatus.REQUEST_TIMEOUT, detail)
            self._refuse_unfinished(Refusal(problem, closes=True))

    def refuse_unfinished(self) -> None:
        """Refuse the request that is arriving, if any, with a 503: there is no room for all requests."""
        if self.request is not None:
            error = Overloaded("too many large requests arrive at once; try again later")
            seconds = self.server.retry_after_seconds
            self._refuse_unfinished(refusal_of(error, retry_after_seconds=seconds))

    def unfinished_seconds(self, now: float) -> float:
        """Return for how many seconds a request has been arriving at `now` (monotonic), or 0 if none is."""
        return 0.0 if self.request is None else now - self.request.began

    def _weigh(self) -> None:
        """Tell the server how many bytes the requests of this connection hold now."""
        with self.requests_lock:
            bodies = sum(request.body_bytes_received for request in self.requests)
            waiting = sum(request.memory_bytes for request in self.requests)
            arriving = arriving_body = 0
            if self.request is not None:
                arriving = self.request.memory_bytes
                arriving_body = self.request.body_bytes_received
            self.server.hold(self, (arriving, waiting, bodies + arriving_body, arriving_body))

    @property
    def is_idle(self) -> bool:
        """Return whether there is neither an answer to send nor a request whose head has arrived."""
        has_head = self.request is not None and self.request.headers_finished
        return not (self.requests or has_head or self.total_outbufs_len)

    def _end_input(self) -> None:
        """Handle the end of input: probe if requests wait, else refuse a truncated body, or close."""
        self.input_ended = True
        if self.request is not None and self.request.headers_finished and not self.requests:
            error = UnreadableDocument([FieldError("", "the body broke off before its end")])
            self._refuse_unfinished(refusal_of(error))
        elif not self.requests:
            self.close_when_flushed = True
        else:
            self._probe(time.monotonic())

    def _probe(self, now: float) -> None:
        """Send a 100 to a client that has stopped sending, which breaks the connection if it has closed.

        HTTP/1.1 clients accept a 100 at any time, and it does not affect the request. Nothing is sent after
        the answer has begun, or if the first request must be processed even without its client.
        """
        self.probed_at = now
        with self.requests_lock, self.outbuf_lock:
            if self.connected and self.requests and not self.has_begun and self._may_end(self.requests[0]):
                self.outbufs[-1].append(CONTINUE)
                self.total_outbufs_len += len(CONTINUE)
                self._send()

    def _may_end(self, request: RequestParser) -> bool:
        """Return whether a request may end when its client leaves: a read, or a batch that has begun."""
        return _allows_interim(request) and (request.is_read or (request.is_batch and self.is_answering))

    def _refuse_ahead(self) -> None:
        """Drop the requests beyond REQUESTS_MAX; the refusal of the one before them closes the connection."""
        with self.requests_lock:
            dropped = self.requests[REQUESTS_MAX:]
            if dropped:
                del self.requests[REQUESTS_MAX:]
                # The last request is refused, since the first one may have begun.
                error = TooManyRequests(f"{REQUESTS_MAX} requests of this connection wait; send fewer ahead")
                seconds = self.server.retry_after_seconds
                self.requests[-1].error = refusal_of(error, retry_after_seconds=seconds)
        for request in dropped:
            request.close()

    def _refuse_unfinished(self, refusal: Refusal) -> None:
        """Refuse the incomplete request after the requests before it are answered, and free its bytes."""
        with self.requests_lock:
            if self.request is None:
                return
            self.request.error = refusal
            self.request.release()
            self.requests.append(self.request)
            self.request = None
            is_first = len(self.requests) == 1
        self._weigh()
        if is_first:
            self.server.add_task(self)

    def _fail(self, task: Task) -> Task:
        """Log an error and answer with a 500 unless a part was written; return the task that answered."""
        _log.exception("request %s: %s was not answered", request_id.get(), task.request.path)
        task.close_on_finish = True
        if task.wrote_header:
            return task
        task.request.error = Refusal(problems.internal_problem(request_id.get()), closes=True)
        failed = self.error_task_class(self, task.request)
        failed.service()
        return failed

    def _finish(self, task: Task) -> None:
        """Send as much as the client takes now, then begin or delay the next request, or close."""
        with self.outbuf_lock:
            self.has_begun = False
            self._send()
            is_behind = self.total_outbufs_len >= UNSENT_BYTES_MAX
        task.request.close()
        with self.requests_lock:
            # The event loop does not read while the list of requests is full.
            was_full = len(self.requests) > 1
            if task.close_on_finish:
                self.close_when_flushed = True
                for request in self.requests[1:]:
                    request.close()
                self.requests = []
            else:
                self.requests.pop(0)
                self.close_when_flushed = self.input_ended and not self.requests
            following = bool(self.requests)
            if not following and self._expects_continue():
                self.send_continue()
        self._weigh()
        self.active_at = time.monotonic()
        if following and not (is_behind and self._pause()):
            self.server.add_task(self)
        # Not for every answer: waking the event loop takes longer than sending a short answer.
        if was_full or self.total_outbufs_len or self.close_when_flushed or not self.connected:
            self.server.wake(self)

    def _pause(self) -> bool:
        """Let the requests wait for the client; return false if it is gone and a thread must end them."""
        with self.requests_lock:
            # `handle_close` takes this lock after it clears `connected`, so one of the two sees the other.
            self.is_paused = is_paused = self.connected
        # Not `self.is_paused`: the event loop may have resumed the connection already.
        return is_paused

    def _expects_continue(self) -> bool:
        """Return whether the client of the arriving request waits for a 100 that may be sent now."""
        request = self.request
        return bool(
            self.connected
            and request is not None
            and request.expect_continue
            and request.headers_finished
            and not self.sent_continue
        )

    def _send(self) -> None:
        """Send as much as the client takes. The caller holds `outbuf_lock`."""
        try:
            if self.connected and self._flush_some(do_close=False):
                self.active_at = time.monotonic()
        except OSError:
            # Only the event loop may close the connection.
            self.connected = False

    def _close_gracefully(self) -> None:
        """Stop sending, then discard input for LINGER_SECONDS so that the client can read the answer."""
        if self.input_ended:
            self.handle_close()
            return
        self.close_when_flushed = False
        self.linger_until = time.monotonic() + LINGER_SECONDS
        try:
            self.socket.shutdown(socket.SHUT_WR)
        except OSError:
            self.handle_close()


def _allows_interim(request: RequestParser) -> bool:
    """Return whether the client of a request understands interim answers: HTTP/1.1, not 1.0."""
    return bool(request.version == "1.1")


def _is_late(request: RequestParser, now: float) -> bool:
    """Return whether a request has taken longer than HEAD_SECONDS and its body so far allow."""
    seconds = HEAD_SECONDS + request.body_bytes_received / BODY_BYTES_PER_SECOND
    return bool(now - request.began > seconds)
