"""Questions answered by a server."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import requests

from fll_hbase.cli.options import WindowText
from fll_hbase.client import errors
from fll_hbase.client.http import Server
from fll_hbase.client.queries import MORE, Answer, FieldAsked, LineageAsked, bounded_by
from fll_hbase.model.operations import Dataset


class ServerSide:
    """A server; `now` is its own."""

    def __init__(self, server: Server) -> None:
        self._server = server

    def lineage(self, asked: LineageAsked) -> Answer:
        answer = self._server.get(
            *_end_point(asked.end_point),
            "fields",
            "lineage",
            asked=_said(asked, level=asked.level),
        )
        bounds = answer.headers.get("Truncated-By", "a bound of the server").split(", ")
        truncated = answer.headers.get("Truncated") == "true"
        return Answer(errors.parsed(answer), bounded_by(bounds if truncated else ()))

    def field(self, asked: FieldAsked) -> Answer:
        answer = self._server.get(
            *_end_point(asked.field.dataset),
            "fields",
            asked.field.name,
            "lineage",
            asked=_said(asked, view=asked.view),
        )
        body = errors.parsed(answer, "nodes", "operations", "connections", "checksums", "truncated")
        bounds = body.get("truncatedBy", ["a bound of the server"])
        return Answer(body, bounded_by(bounds if body["truncated"] else ()))

    def runs(self, end_point: Dataset, window: WindowText, *, limit: int) -> Answer:
        asked = {"start": window.start, "end": window.end}
        return self._listed("runs", *_end_point(end_point), "runs", asked=asked, limit=limit)

    def export(self, end_point: Dataset, window: WindowText) -> Iterator[dict[str, Any]]:
        page: Mapping[str, str] | None = {"start": window.start, "end": window.end}
        while page is not None:
            answer = self._server.get(*_end_point(end_point), "openlineage", asked=page)
            yield from errors.parsed(answer)
            page = _next(answer)

    def find(self, text: str, *, limit: int) -> Answer:
        return self._listed("results", "v3", "search", asked={"q": text}, limit=limit)

    def _listed(self, what: str, *segments: str, asked: Mapping[str, str], limit: int) -> Answer:
        """Pages one after the other, as their links say, up to `limit` items."""
        items: list[Any] = []
        page: Mapping[str, str] | None = asked
        while page is not None and len(items) < limit:
            answer = self._server.get(*segments, asked={**page, "limit": str(limit - len(items))})
            items += errors.parsed(answer, what)[what]
            page = _next(answer)
        return Answer({what: items}, "" if page is None else MORE)


def _end_point(end_point: Dataset) -> tuple[str, ...]:
    return "v3", "namespaces", end_point.namespace, "endpoints", end_point.name


def _said(asked: LineageAsked | FieldAsked, **also: str | int) -> dict[str, str]:
    return {
        "start": asked.window.start,
        "end": asked.window.end,
        "direction": asked.direction,
        "indirect": str(asked.indirect).lower(),
        "failed": str(asked.failed).lower(),
        **{name: str(value) for name, value in also.items()},
    }


def _next(answer: requests.Response) -> dict[str, str] | None:
    """The parameters of the next page."""
    link = answer.links.get("next")
    return dict(parse_qsl(urlsplit(link["url"]).query, keep_blank_values=True)) if link else None
