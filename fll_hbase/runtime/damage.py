"""Damaged rows that lists leave out, since one of them must not end the list of everything else.

Only lists leave rows out, and their answers say so. Answers about one object raise CorruptRow, and so does
lineage, which would be wrong without a row.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from fll_hbase.runtime.errors import CorruptRow

DAMAGED = "damaged"
"""The name that an answer lists among its limits if damaged rows were left out."""

_left_out: ContextVar[list[CorruptRow] | None] = ContextVar("left_out", default=None)

_log = logging.getLogger(__name__)


@contextmanager
def noting() -> Iterator[list[CorruptRow]]:
    """Return a context that collects the errors of the rows that are left out inside it."""
    noted: list[CorruptRow] = []
    token = _left_out.set(noted)
    try:
        yield noted
    finally:
        _left_out.reset(token)


@contextmanager
def leaving_out() -> Iterator[None]:
    """Return a context that ends at a CorruptRow without raising it, logs it and adds it to `noting`."""
    try:
        yield
    except CorruptRow as error:
        _log.error("left out of a list: %s", error)
        noted = _left_out.get()
        if noted is not None:
            noted.append(error)
