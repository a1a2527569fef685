"""Errors of this package, by what a caller can do about them, with their problem types in REST answers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from typing import ClassVar


@dataclass(frozen=True, slots=True, order=True)
class FieldError:
    """One problem of a document, at a `path` such as `operations.2.inputs.0`; "" is the whole document."""

    path: str
    detail: str

    def __str__(self) -> str:
        return f"{self.path}: {self.detail}" if self.path else self.detail


class LineageError(Exception):
    """Root of all errors of this package; the text states what happened, which value, and what to do.

    `slug`, `title` and `status` are the problem type, title and HTTP status of RFC 9457 answers.
    """

    slug: ClassVar[str] = "internal"
    title: ClassVar[str] = "Internal error"
    status: ClassVar[HTTPStatus] = HTTPStatus.INTERNAL_SERVER_ERROR
    retryable: ClassVar[bool] = False
    """Whether the very same request may succeed later; sending it again is always safe."""


class InputError(LineageError):
    """Invalid input: fix every error listed and send it again. Nothing was stored."""

    slug, title, status = "unreadable-document", "Unreadable document", HTTPStatus.BAD_REQUEST

    def __init__(self, errors: Iterable[FieldError]) -> None:
        self.errors = tuple(errors)
        super().__init__("; ".join(str(error) for error in self.errors))


class UnreadableDocument(InputError):
    """The document is not of the expected form: a missing or wrong member, not JSON, not UTF-8."""


class InvalidLineage(InputError):
    """A well-formed document whose operations are not lineage: no READ, an unknown origin, a cycle."""

    slug, title, status = "invalid-lineage", "Invalid lineage", HTTPStatus.UNPROCESSABLE_ENTITY


class InvalidQuery(InputError):
    """A query that cannot be parsed: an unreadable time, an unknown parameter."""

    slug, title = "bad-question", "Bad question"


class TooLarge(LineageError):
    """A value is larger than a cell, document or request may be: split it."""

    slug, title, status = "too-large", "Too large", HTTPStatus.REQUEST_ENTITY_TOO_LARGE


class NotFound(LineageError):
    """No recorded run mentions this dataset, field or run: check the spelling."""

    slug, title, status = "never-seen", "Never seen", HTTPStatus.NOT_FOUND


class ChecksumConflict(LineageError):
    """Two different contents have the same checksum. Nothing was stored; report it."""

    slug, title, status = "checksum-conflict", "Checksum conflict", HTTPStatus.CONFLICT


class StoreUnavailable(LineageError):
    """The store does not answer or is busy: the outcome is unknown, and a retry is safe."""

    slug, title, status = "store-away", "Store away", HTTPStatus.SERVICE_UNAVAILABLE
    retryable = True


class CorruptRow(LineageError):
    """A stored row does not have the format that its key requires; check the table."""

    slug, title = "corrupt-row", "Corrupt row"


class ConfigurationError(LineageError):
    """A setting or store URL that cannot be used."""

    slug, title, status = "store-away", "Store away", HTTPStatus.SERVICE_UNAVAILABLE


PROBLEMS: dict[str, type[LineageError]] = {
    error.slug: error
    for error in (
        UnreadableDocument,
        InvalidQuery,
        InvalidLineage,
        NotFound,
        ChecksumConflict,
        TooLarge,
        StoreUnavailable,
        CorruptRow,
    )
}
"""The error that each problem type of a REST answer stands for."""


@contextmanager
def in_row(key: bytes) -> Iterator[None]:
    """Prefix the text of any CorruptRow raised inside with the key of its row."""
    try:
        yield
    except CorruptRow as error:
        raise CorruptRow(f"{key.decode(errors='backslashreplace')}: {error}") from error
