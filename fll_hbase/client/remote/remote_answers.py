"""Answers of a server: bodies, limits, windows and pages."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import msgspec
import requests

from fll_hbase.client.remote import problems
from fll_hbase.model.window import Window
from fll_hbase.queries import query as queries
from fll_hbase.queries.query import BodyT, Query
from fll_hbase.runtime import typed_json


def decode(query: Query[BodyT], response: requests.Response) -> queries.Answer[BodyT]:
    """Return the answer of a response. Raises Refused if the body does not fit the query."""
    body = decode_body(response, query.body_type())
    page = next_page(response) or {}
    return queries.Answer(
        body,
        window=_window(query, response),
        retained_from_ms=retained_from_ms(response),
        cursor=page.get("cursor", ""),
        truncated_by=_truncated_by(body, response),
        principal=unquote(response.headers.get("Principal", "")),
    )


def decode_body(response: requests.Response, body_type: type[BodyT]) -> BodyT:
    """Return the body of a response. Raises Refused if it does not have this type."""
    try:
        return typed_json.decode(response.content, body_type)
    except msgspec.MsgspecError as error:
        raise problems.unexpected_response(response) from error


def _truncated_by(body: Any, response: requests.Response) -> tuple[str, ...]:
    """Return the limits that cut an answer, from the headers if the body has no such member (decision 8).

    An answer that is cut by no named limit has the limit "a bound of the server".
    """
    if hasattr(body, "truncated_by"):
        limits, is_truncated = body.truncated_by, body.truncated
    else:
        header = response.headers.get("Truncated-By", "")
        limits = tuple(header.split(", ")) if header else ()
        is_truncated = response.headers.get("Truncated") == "true"
    return (limits or ("a bound of the server",)) if is_truncated else ()


def retained_from_ms(response: requests.Response) -> int | None:
    """Return the retention horizon in a response, in milliseconds since 1970, or None if there is none."""
    return _header_ms(response, "Retained-From")


def _window(query: Query[BodyT], response: requests.Response) -> Window | None:
    """Return the window in the headers of a query's response, or None unless they have both ends."""
    start_ms, stop_ms = (_header_ms(response, f"Window-{end}") for end in ("Start", "End"))
    if start_ms is None or stop_ms is None:
        return None
    return Window(start_ms, stop_ms, failed=getattr(query, "failed", False))


def _header_ms(response: requests.Response, name: str) -> int | None:
    """Return a header in seconds with three decimals as milliseconds, or None if missing or malformed."""
    header = response.headers.get(name, "")
    seconds, _, decimals = header.partition(".")
    # Parsed as digits: a float has too few for the milliseconds of late starts.
    return int(seconds + decimals) if seconds.isdecimal() and len(decimals) == 3 else None


def next_page(response: requests.Response) -> dict[str, str] | None:
    """Return the query parameters of the next page, or None after the last."""
    # Only the query of the link is used: behind a proxy, the server's path may differ from the client's.
    link = response.links.get("next")
    return dict(parse_qsl(urlsplit(link["url"]).query, keep_blank_values=True)) if link else None
