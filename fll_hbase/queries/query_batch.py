"""Batches: up to 100 queries in one request, each as the path of a GET request, answered together."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import msgspec

from fll_hbase.queries.query import Body

PATH = "/v3/questions"
"""The path of batches: a POST that changes nothing."""

QUERIES_MAX = 100
"""Maximum number of queries in one request."""


class BatchQuery(Body, frozen=True, kw_only=True):
    """A query of a batch: the path of a GET request below `/v3/`, with its query string."""

    schema_name: ClassVar[str] = "Question"

    path: Annotated[str, msgspec.Meta(min_length=1, description="As in the URL, percent-encoded")]
    id: Annotated[str, msgspec.Meta(min_length=1, description="Returned with the answer")] = ""


class Batch(Body, frozen=True, kw_only=True):
    """Queries to answer together."""

    schema_name: ClassVar[str] = "Questions"

    queries: Annotated[tuple[BatchQuery, ...], msgspec.Meta(min_length=1, max_length=QUERIES_MAX)] = (
        msgspec.field(name="questions")
    )


class BatchedAnswer(Body, frozen=True, kw_only=True):
    """The answer to one query: the status, headers and body that its own request would have."""

    schema_name: ClassVar[str] = "Answer"

    id: str = ""
    status: int
    headers: Annotated[
        dict[str, str],
        msgspec.Meta(description="Those about the answer: `Link`, `Truncated`, `Window-Start` and the like"),
    ]
    body: Annotated[Any, msgspec.Meta(description="The JSON of the answer, or a problem")]


class BatchAnswer(Body, frozen=True, kw_only=True):
    """The answers to a batch, in the order of its queries."""

    schema_name: ClassVar[str] = "Answers"

    answers: tuple[BatchedAnswer, ...]
    truncated: Annotated[
        bool, msgspec.Meta(description="True if a bound of the batch left a question without an answer")
    ]
    truncated_by: tuple[str, ...] = ()
