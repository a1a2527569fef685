"""Reading ends: work grows with a document, and the deadline is looked at all along, whatever is in it."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from contextlib import suppress
from types import FrameType

import pytest

from fll_hbase.ingest.registry import DocumentReader, format_named
from fll_hbase.runtime import deadline
from fll_hbase.runtime.errors import InputError, TooLarge
from tests.support.large_documents import DOCUMENTS
from tests.support.profiles import PROFILE
from tests.support.work import count_calls

BYTES = {"quick": 15_000, "push": 15_000, "long": 300_000}[PROFILE]
CALLS_BETWEEN_LOOKS_MAX = 40_000
"""Calls of functions between two looks at the deadline: some milliseconds."""

_LOOKS = (deadline.check_reading.__code__, deadline.check.__code__)


class Gaps:
    """Counts calls: the most between two looks at the deadline."""

    def __init__(self) -> None:
        self.longest = self._calls = 0

    def note(self, frame: FrameType, event: str, _: object) -> None:
        if event in ("call", "c_call"):
            self._calls = 0 if frame.f_code in _LOOKS else self._calls + 1
            self.longest = max(self.longest, self._calls)


def _reading(name: str, size_bytes: int) -> Callable[[], None]:
    """Return a function that reads a document of that size, which may be refused for what is in it."""
    document_format, build = DOCUMENTS[name]
    raw = json.dumps(build(size_bytes)).encode()
    reader = DocumentReader(columns=lambda _: None)
    namespace = None if document_format == "openlineage" else "n"

    def read() -> None:
        with suppress(InputError):
            reader.read(raw, format_named(document_format), namespace=namespace, now_ms=1)

    return read


@pytest.mark.parametrize("name", DOCUMENTS)
def test_twice_the_document_is_at_most_three_times_the_work(name: str) -> None:
    assert count_calls(_reading(name, 2 * BYTES)) <= 3 * count_calls(_reading(name, BYTES))


@pytest.mark.parametrize("name", DOCUMENTS)
def test_the_deadline_is_looked_at_all_along(name: str) -> None:
    read, gaps = _reading(name, 4 * BYTES), Gaps()
    with deadline.limited(3_600), deadline.reading():
        sys.setprofile(gaps.note)
        try:
            read()
        finally:
            sys.setprofile(None)
    assert gaps.longest <= CALLS_BETWEEN_LOOKS_MAX


def test_reading_ends_at_the_deadline() -> None:
    read = _reading("proposals", 4 * BYTES)
    with deadline.limited(0), suppress(TooLarge), deadline.reading(), pytest.raises(TooLarge):
        read()


def test_a_query_is_not_ended_by_what_reading_uses() -> None:
    """At its deadline a query answers with what it has found, and builds it with the same functions."""
    with deadline.limited(0):
        _reading("chain", BYTES)()
