"""Answers of a server: its limits, its headers, and the pages of its lists."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import msgspec
import requests

from fll_hbase.client.remote import problems
from fll_hbase.model.window import Window
from fll_hbase.queries import query as queries
from fll_hbase.queries.query import BodyT, Query


def decode(query: Query[BodyT], response: requests.Response) -> queries.Answer[BodyT]:
    """Return the answer of a response. Raises Refused if the body does not fit the query."""
    body = decode_body(response, query.body_type())
    page = next_page(response) or {}
    return queries.Answer(
        body,
        window=_window(response),
        retained_from_ms=retained_from_ms(response),
        cursor=page.get("cursor", ""),
        truncated_by=_truncated_by(body, response),
        principal=unquote(response.headers.get("Principal", "")),
    )


def decode_body(response: requests.Response, body_type: type[BodyT]) -> BodyT:
    """Return the body of a response. Raises Refused if it is not of that type."""
    try:
        return msgspec.json.decode(response.content, type=body_type)
    except msgspec.MsgspecError as error:
        raise problems.unexpected_response(response) from error


def _truncated_by(body: Any, response: requests.Response) -> tuple[str, ...]:
    """Return the limits that cut an answer, which an array has in headers (decision 8)."""
    if hasattr(body, "truncated_by"):
        limits, is_truncated = body.truncated_by, body.truncated
    else:
        header = response.headers.get("Truncated-By", "")
        limits = tuple(header.split(", ")) if header else ()
        is_truncated = response.headers.get("Truncated") == "true"
    return (limits or ("a bound of the server",)) if is_truncated else ()


def retained_from_ms(response: requests.Response) -> int | None:
    """Return the retention horizon that a response names, in milliseconds since 1970, or None without one."""
    return _header_ms(response, "Retained-From")


def _window(response: requests.Response) -> Window | None:
    """Return the window that a response names in headers, or None unless it names both ends."""
    start_ms, stop_ms = (_header_ms(response, f"Window-{end}") for end in ("Start", "End"))
    return None if start_ms is None or stop_ms is None else Window(start_ms, stop_ms)


def _header_ms(response: requests.Response, name: str) -> int | None:
    """Return a header in seconds with three decimals as milliseconds, None without it or in another form."""
    header = response.headers.get(name, "")
    seconds, _, decimals = header.partition(".")
    # Digits and not a float, which has too few of them for the milliseconds of late starts.
    return int(seconds + decimals) if seconds.isdecimal() and len(decimals) == 3 else None


def next_page(response: requests.Response) -> dict[str, str] | None:
    """Return the query parameters of the next page, or None after the last."""
    # Only the query of the link is used: behind a proxy the server's own path may differ from the client's.
    link = response.links.get("next")
    return dict(parse_qsl(urlsplit(link["url"]).query, keep_blank_values=True)) if link else None
