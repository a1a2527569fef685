"""Errors of a server reach its clients as the errors that they are."""

from __future__ import annotations

from collections.abc import Iterator

from fll_hbase.runtime.errors import PROBLEMS, LineageError


def kinds(error: type[LineageError]) -> Iterator[type[LineageError]]:
    for kind in error.__subclasses__():
        yield kind
        yield from kinds(kind)


def test_every_slug_has_a_class() -> None:
    """Without one, a client raises Refused instead."""
    assert {kind.slug for kind in kinds(LineageError)} - {LineageError.slug} == PROBLEMS.keys()
