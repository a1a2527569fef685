"""Which error does an answer tell: problems of the REST contract (RFC 9457) as errors of this package."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import requests

from fll_hbase.errors import (
    ChecksumConflict,
    CorruptRow,
    FieldError,
    InputError,
    InvalidLineage,
    InvalidQuery,
    LineageError,
    NotFound,
    StoreUnavailable,
    TooLarge,
    UnreadableDocument,
)

_FAULTY: dict[str, type[InputError]] = {
    "unreadable-document": UnreadableDocument,
    "bad-question": InvalidQuery,
    "invalid-lineage": InvalidLineage,
}
_PLAIN: dict[str, type[LineageError]] = {
    "never-seen": NotFound,
    "checksum-conflict": ChecksumConflict,
    "too-large": TooLarge,
    "store-away": StoreUnavailable,
    "corrupt-row": CorruptRow,
}


class Refused(LineageError):
    """The server will not answer, for a reason of its own: access, a proxy, no such route, a fault in it."""


def error_of(answer: requests.Response) -> LineageError:
    """The error that an answer with a status of 300 or more tells."""
    try:
        told = answer.json()
    except ValueError:
        return not_ours(answer)
    if not isinstance(told, dict) or "status" not in told:
        return not_ours(answer)
    return error(told, request_id=answer.headers.get("X-Request-ID", ""))


def error(told: Mapping[str, Any], *, request_id: str = "") -> LineageError:
    """The error that a problem tells, of a whole answer or of one line of a batch."""
    kind = str(told.get("type", "")).rpartition(":")[2]
    detail = str(told.get("detail") or told.get("title") or "no reason given")
    if kind in _FAULTY:
        errors = told.get("errors") or [{"at": "", "detail": detail}]
        return _FAULTY[kind](faults(errors))
    if kind in _PLAIN:
        return _PLAIN[kind](detail)
    named = f" (X-Request-ID {request_id})" if request_id else ""
    return Refused(f"the server says {told.get('status')}: {detail}{named}")


def faults(said: Any) -> tuple[FieldError, ...]:
    """Faults or warnings, each with its place."""
    return tuple(FieldError(str(item.get("at", "")), str(item.get("detail", ""))) for item in said)


def parsed(answer: requests.Response, *members: str) -> Any:
    """The JSON of an answer. Raises Refused where it is none, or no object with those members."""
    try:
        body = answer.json()
    except ValueError as error:
        raise not_ours(answer) from error
    if members and not (isinstance(body, dict) and body.keys() >= set(members)):
        raise not_ours(answer)
    return body


def not_ours(answer: requests.Response) -> Refused:
    """What answers is no server of this contract, or something stands before it."""
    status = f"{answer.status_code} {answer.reason or ''}".strip()
    location = f", see {answer.headers['Location']}" if "Location" in answer.headers else ""
    return Refused(f"{status}{location}: not an answer of a lineage server; check the server URL")
