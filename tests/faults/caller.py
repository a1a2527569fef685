"""One client: a connection that is reopened after it breaks, and a tally of its requests."""

from __future__ import annotations

import json
import time
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from typing import Any

from tests.faults.ledger import NAMESPACE, Version
from tests.faults.questions import Question

LINEAGE = f"/v3/namespaces/{NAMESPACE}/lineage"
RECORDED = (200, 201)
STORE_AWAY = 503


class Broken(Exception):
    """No whole answer came; what was sent may have landed."""


class Away(Exception):
    """The answer to a question was 503; only clients that expect it heed it."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole answer."""

    status: int
    headers: dict[str, str]
    body: bytes


@dataclass(slots=True)
class Tally:
    """Counts and durations of the requests of one client."""

    answers: int = 0
    broken: int = 0
    late: int = 0
    """How many of the broken ones broke because patience came to its end."""

    refused: list[float] = field(default_factory=list)
    """Seconds until a 503, be it the answer or a line of it."""

    retry_after: set[str] = field(default_factory=set)
    """What answers with 503 said; lines of a batch have no such header."""

    last_seconds: float = 0.0

    outage_seconds: float = 0.0
    """The longest time from a request that came to nothing until its resend was answered."""

    slowest_seconds: float = 0.0
    """The longest that one answer took."""


class Caller:
    """One connection, opened anew after it broke."""

    def __init__(self, port: int, *, patience_seconds: float) -> None:
        self._connection = HTTPConnection("127.0.0.1", port, timeout=patience_seconds)
        self.tally = Tally()

    def close(self) -> None:
        """Close the connection; a later call opens another."""
        self._connection.close()

    def call(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        *,
        kind: str = "json",
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """One request and its whole answer. Raises Broken."""
        headers = {**(headers or {})}
        if body is not None:
            headers["Content-Type"] = f"application/{kind}"
        began = time.monotonic()
        try:
            self._connection.request(method, path, body, headers)
            response = self._connection.getresponse()
            answer = Answer(response.status, dict(response.getheaders()), response.read())
        except (OSError, HTTPException) as error:
            self._connection.close()
            self.tally.broken += 1
            self.tally.late += isinstance(error, TimeoutError)
            raise Broken(f"{method} {path}: {error!r}") from error
        self.tally.answers += 1
        self.tally.last_seconds = time.monotonic() - began
        self.tally.slowest_seconds = max(self.tally.slowest_seconds, self.tally.last_seconds)
        if answer.status == STORE_AWAY:
            self.tally.retry_after.add(answer.headers.get("Retry-After", ""))
        return answer

    def ask(self, question: Question) -> list[Hashable]:
        """All pages of an answer. Raises Broken, Away; AssertionError for any status but 200 and 503."""
        results: list[Hashable] = []
        path = question.path()
        while path:
            answer = self.call("GET", path)
            if answer.status == STORE_AWAY:
                self.tally.refused.append(self.tally.last_seconds)
                raise Away(f"{question}: {answer.body[:300]!r}")
            assert answer.status == 200, f"{question}: {answer.status} {answer.body[:300]!r}"
            assert "Truncated" not in answer.headers, f"{question}: truncated"
            results += question.results(json.loads(answer.body))
            path = answer.headers.get("Link", "").partition(">")[0].lstrip("<")
        return results

    def record(self, versions: Sequence[Version]) -> list[int]:
        """Send a batch, or a single POST where there is but one; the status of each. Raises Broken."""
        if len(versions) == 1:
            answer = self.call("POST", LINEAGE, versions[0].document())
            answers = [{**json.loads(answer.body), "status": answer.status}]
        else:
            body = b"\n".join(version.document() for version in versions)
            answer = self.call("POST", LINEAGE + "/batch", body, kind="x-ndjson")
            assert answer.status == 200, f"a batch: {answer.status} {answer.body[:300]!r}"
            answers = [json.loads(line) for line in answer.body.splitlines()]
        assert len(answers) == len(versions), f"{len(answers)} answers to {len(versions)} documents"
        statuses = [_status(line, version) for line, version in zip(answers, versions, strict=True)]
        if STORE_AWAY in statuses:
            self.tally.refused.append(self.tally.last_seconds)
        return statuses


def _status(line: dict[str, Any], sent: Version) -> int:
    """The status of one document, which is acknowledged or was not recorded for a while."""
    status: int = line["status"]
    assert status in (*RECORDED, STORE_AWAY), f"{sent}: {line}"
    assert status == STORE_AWAY or line["run"] == sent.run, f"{sent}: answered as {line}"
    return status
