"""Requests about tags, and the pages of their lists."""

from __future__ import annotations

from typing import Any

from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from tests.support.api_client import target

STRANGE = "a/b|c %25 é😀"


def put(client: FlaskClient, *segments: str, **note: str) -> TestResponse:
    return client.put(target(*segments), json=note)


def pages(client: FlaskClient, url: str, member: str, **query: Any) -> list[Any]:
    """The items of all pages."""
    items: list[Any] = []
    next_url: str | None = url
    while next_url is not None:
        answer = client.get(next_url, query_string=query if next_url == url else None)
        assert answer.status_code == 200, answer.text
        items += answer.json[member]
        links = answer.headers.get("Link", "")
        next_url = links[1 : links.index(">")] if links else None
    return items
