"""Problem responses of the REST contract (RFC 9457) as errors of this package."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import requests

from fll_hbase.queries import name_json
from fll_hbase.runtime.errors import (
    PROBLEMS,
    ChecksumConflict,
    FieldError,
    InputError,
    LineageError,
    RunIdConflict,
    StoreUnavailable,
    TooLarge,
)

DOCUMENT_FAULTS = (InputError, TooLarge, ChecksumConflict, RunIdConflict)
"""Faults of one document, which would be refused again; other documents may be accepted."""


class Refused(LineageError):
    """The server refused a request because of access, a proxy, an unknown route or a fault."""


class Unanswered(StoreUnavailable):
    """A server that does not answer or is busy: another attempt may succeed after `retry_after_seconds`.

    `retry_seconds_max` bounds the time of all attempts, None if only the caller bounds it.
    """

    def __init__(
        self, text: str, retry_after_seconds: float = 0.0, *, retry_seconds_max: float | None = None
    ) -> None:
        self.retry_after_seconds = retry_after_seconds
        self.retry_seconds_max = retry_seconds_max
        super().__init__(text)


def error_from_response(response: requests.Response) -> LineageError:
    """Return the error that a response with a status of 300 or more reports.

    A body that is not a problem object, such as the HTML of a proxy, gives Refused with the status.
    """
    try:
        problem = json_body(response, "status")
    except Refused as refused:
        return refused
    return error_from_problem(problem, request_id=response.headers.get("X-Request-ID", ""))


def error_from_problem(problem: Mapping[str, Any], *, request_id: str = "") -> LineageError:
    """Return the error of a problem, a body or a line of a batch response; Refused for an unknown type."""
    # `type` is a URI (RFC 9457, 3.1.1); the part after its last colon is the slug of an error class.
    slug = str(problem.get("type", "")).rpartition(":")[2]
    detail = str(problem.get("detail") or problem.get("title") or "no reason given")
    error = PROBLEMS.get(slug)
    # Input errors are rebuilt from their single errors, so that they equal the errors of a local store.
    if error is not None and issubclass(error, InputError):
        return error(field_errors(problem.get("errors") or [{"at": "", "detail": detail}]))
    if error is not None:
        return error(detail)
    # The request id finds a fault in the log of the server. The errors above need no log.
    request = f" (X-Request-ID {request_id})" if request_id else ""
    return Refused(f"the server says {problem.get('status')}: {detail}{request}")


def field_errors(items: Iterable[Mapping[str, Any]]) -> tuple[FieldError, ...]:
    """Convert `errors` or `warnings` of a response, objects with `at` (a JSON path) and `detail`."""
    return tuple(FieldError(str(item.get("at", "")), str(item.get("detail", ""))) for item in items)


def json_body(response: requests.Response, *members: str) -> Any:
    """Return the JSON of a response, with names such as `hidden 1` added to hidden things.

    Raises Refused if it is not JSON, or lacks one of `members`.
    """
    try:
        body = response.json()
    except ValueError as error:
        raise unexpected_response(response) from error
    if members and not (isinstance(body, dict) and body.keys() >= set(members)):
        raise unexpected_response(response)
    if name_json.HIDDEN_MEMBER in response.content:
        name_json.add_hidden_names(body)
    return body


def unexpected_response(response: requests.Response) -> Refused:
    """Return the error for a response that comes from another kind of server or from a proxy."""
    status = f"{response.status_code} {response.reason or ''}".strip()
    location = f", see {response.headers['Location']}" if "Location" in response.headers else ""
    return Refused(f"{status}{location}: not an answer of a lineage server; check the server URL")
