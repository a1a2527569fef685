"""A server of the REST contract, from the client's side: patient, bounded, its problems as our errors."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Iterable, Mapping, Sequence
from email.utils import parsedate_to_datetime
from random import SystemRandom
from typing import Any
from urllib.parse import quote, urlsplit

import requests

from fll_hbase.client import errors
from fll_hbase.errors import ConfigurationError, StoreUnavailable

NDJSON = "application/x-ndjson"
CONNECT_SECONDS = 5.0
BUSY = frozenset({429, 502, 503, 504})
"""Statuses after which the same request may do: by contract, sending a run again is safe."""

_PAUSE_SECONDS_FIRST, _PAUSE_SECONDS_MAX = 0.25, 10.0
_NO_URL = (
    requests.exceptions.InvalidURL,
    requests.exceptions.InvalidSchema,
    requests.exceptions.MissingSchema,
)
_random = SystemRandom()


class Server:
    """One server. Threads may take turns with it.

    A request that meets no server, or a busy one, is sent again after growing pauses, no sooner than the
    server's Retry-After says, until `patience_seconds` are over; one try may take `answer_seconds`.
    """

    def __init__(self, url: str, *, patience_seconds: float = 60.0, answer_seconds: float = 60.0) -> None:
        self._url = url.rstrip("/")
        self._patience_seconds = patience_seconds
        self._answer_seconds = answer_seconds
        self._session = requests.Session()

    def get(self, *segments: str, asked: Mapping[str, str]) -> requests.Response:
        """The answer to a question; names are `segments` of the path as they are. Raises LineageError."""
        return self._answered("GET", segments, params=asked)

    def record(self, document: bytes, *, namespace: str, route: str = "lineage") -> dict[str, Any]:
        """Record one document of the form that a route takes; returns the acknowledgement.

        Raises LineageError.
        """
        segments = ("v3", "namespaces", namespace, route)
        headers = {"Content-Type": "application/json"}
        answer = self._answered("POST", segments, data=document, headers=headers)
        return dict(errors.parsed(answer, "run", "checksum", "recorded"))

    def record_event(self, event: bytes) -> dict[str, Any]:
        """Record one OpenLineage event; returns the acknowledgement. Raises LineageError."""
        headers = {"Content-Type": "application/json"}
        answer = self._answered("POST", ("api", "v1", "lineage"), data=event, headers=headers)
        return dict(errors.parsed(answer, "recorded"))

    def record_proposals(self, message: bytes) -> dict[str, Any]:
        """Record a proposal or event as DataHub's files have them. Raises LineageError."""
        headers = {"Content-Type": "application/json"}
        answer = self._answered(
            "POST", ("aspects",), params={"action": "ingestFile"}, data=message, headers=headers
        )
        return dict(errors.parsed(answer, "entities"))

    def record_batch(self, lines: Sequence[bytes], *, namespace: str) -> list[dict[str, Any]]:
        """Record documents of one line each; returns an acknowledgement or a problem for each, in order.

        Raises LineageError where that is not known of every line, StoreUnavailable where the store was away for
        any of them: then any may have landed.
        """
        segments = ("v3", "namespaces", namespace, "lineage", "batch")
        body = b"".join(line.rstrip(b"\r\n") + b"\n" for line in lines)
        headers = {"Content-Type": NDJSON}
        answer = self._answered("POST", segments, data=body, headers=headers, lines=len(lines))
        return _lines(answer)

    def close(self) -> None:
        """Give back the connections."""
        self._session.close()

    def _answered(
        self, method: str, segments: Iterable[str], *, lines: int = 0, **said: Any
    ) -> requests.Response:
        url = "/".join([self._url, *(quote(segment, safe="") for segment in segments)])
        deadline = time.monotonic() + self._patience_seconds
        for tries in itertools.count(1):
            try:
                answer = self._once(method, url, lines, said)
                break
            except _Again as again:
                pause = max(again.seconds, _pause_seconds(tries))
                if time.monotonic() + pause > deadline:
                    told = (
                        f"{self._shown()} {again} ({tries} tries); is it running? trying again later is safe"
                    )
                    raise StoreUnavailable(told) from again
                time.sleep(pause)
        if answer.status_code >= 300:
            raise errors.error_of(answer)
        return answer

    def _once(self, method: str, url: str, lines: int, said: Mapping[str, Any]) -> requests.Response:
        try:
            answer = self._sent(requests.Request(method, url, **said))
        except requests.exceptions.SSLError as error:
            raise StoreUnavailable(
                f"{self._shown()} is not trusted: {error}; check its certificate"
            ) from error
        except _NO_URL as error:
            told = f"{self._shown()!r} is no URL of a server; one looks like http://host:port"
            raise ConfigurationError(told) from error
        except requests.RequestException as error:
            raise _Again(f"does not answer: {_reason(error)}") from error
        if answer.status_code in BUSY:
            raise _Again(f"is busy: {answer.status_code} {answer.reason}", _retry_after_seconds(answer))
        if lines and answer.status_code == 200:
            _check_lines(answer, lines)
        return answer

    def _sent(self, request: requests.Request) -> requests.Response:
        """As Session.request would, but with the path as it is: a name may be `.` or `..`."""
        prepared = self._session.prepare_request(request)
        path = urlsplit(request.url or "").path
        prepared.url = urlsplit(prepared.url or "")._replace(path=path).geturl()
        settings = self._session.merge_environment_settings(prepared.url, {}, None, None, None)
        timeout = (CONNECT_SECONDS, self._answer_seconds)
        return self._session.send(prepared, timeout=timeout, allow_redirects=False, **settings)

    def _shown(self) -> str:
        """The URL without what may be a password."""
        parts = urlsplit(self._url)
        return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


class _Again(Exception):
    """Not answered; worth another try, no sooner than after `seconds`."""

    def __init__(self, reason: str, seconds: float = 0.0) -> None:
        self.seconds = seconds
        super().__init__(reason)


def _check_lines(answer: requests.Response, count: int) -> None:
    told = _lines(answer)
    if len(told) > count:
        raise errors.not_ours(answer)
    if len(told) < count:
        raise _Again(f"answered {len(told)} of {count} lines")
    busy = [line for line in told if line.get("status") in BUSY]
    if busy:
        raise _Again(f"is busy: {busy[0].get('detail', '')}")


def _lines(answer: requests.Response) -> list[dict[str, Any]]:
    try:
        told = [json.loads(line) for line in answer.content.splitlines() if line.strip()]
    except ValueError as error:
        raise errors.not_ours(answer) from error
    if not all(isinstance(line, dict) and "status" in line for line in told):
        raise errors.not_ours(answer)
    return told


def _pause_seconds(tries: int) -> float:
    """Growing, and not the same for all who wait."""
    return _random.uniform(0.5, 1.0) * min(_PAUSE_SECONDS_FIRST * 2.0 ** (tries - 1), _PAUSE_SECONDS_MAX)


def _retry_after_seconds(answer: requests.Response) -> float:
    """Seconds, given as such or as a date (RFC 9110, 10.2.3); 0 for anything else."""
    said = answer.headers.get("Retry-After", "").strip()
    if said.isascii() and said.isdigit():
        return float(said)
    try:
        return max(parsedate_to_datetime(said).timestamp() - time.time(), 0.0)
    except ValueError:
        return 0.0


def _reason(error: requests.RequestException) -> str:
    """The words of the innermost cause, which are those of the operating system."""
    cause: BaseException = error
    while cause.__cause__ or cause.__context__:
        cause = cause.__cause__ or cause.__context__ or cause
    return str(cause) or type(cause).__name__
