"""Answers as CSV (RFC 4180), for clients that prefer it to JSON."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from flask import Request, Response

from fll_hbase.runtime.csv_text import to_csv

CSV = "text/csv"
_TYPES = ("application/json", CSV)


def prefers_csv(request: Request) -> bool:
    """Return whether a request accepts CSV with a higher quality than JSON, which is the default."""
    return request.accept_mimetypes.best_match(_TYPES) == CSV


def as_csv(response: Response, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> Response:
    """Return the response with rows in place of its JSON, and with its other headers."""
    response.set_data(to_csv(columns, rows))
    response.mimetype = CSV
    return response


def add_limits(response: Response, truncated_by: Sequence[str]) -> Response:
    """Name the limits that truncated an answer in its headers, where its body has no member for them."""
    if truncated_by:
        response.headers["Truncated"] = "true"
        response.headers["Truncated-By"] = ", ".join(truncated_by)
    return response
