"""Errors of this package, divided by what a caller can do, with their problem types in REST answers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from typing import ClassVar


@dataclass(frozen=True, slots=True, order=True)
class FieldError:
    """One error in a document or query, at a `path` such as `operations.2.inputs.0`; "" means all of it.

    `count` is how many errors it represents: more than 1 only at the end of an incomplete ErrorList.
    """

    path: str
    detail: str
    count: int = 1

    def __str__(self) -> str:
        """Return `path: detail`, or only the detail if the path is empty."""
        return f"{self.path}: {self.detail}" if self.path else self.detail


ERRORS_LISTED_MAX = 1_000
"""Errors or warnings of one document that are listed one by one. A last one counts the others."""

# Bounds the time for an invalid document, so that parsing its JSON is most of the work.
ERRORS_COUNTED_MAX = 10_000

# A path or detail contains names in the document, and a hostile document may consist mostly of one name.
TEXT_CHARACTERS_MAX = 2_000


class ErrorList:
    """The errors or warnings of one document: up to 1,001, with shortened texts.

    If there are more, iteration yields the first 1,000 and then one that counts the others. The memory is
    bounded, whatever is added. No source, route or job has another limit on errors. `count` is the number of
    all errors, which readers compare for each part of a document.
    """

    __slots__ = ("_listed", "count")

    def __init__(self, errors: Iterable[FieldError] = ()) -> None:
        self._listed: list[FieldError] = []
        self.count = 0
        self.extend(errors)

    def append(self, error: FieldError) -> None:
        """Add an error. List it among the first 1,001 if it represents only itself, else only count it."""
        self.count += error.count
        # One more than the maximum, because a single further error is better listed than counted as `1 more`.
        if error.count == 1 and len(self._listed) <= ERRORS_LISTED_MAX:
            self._listed.append(FieldError(_shown(error.path), _shown(error.detail)))

    def extend(self, errors: Iterable[FieldError]) -> None:
        """Add errors until the list is full (ERRORS_COUNTED_MAX), and read a lazy iterable only so far."""
        for error in errors:
            self.append(error)
            if self.is_full:
                return

    def remove_after(self, count: int) -> list[FieldError]:
        """Remove the errors after the first `count`; return the removed errors that were listed."""
        removed = self._listed[count:]
        del self._listed[count:]
        self.count = min(self.count, count)
        return removed

    @property
    def is_full(self) -> bool:
        """Return whether there are ERRORS_COUNTED_MAX errors, so that further ones need not be counted."""
        return self.count >= ERRORS_COUNTED_MAX

    def __len__(self) -> int:
        """Return the number of all errors, including errors that are not listed."""
        return self.count

    def __iter__(self) -> Iterator[FieldError]:
        """Yield all errors up to 1,001. Of more errors, yield 1,000 and one that counts the others."""
        if self.count == len(self._listed):
            yield from self._listed
            return
        listed = self._listed[:ERRORS_LISTED_MAX]
        yield from listed
        others = self.count - len(listed)
        number = f"at least {others:,}" if self.is_full else f"{others:,}"
        yield FieldError("", f"{number} more are not listed; correct these first", others)


def _shown(text: str) -> str:
    """Return a text that an answer can contain: cut to TEXT_CHARACTERS_MAX, lone surrogates as `?`."""
    text = text if len(text) <= TEXT_CHARACTERS_MAX else f"{text[: TEXT_CHARACTERS_MAX - 1]}…"
    return text if text.isascii() else text.encode(errors="replace").decode()


class LineageError(Exception):
    """Root of all errors of this package; the text states what happened, which value, and what to do.

    `slug`, `title` and `status` are the problem type, title and HTTP status of RFC 9457 answers.
    """

    # Slugs and titles, here and below, are part of the REST contract. Clients compare them, so they stay as
    # published even if the class is renamed.
    slug: ClassVar[str] = "internal"
    title: ClassVar[str] = "Internal error"
    status: ClassVar[HTTPStatus] = HTTPStatus.INTERNAL_SERVER_ERROR
    client_text: str | None = None
    """Text for clients of a server, if the error's own text names paths, hosts or stored bytes."""


class InputError(LineageError):
    """Invalid input: correct every error in `errors` and send it again. Nothing was stored.

    `errors` are bounded like an ErrorList: of more than 1,001, the last represents all after the first 1,000.
    """

    slug, title, status = "unreadable-document", "Unreadable document", HTTPStatus.BAD_REQUEST

    def __init__(self, errors: Iterable[FieldError]) -> None:
        self.errors = tuple(errors if isinstance(errors, ErrorList) else ErrorList(errors))
        super().__init__("; ".join(str(error) for error in self.errors))

    @property
    def count(self) -> int:
        """Return the number of errors, including those that are not listed."""
        return sum(error.count for error in self.errors)


class UnreadableDocument(InputError):
    """A document that cannot be read: not UTF-8, not JSON, or with a missing or wrong member."""


class InvalidLineage(InputError):
    """A well-formed document whose operations are not lineage: no READ, an unknown origin, a cycle."""

    slug, title, status = "invalid-lineage", "Invalid lineage", HTTPStatus.UNPROCESSABLE_ENTITY


class UnknownSubject(InputError):
    """A policy on a tag that no field has, or on a field that was never recorded: check the spelling."""

    slug, title, status = "unknown-subject", "Unknown subject", HTTPStatus.UNPROCESSABLE_ENTITY


class InvalidQuery(InputError):
    """A query that cannot be parsed: an unreadable time, an unknown parameter."""

    slug, title = "bad-question", "Bad question"


class Forbidden(LineageError):
    """A change that the principal may not make, although it may know about the object."""

    slug, title, status = "forbidden", "Not allowed", HTTPStatus.FORBIDDEN


class TooLarge(LineageError):
    """A value that is larger than the limit of a key, cell, document or request: split it."""

    slug, title, status = "too-large", "Too large", HTTPStatus.REQUEST_ENTITY_TOO_LARGE


class BatchStopped(TooLarge):
    """A batch with more errors or a larger answer than its bounds allow: the rest of it has no answer."""

    slug, title = "batch-stopped", "Batch stopped"


class TooManyRejects(BatchStopped):
    """A job rejected more lines than it allows: lines recorded until then stay recorded."""


class NotFound(LineageError):
    """Nothing of this name is recorded (dataset, field, run, policy, token or grant): check the spelling."""

    slug, title, status = "never-seen", "Never seen", HTTPStatus.NOT_FOUND


class ChecksumConflict(LineageError):
    """Two different contents have the same checksum. Nothing was stored; report it."""

    # Writes compare the content operation by operation (docs/reference/row-keys.md), since merging different
    # contents would mix lineage.

    slug, title, status = "checksum-conflict", "Checksum conflict", HTTPStatus.CONFLICT


class RunIdConflict(LineageError):
    """Another program recorded this run id. Nothing was stored: use another id, or take the run over."""

    # Dates of cron jobs and build numbers as run ids would otherwise replace lineage of unrelated programs.
    slug, title, status = "run-of-another-program", "Run of another program", HTTPStatus.CONFLICT


class AmbiguousName(LineageError):
    """Several namespaces have a run or policy of this name: name the namespace, too."""

    slug, title, status = "several-of-this-name", "Several of this name", HTTPStatus.CONFLICT


class StoreUnavailable(LineageError):
    """The store does not answer or is busy: the outcome of a write is unknown, and a retry is safe."""

    slug, title, status = "store-away", "Store away", HTTPStatus.SERVICE_UNAVAILABLE
    client_text: str | None = "the store does not answer or is busy, the server's log says why; try again"
    # Every commit can be repeated: recording twice equals recording once (docs/reference/row-keys.md).


class DeadlineExceeded(StoreUnavailable):
    """The time of the request has run out, or its client left: the outcome of a write is unknown."""

    client_text: str | None = None


class RequestCancelled(DeadlineExceeded):
    """The client of the request has left, and needs no answer."""


class Overloaded(LineageError):
    """More requests wait than can be answered in time: nothing was done, send the request again later."""

    slug, title, status = "overloaded", "Overloaded", HTTPStatus.SERVICE_UNAVAILABLE


class TooManyRequests(LineageError):
    """One client sends more than its limits allow: send the request again after `retry_after_seconds`."""

    slug, title, status = "too-many-requests", "Too many requests", HTTPStatus.TOO_MANY_REQUESTS

    def __init__(self, detail: str, *, retry_after_seconds: int = 1) -> None:
        self.retry_after_seconds = retry_after_seconds
        super().__init__(detail)


class Unauthenticated(LineageError):
    """A request without valid credentials: send a valid token. `is_invalid` if it has invalid credentials."""

    slug, title, status = "unauthenticated", "Not authenticated", HTTPStatus.UNAUTHORIZED

    def __init__(self, detail: str, *, is_invalid: bool = True) -> None:
        self.is_invalid = is_invalid
        super().__init__(detail)


class CorruptRow(LineageError):
    """A stored row without the format that its key requires, or a damaged SQLite page: check the store."""

    slug, title = "corrupt-row", "Corrupt row"
    client_text = "a stored row is damaged: see the server's log; `fll store check` finds all damaged rows"


class ConfigurationError(LineageError):
    """A setting, store URL or table that cannot be used: correct it and start again."""

    # Clients see the same as for an unavailable store. A process checks the table at the first call, not when
    # it starts, so that a worker answers 503 instead of exiting again and again (decision 11).
    slug, title, status = "store-away", "Store away", HTTPStatus.SERVICE_UNAVAILABLE
    client_text: str | None = "the server cannot use its store, its log says why"


class ReadOnlyStore(ConfigurationError):
    """A write to a store that this process may only read: nothing was stored, and no retry can help."""

    slug, title, status = "read-only", "Read-only store", HTTPStatus.FORBIDDEN
    client_text = (
        "the server may only read its store, so nothing was changed; write to another server of this store"
    )


# Without ConfigurationError, which has the slug of StoreUnavailable because a client can only retry.
PROBLEMS: dict[str, type[LineageError]] = {
    error.slug: error
    for error in (
        UnreadableDocument,
        InvalidQuery,
        InvalidLineage,
        UnknownSubject,
        Forbidden,
        ReadOnlyStore,
        NotFound,
        ChecksumConflict,
        RunIdConflict,
        AmbiguousName,
        TooLarge,
        BatchStopped,
        StoreUnavailable,
        Overloaded,
        TooManyRequests,
        Unauthenticated,
        CorruptRow,
    )
}
"""Error classes by slug, the last part of a problem type."""


@contextmanager
def in_row(key: bytes) -> Iterator[None]:
    """Return a context that adds the row's key to the text of a CorruptRow raised inside it."""
    try:
        yield
    except CorruptRow as error:
        # A corrupt key may be invalid UTF-8.
        raise CorruptRow(f"{key.decode(errors='backslashreplace')}: {error}") from error
