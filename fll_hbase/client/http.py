"""Client of a server of the REST contract."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import requests

from fll_hbase.client import errors
from fll_hbase.client.base import (
    LIMIT_REACHED,
    Answer,
    FieldQuery,
    LineageClient,
    LineageQuery,
    WindowText,
    truncation_hint,
)
from fll_hbase.client.http_session import HttpSession
from fll_hbase.clock import now_ms
from fll_hbase.errors import FieldError, LineageError, UnreadableDocument
from fll_hbase.ingest import FORMATS, DocumentReader, RecordResult
from fll_hbase.ingest.batches import LocatedDocument
from fll_hbase.model.datasets import Dataset
from fll_hbase.store.write.pending_run import CommitResult

BATCH_FORMAT = FORMATS[0]
"""The only format with a second route for many documents, `/batch`."""

_CLIENT_ROUTES: dict[str, tuple[tuple[str, ...], dict[str, str]]] = {
    "openlineage": (("api", "v1", "lineage"), {}),
    "datahub": (("aspects",), {"action": "ingestFile"}),
}
"""Path and query of the formats whose route is that of their own clients and names no namespace."""


class HttpClient(LineageClient):
    """Client of a server, whose clock is the `now` of windows; `timeout_seconds` limits retries."""

    def __init__(self, url: str, *, timeout_seconds: float = 60.0) -> None:
        self._session = HttpSession(url, timeout_seconds=timeout_seconds)

    def record(
        self, documents: Sequence[LocatedDocument], *, wait_seconds: float | None = None
    ) -> list[RecordResult | LineageError]:
        """Send documents of the batch format in one request for each namespace, all others one by one."""
        with self._session.limit(wait_seconds):
            return self._record(documents)

    def _record(self, documents: Sequence[LocatedDocument]) -> list[RecordResult | LineageError]:
        # Requests are not in the order of the documents; `batch_documents` makes batches that allow it.
        results: dict[int, RecordResult | LineageError] = {}
        by_namespace: dict[str, list[int]] = {}
        for index, document in enumerate(documents):
            if _can_be_line(document):
                by_namespace.setdefault(document.namespace, []).append(index)
            else:
                results[index] = document.line.error or self._record_one(document)
        for namespace, indexes in by_namespace.items():
            if len(indexes) == 1:
                results[indexes[0]] = self._record_one(documents[indexes[0]])
                continue
            # The namespace is part of the path, so a request has the documents of one only.
            path = ("v3", "namespaces", namespace, BATCH_FORMAT.route, "batch")
            answers = self._session.post_lines(*path, lines=[documents[index].line.raw for index in indexes])
            results.update(zip(indexes, map(_line_result, answers), strict=True))
        return [results[index] for index in range(len(documents))]

    def _record_one(self, document: LocatedDocument) -> RecordResult | LineageError:
        document_format = document.head.format
        params: dict[str, str] = {}
        if document_format.name in _CLIENT_ROUTES:
            path, params = _CLIENT_ROUTES[document_format.name]
        elif document.namespace:
            path = ("v3", "namespaces", document.namespace, document_format.route)
        else:
            return _without_namespace(document)
        try:
            return _result(self._session.post(*path, body=document.line.raw, params=params))
        # Faults of this document alone; any other error, such as refused access, concerns the others, too.
        except errors.DOCUMENT_FAULTS as error:
            return error

    def lineage(self, query: LineageQuery) -> Answer:
        response = self._session.get(
            *_dataset_path(query.dataset), "fields", "lineage", params=_params(query, level=query.level)
        )
        # The body is a bare list by contract, so truncation is in headers (docs/decisions/0008).
        bounds = response.headers.get("Truncated-By", "a bound of the server").split(", ")
        truncated = response.headers.get("Truncated") == "true"
        return Answer(errors.json_body(response), truncation_hint(bounds if truncated else ()))

    def field(self, query: FieldQuery) -> Answer:
        path = (*_dataset_path(query.field.dataset), "fields", query.field.name, "lineage")
        response = self._session.get(*path, params=_params(query, view=query.view))
        body = errors.json_body(response, "nodes", "operations", "connections", "checksums", "truncated")
        bounds = body.get("truncatedBy", ["a bound of the server"])
        return Answer(body, truncation_hint(bounds if body["truncated"] else ()))

    def runs(self, dataset: Dataset, window: WindowText, *, limit: int) -> Answer:
        params = {"start": window.start, "end": window.end}
        return self._pages("runs", *_dataset_path(dataset), "runs", params=params, limit=limit)

    def export(self, dataset: Dataset, window: WindowText) -> Iterator[dict[str, Any]]:
        params: dict[str, str] | None = {"start": window.start, "end": window.end}
        while params is not None:
            response = self._session.get(*_dataset_path(dataset), "openlineage", params=params)
            yield from errors.json_body(response)
            params = _next_page(response)

    def find(self, text: str, *, limit: int) -> Answer:
        return self._pages("results", "v3", "search", params={"q": text}, limit=limit)

    def close(self) -> None:
        self._session.close()

    def _pages(self, member: str, *segments: str, params: Mapping[str, str], limit: int) -> Answer:
        """Follow the links to next pages; return the items of `member`, at most `limit`."""
        items: list[Any] = []
        page: Mapping[str, str] | None = params
        while page is not None and len(items) < limit:
            # A server returns fewer items than `limit` where FLL_LIST_LIMIT_MAX or a bounded search is less.
            response = self._session.get(*segments, params={**page, "limit": str(limit - len(items))})
            items += errors.json_body(response, member)[member]
            page = _next_page(response)
        return Answer({member: items}, "" if page is None else LIMIT_REACHED)


def _dataset_path(dataset: Dataset) -> tuple[str, ...]:
    return "v3", "namespaces", dataset.namespace, "endpoints", dataset.name


def _params(query: LineageQuery | FieldQuery, **others: str | int) -> dict[str, str]:
    return {
        "start": query.window.start,
        "end": query.window.end,
        "direction": query.direction,
        "indirect": str(query.indirect).lower(),
        "failed": str(query.failed).lower(),
        **{name: str(value) for name, value in others.items()},
    }


def _next_page(response: requests.Response) -> dict[str, str] | None:
    """Return the query parameters of the next page, or None after the last."""
    # Only the query of the link is used: behind a proxy the server's own path may differ from the client's.
    link = response.links.get("next")
    return dict(parse_qsl(urlsplit(link["url"]).query, keep_blank_values=True)) if link else None


def _can_be_line(document: LocatedDocument) -> bool:
    """Return whether a document can be one line of a batch request: of its format, without a line feed."""
    return (
        document.line.error is None
        and document.head.format is BATCH_FORMAT
        and bool(document.namespace)
        and b"\n" not in document.line.raw.rstrip()
    )


def _without_namespace(document: LocatedDocument) -> LineageError:
    """Return the error of a document whose URL cannot be built, because no namespace is known.

    It is equal to that of a local store: all errors of the document, the missing namespace included.
    """
    # No catalogue is needed: a document without a namespace is refused whatever its columns are.
    reader = DocumentReader(columns=lambda _: None)
    parsed = reader.try_read(document.line.raw, document.head, namespace=None, now_ms=now_ms())
    if isinstance(parsed, LineageError):
        return parsed
    return UnreadableDocument([FieldError("namespace", "missing")])


def _line_result(answer: Mapping[str, Any]) -> RecordResult | LineageError:
    return _result(answer) if "recorded" in answer else errors.error_from_problem(answer)


def _result(answer: Mapping[str, Any]) -> RecordResult:
    """Convert an acknowledgement of one run, or of the runs of several entities."""
    if "entities" in answer:
        runs = [run for entity in answer["entities"] for run in entity["runs"]]
    else:
        runs = answer.get("runs", [answer])
    return RecordResult(
        tuple(
            CommitResult(
                checksum=run.get("checksum", ""),
                run=run.get("run", ""),
                recorded=run["recorded"],
                replaced=run.get("replaced", False),
            )
            for run in runs
        ),
        warnings=errors.field_errors(answer.get("warnings", ())),
    )
