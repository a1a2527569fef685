"""Rows of Marquez's table `lineage_events`: each contains one OpenLineage event.

Only the column `event` is read. Others repeat members of the event, or are null (jobs and datasets).
"""

from __future__ import annotations

from typing import TypeVar

import msgspec

from fll_hbase.runtime import typed_json
from fll_hbase.runtime.errors import FieldError, UnreadableDocument

_T = TypeVar("_T")

# Members stay bytes, because the reader of events parses them.
_ABSENT = msgspec.Raw()
_UNREADABLE = msgspec.MsgspecError, UnicodeDecodeError, RecursionError


class _Row(msgspec.Struct):
    event: msgspec.Raw = _ABSENT
    eventTime: msgspec.Raw = _ABSENT  # noqa: N815  # the name in OpenLineage


class _Event(msgspec.Struct):
    eventTime: msgspec.Raw = _ABSENT  # noqa: N815  # the name in OpenLineage


def read_event(raw: bytes) -> bytes:
    """Return the event of a row as JSON, its bytes unchanged. Raises UnreadableDocument.

    `event` is an object, or a string that contains the object, as exports to CSV have it.
    """
    row = _decode(raw, _Row, "", "export rows with `psql -At`, because COPY doubles each backslash")
    event = bytes(row.event)
    if not event:
        hint = "; record a file of events without --marquez" if bytes(row.eventTime) else ""
        raise UnreadableDocument([FieldError("event", f"missing{hint}")])
    if event.startswith(b'"'):
        event = _decode(event, str, "event").encode()
    # Without this member, other readers would be tried, and their errors would not mention events.
    if not bytes(_decode(event, _Event, "event").eventTime):
        raise UnreadableDocument([FieldError("event.eventTime", "missing")])
    return event


def _decode(raw: bytes, shape: type[_T], path: str, advice: str = "") -> _T:
    """Return JSON as a value of a type. Raises UnreadableDocument, with `advice` if it is not JSON."""
    try:
        return typed_json.decode(raw, shape)
    except msgspec.ValidationError as error:
        raise UnreadableDocument([FieldError(path, f"{error}")]) from error
    except _UNREADABLE as error:
        detail = f"not JSON: {error}{'; ' if advice else ''}{advice}"
        raise UnreadableDocument([FieldError(path, detail)]) from error
