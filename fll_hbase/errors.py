"""What can go wrong, named by what the caller can do about it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class FieldError:
    """One thing wrong with a document, and where: `at` is a path such as `operations.2.inputs.0`."""

    path: str
    detail: str

    def __str__(self) -> str:
        return f"{self.path}: {self.detail}" if self.path else self.detail


class LineageError(Exception):
    """Root of all errors of this package; its text says what, which value, and what next."""


class InputError(LineageError):
    """The caller's input is at fault: mend every fault listed and send it again. Nothing was stored."""

    def __init__(self, faults: Iterable[FieldError]) -> None:
        self.errors = tuple(faults)
        super().__init__("; ".join(str(fault) for fault in self.errors))


class UnreadableDocument(InputError):
    """Not a document of the form asked for: a missing or wrong member, not JSON, not UTF-8."""


class InvalidLineage(InputError):
    """A well-formed document whose operations make no lineage: no READ, an unknown origin, a cycle."""


class InvalidQuery(InputError):
    """A question that cannot be understood: an unreadable time, an unknown parameter."""


class TooLarge(LineageError):
    """More than one cell, document or request may hold: split it."""


class NotFound(LineageError):
    """No run ever recorded named this end point, field or run: check the spelling."""


class ChecksumConflict(LineageError):
    """Two different contents have one checksum. Nothing was stored; report it."""


class StoreUnavailable(LineageError):
    """The store does not answer or is busy: the outcome is unknown, and sending again is safe."""


class CorruptRow(LineageError):
    """A stored row cannot be read as what its key says. Nothing is guessed; check the table."""


@contextmanager
def in_row(key: bytes) -> Iterator[None]:
    """What cannot be read is told with the key of its row."""
    try:
        yield
    except CorruptRow as error:
        raise CorruptRow(f"{key.decode(errors='backslashreplace')}: {error}") from error


class ConfigurationError(LineageError):
    """A setting or store URL cannot be used as given."""
