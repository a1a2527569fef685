"""HTTP requests to one lineage server: retried while it is unavailable, problems raised as our errors."""

from __future__ import annotations

import json
import logging
import math
import os
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from email.utils import parsedate_to_datetime
from functools import partial
from ipaddress import ip_address
from threading import Timer
from typing import Any
from urllib.parse import quote, urlsplit

import requests
from tenacity import RetryCallState
from urllib3.exceptions import ConnectTimeoutError, LocationParseError, NewConnectionError

from fll_hbase.client.remote import problems
from fll_hbase.client.remote.problems import Unanswered
from fll_hbase.runtime import tracing
from fll_hbase.runtime.errors import BatchStopped, ConfigurationError, LineageError, StoreUnavailable
from fll_hbase.runtime.retry import RetryPolicy
from fll_hbase.runtime.threads import call_bounded

_log = logging.getLogger(__name__)

CONNECT_SECONDS = 3.0
UNCONNECTED_SECONDS = 3.0
"""How long to try to connect to a server that has not answered before.

A refused connection to this machine is not retried: no server listens there.
"""

_UNCONNECTED = (NewConnectionError, ConnectTimeoutError)
"""Errors before a connection exists: a refused connection, an unknown name, no route."""

SILENT_SECONDS = 3.0
"""A longer wait for an answer, or for the next attempt, is reported while it lasts."""

SLACK_SECONDS = 5.0
"""The time for the network and a busy server, beyond the time that a server may work on a request."""

BUSY = frozenset({429, 502, 503, 504})
"""Statuses after which the same request may succeed: by contract, recording a run again is safe."""

ACKNOWLEDGEMENT_MEMBERS = ("recorded", "entities", "runs", "operations")
"""Every acknowledgement has one: of one run, of a DataHub message, of many runs, of a dry run."""

_EVENT_BATCH = ("api", "v1", "lineage", "batch")

_TOKEN = re.compile(r"[A-Za-z0-9._~+/-]+=*", re.ASCII)  # b64token of RFC 6750

_NO_TLS = "WRONG_VERSION_NUMBER"
"""Occurs in the error of OpenSSL if the other side does not speak TLS."""

_INVALID_URL = (
    requests.exceptions.InvalidURL,
    requests.exceptions.InvalidSchema,
    requests.exceptions.MissingSchema,
    # Part of the host name is empty or too long. requests does not translate this error.
    LocationParseError,
)


class HttpSession:
    """Connections to one server. Threads may share it, one at a time.

    A request is retried if it does not reach the server, gets no answer in time, or gets a status of BUSY.
    Retries wait at least the Retry-After of the response, and end `timeout_seconds` after the first attempt.
    A server that cannot be reached and has not answered before is tried for UNCONNECTED_SECONDS. Each attempt
    waits `read_seconds` for data. `token` is sent with each request, only to this server.
    """

    def __init__(
        self, url: str, *, timeout_seconds: float = 60.0, read_seconds: float = 60.0, token: str = ""
    ) -> None:
        """Prepare a session without connecting. Raises ConfigurationError for an invalid token."""
        self._url = url.rstrip("/")
        self._policy = RetryPolicy(timeout_seconds=timeout_seconds)
        self._read_seconds = read_seconds
        self._limit_seconds: float | None = None
        self._has_answered = self._is_wait_reported = False
        self._session = requests.Session()
        if token:
            self._session.auth = _BearerToken(token)

    @contextmanager
    def limit(self, seconds: float | None) -> Iterator[None]:
        """Return a context in which an attempt takes at most `seconds`; with None, only steps are bounded."""
        self._limit_seconds = seconds
        try:
            yield
        finally:
            self._limit_seconds = None

    def post(self, *segments: str, body: bytes, params: Mapping[str, str] | None = None) -> dict[str, Any]:
        """Send a JSON document; return the acknowledgement. Raises LineageError, Refused for another body."""
        response = self.request("POST", *segments, body=body, params=params)
        answer = problems.json_body(response)
        if not isinstance(answer, dict) or answer.keys().isdisjoint(ACKNOWLEDGEMENT_MEMBERS):
            raise problems.unexpected_response(response)
        return answer

    def record_events(
        self, events: Sequence[bytes], *, wait_seconds: float | None = None
    ) -> dict[int, LineageError]:
        """Send an array of OpenLineage events; return the error of each that was refused, by its position.

        Events that the server leaves unread after too many errors are sent again. An attempt takes at most
        `wait_seconds`. Raises LineageError if a request as a whole fails, such as BatchStopped if the server
        reads no event. Raises Unanswered if the store was unavailable for any event; any of the events may
        then be recorded.
        """
        refused: dict[int, LineageError] = {}
        start = 0
        with self.limit(wait_seconds):
            # An empty array is also sent, to find out whether the server accepts events.
            while True:
                failed, stop = self._post_events(events[start:])
                refused |= {start + index: error for index, error in failed.items() if index < stop}
                start += stop
                if start == len(events):
                    return refused
                if stop == 0:
                    raise failed[0]

    def _post_events(self, events: Sequence[bytes]) -> tuple[dict[int, LineageError], int]:
        """Send events in one request; return errors by position and how many were read. Raises Unanswered."""
        response = self.request("POST", *_EVENT_BATCH, body=b"[" + b",".join(events) + b"]")
        failed = problems.json_body(response, "failed_events", "summary")["failed_events"]
        busy = [item for item in failed if item["problem"]["status"] in BUSY]
        if busy:
            raise Unanswered(f"{self._displayed_url()} is busy: {busy[0]['reason']}")
        refused = {item["index"]: problems.error_from_problem(item["problem"]) for item in failed}
        stopped = [index for index, error in refused.items() if isinstance(error, BatchStopped)]
        return refused, min(stopped, default=len(events))

    def post_lines(
        self, *segments: str, lines: Sequence[bytes], params: Mapping[str, str] | None = None
    ) -> list[dict[str, Any]]:
        """Send one JSON document a line; return an acknowledgement or a problem for each, in order.

        Lines that the server leaves unread after too many errors are sent again, and BatchStopped is raised
        if it reads none. Raises Unanswered, after retries, if lines have no answer or the store was
        unavailable for any; any of the lines may then be recorded. Raises LineageError as `request` does.
        """
        answers: list[dict[str, Any]] = []
        size = len(lines)
        while len(answers) < len(lines):
            sent = lines[len(answers) : len(answers) + size]
            # The last line of a file may have no line end, and would become one line with the next one.
            body = b"".join(line.rstrip(b"\r\n") + b"\n" for line in sent)
            part = _json_lines(
                self.request("POST", *segments, params=params, body=body, line_count=len(sent))
            )
            if _is_stopped(part):
                stopped = part.pop()
                # If no line was answered, the next request would end in the same way.
                if not part:
                    raise problems.error_from_problem(stopped)
                # Send only as many lines as the server reads at a time, since it would leave the rest unread.
                size = len(part)
            answers += part
        return answers

    def close(self) -> None:
        """Release the connections."""
        self._session.close()

    def request(
        self,
        method: str,
        *segments: str,
        params: Mapping[str, str] | None = None,
        body: bytes | None = None,
        line_count: int = 0,
    ) -> requests.Response:
        """Send a request with retries; return a response with a status below 300.

        `segments` of the path are escaped here. The `body` is JSON, or `line_count` lines of JSON. Raises
        Unanswered after the last attempt, StoreUnavailable for a certificate that is not trusted,
        ConfigurationError for a URL that is not of a server, else the error that the response reports.
        """
        # By default, quote() keeps `/`, so the name `a/b` would become two segments (decision 0009).
        url = "/".join([self._url, *(quote(segment, safe="") for segment in segments)])
        media_type = "application/x-ndjson" if line_count else "application/json"
        headers = None if body is None else {"Content-Type": media_type}
        request = requests.Request(method, url, params=params, data=body, headers=headers)
        self._is_wait_reported = False
        retrying = self._policy.retrying(Unanswered, before_wait=self._report_wait)
        try:
            response = retrying(self._attempt, request, line_count)
        except Unanswered as error:
            attempts = retrying.statistics["attempt_number"]
            count = f" ({attempts} attempts)" if attempts > 1 else ""
            raise Unanswered(
                f"{self._displayed_url()} {error}{count}; is it running? Trying again is safe",
                error.retry_after_seconds,
                retry_seconds_max=error.retry_seconds_max,
            ) from error
        if response.status_code >= 300:
            raise problems.error_from_response(response)
        return response

    def _attempt(self, request: requests.Request, line_count: int) -> requests.Response:
        """Send a request once. Raises Unanswered if another attempt may succeed, else another LineageError.

        A response with an error status that is not in BUSY is returned.
        """
        try:
            response = self._send(request)
        # SSLError and the URL errors are RequestExceptions, but another attempt would also fail.
        except requests.exceptions.SSLError as error:
            if _NO_TLS in str(error):
                raise ConfigurationError(
                    f"{self._displayed_url()} does not speak TLS; write http:// if that is meant"
                ) from error
            raise StoreUnavailable(
                f"{self._displayed_url()} is not trusted: {error}; check its certificate"
            ) from error
        except _INVALID_URL as error:
            raise ConfigurationError(
                f"{self._displayed_url()!r} is not the URL of a server: expected http://host:port"
            ) from error
        except requests.ReadTimeout as error:
            seconds = f"{self._wait_seconds():g} s"
            raise Unanswered(f"accepts connections, but does not answer within {seconds}") from error
        except requests.RequestException as error:
            causes = _causes(error)
            reason = str(causes[-1]) or type(causes[-1]).__name__
            raise Unanswered(
                f"does not answer: {reason}", retry_seconds_max=self._retry_seconds_max(causes)
            ) from error
        self._has_answered = True
        if response.status_code in BUSY:
            reason = f"is busy: {response.status_code} {response.reason}"
            raise Unanswered(reason, _retry_after_seconds(response))
        if line_count and response.status_code == 200:
            _check_line_count(response, line_count)
        return response

    def _send(self, request: requests.Request) -> requests.Response:
        """Send a request once, with proxies and certificates of the environment. Raises RequestException."""
        prepared = self._session.prepare_request(request)
        # requests resolves the path segments `.` and `..`, which are valid names of datasets: restore them.
        path = urlsplit(request.url or "").path
        prepared.url = urlsplit(prepared.url or "")._replace(path=path).geturl()
        # The caller's instrumentation may have set the header already.
        if traceparent := tracing.outgoing(os.environ):
            prepared.headers.setdefault("traceparent", traceparent)
        # Session.send, unlike Session.request, ignores HTTP_PROXY, REQUESTS_CA_BUNDLE and the like.
        settings = self._session.merge_environment_settings(prepared.url, {}, None, None, None)
        limit = self._limit_seconds
        timeout = min(CONNECT_SECONDS, limit or math.inf), self._wait_seconds()
        # Following a 301 or 302, requests repeats a POST as a GET without its body: redirects are errors.
        send = partial(self._session.send, prepared, timeout=timeout, allow_redirects=False, **settings)
        if limit is None:
            # With a limit, the caller reports: a job must not start another thread for each of its runs.
            with self._report_silence():
                return send()
        try:
            # Timeouts bound single steps, but not the resolver or an answer that arrives byte by byte.
            return call_bounded(send, limit)
        except TimeoutError as error:
            reason = str(error)
        # Raised outside the clause, because the text of the innermost cause is reported.
        raise requests.Timeout(reason)

    def _retry_seconds_max(self, causes: Sequence[BaseException]) -> float | None:
        """Return how many seconds to retry after a fault of a connection, or None for the caller's full time.

        UNCONNECTED_SECONDS if no connection was made and the server never answered before, but 0 if this
        machine refused it. `causes` ends with the innermost.
        """
        # After an earlier answer, the server is most likely restarting, and jobs must survive that.
        if self._has_answered or not any(isinstance(cause, _UNCONNECTED) for cause in causes):
            return None
        is_answer = isinstance(causes[-1], ConnectionRefusedError)
        return 0.0 if is_answer and _is_loopback(urlsplit(self._url).hostname or "") else UNCONNECTED_SECONDS

    def _report_wait(self, state: RetryCallState) -> None:
        """Log once for each request that its attempts take over SILENT_SECONDS, and how long they go on."""
        seconds = (state.seconds_since_start or 0.0) + state.upcoming_sleep
        if seconds > SILENT_SECONDS and state.outcome and not self._is_wait_reported:
            self._is_wait_reported = True
            _log.warning(
                "%s %s; trying again for up to %g s",
                self._displayed_url(),
                state.outcome.exception(),
                self._policy.timeout_seconds or 0.0,
            )

    @contextmanager
    def _report_silence(self) -> Iterator[None]:
        """Return a context in which an answer that takes longer than SILENT_SECONDS is logged."""
        text = "%s has not answered for %g s; waiting for up to %g s"
        timer = Timer(
            SILENT_SECONDS, _log.warning, (text, self._displayed_url(), SILENT_SECONDS, self._wait_seconds())
        )
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def _wait_seconds(self) -> float:
        """Return how many seconds an attempt waits for data: the smaller of `read_seconds` and the limit."""
        return min(self._read_seconds, self._limit_seconds or math.inf)

    def _displayed_url(self) -> str:
        """Return the URL of the server without user and password, for messages."""
        parts = urlsplit(self._url)
        return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


class _BearerToken(requests.auth.AuthBase):
    """Adds a token to requests. As `auth`, it has priority over the user of a URL and over `.netrc`."""

    def __init__(self, token: str) -> None:
        """Keep the token, stripped of white space. Raises ConfigurationError for invalid characters."""
        # A file with a token usually ends with a line feed. The error text must not show the token.
        self._token = token.strip()
        if not _TOKEN.fullmatch(self._token):
            raise ConfigurationError("FLL_TOKEN contains characters that are invalid in a token")

    def __call__(self, prepared: requests.PreparedRequest) -> requests.PreparedRequest:
        """Set the Authorization header of a request; return the same request."""
        prepared.headers["Authorization"] = f"Bearer {self._token}"
        return prepared


def _check_line_count(response: requests.Response, count: int) -> None:
    """Raise Unanswered if the store was unavailable for any line, or if lines have no answer.

    A server that stopped a batch may leave lines without one. Raises Refused for too many answers.
    """
    # A batch has status 200 even if lines failed. Sending all of it again is safe: commits are idempotent.
    answers = _json_lines(response)
    if len(answers) > count:
        raise problems.unexpected_response(response)
    if len(answers) < count and not _is_stopped(answers):
        raise Unanswered(f"answered {len(answers)} of {count} lines")
    busy = [answer for answer in answers if answer.get("status") in BUSY]
    if busy:
        raise Unanswered(f"is busy: {busy[0].get('detail', '')}")


def _is_stopped(answers: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether the last line says that the server left the rest of a batch unread."""
    return bool(answers) and str(answers[-1].get("type", "")).endswith(f":{BatchStopped.slug}")


def _json_lines(response: requests.Response) -> list[dict[str, Any]]:
    """Parse the objects of an NDJSON body, each with a `status`. Raises Refused for any other body."""
    try:
        answers = [json.loads(line) for line in response.content.splitlines() if line.strip()]
    except ValueError as error:
        raise problems.unexpected_response(response) from error
    if not all(isinstance(answer, dict) and "status" in answer for answer in answers):
        raise problems.unexpected_response(response)
    return answers


def _retry_after_seconds(response: requests.Response) -> float:
    """Return the seconds of Retry-After, a number or a date (RFC 9110, 10.2.3), or 0 for anything else."""
    # isdigit() alone accepts digits such as `²`, which float() refuses.
    value = response.headers.get("Retry-After", "").strip()
    if value.isascii() and value.isdigit():
        return float(value)
    try:
        return max(parsedate_to_datetime(value).timestamp() - time.time(), 0.0)
    except ValueError:
        return 0.0


def _is_loopback(host: str) -> bool:
    """Return whether a host is this machine, by a loopback name or address."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def _causes(error: BaseException) -> list[BaseException]:
    """Return an error and its causes; the innermost usually has the text of the operating system."""
    # requests wraps errors of urllib3, which wraps errors of sockets. Each repeats the text of its cause.
    causes = [error]
    while cause := causes[-1].__cause__ or causes[-1].__context__:
        causes.append(cause)
    return causes
