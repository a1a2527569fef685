"""Bound on the errors of many documents: lines of a batch, events of an array."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

from fll_hbase.runtime.errors import BatchStopped, InputError, LineageError

T = TypeVar("T")


class ErrorBudget:
    """Counts the errors of the documents of one request, and stops when there are too many.

    Without this bound, a kilobyte of gzip with half a million lines of nonsense would take a minute and
    return 100 MB.
    """

    def __init__(self, errors_max: int) -> None:
        self._errors_max = errors_max
        self._left = errors_max

    def take(self, documents: Iterable[T | LineageError]) -> Iterator[T | LineageError]:
        """Yield parsed documents, or errors in their place, until `errors_max` errors are counted in all."""
        if self._left <= 0:
            return
        for document in documents:
            self._count(document)
            yield document
            if self._left <= 0:
                return

    def count_new(
        self, documents: Iterable[object | LineageError], results: Iterable[object | LineageError]
    ) -> None:
        """Count the results that are errors, except for documents that were errors themselves."""
        for document, result in zip(documents, results, strict=True):
            if not isinstance(document, LineageError):
                self._count(result)

    def stopped(self, position: str) -> BatchStopped:
        """Return the error for everything from a position such as `line 7` on, which was not read."""
        return BatchStopped(
            f"{self._errors_max} errors (FLL_BATCH_ERRORS_MAX): {position} and all after it were not read;"
            " correct the errors, and send the rest again"
        )

    def _count(self, result: object | LineageError) -> None:
        """Subtract the errors of a result from the budget; any other result is free."""
        # A document may list a thousand errors itself; an error of the store counts once.
        if isinstance(result, LineageError):
            self._left -= result.count if isinstance(result, InputError) else 1
