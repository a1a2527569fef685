"""Row and columns of retention requests: before which starts the runs of datasets are no longer shown.

docs/row-keys.md specifies the format.
"""

from __future__ import annotations

from typing import NamedTuple

from fll_hbase.keys import layout
from fll_hbase.keys.codec import SEPARATOR, escape, is_hex, join_key, unescape
from fll_hbase.model.datasets import Dataset
from fll_hbase.runtime.errors import CorruptRow

REQUESTS_ROW = layout.PROPERTIES + b"retention"
REQUEST = b"d:q|"


class RetentionRequest(NamedTuple):
    """Runs of a dataset, None for all, that started before `before_ms` are to go; milliseconds since 1970."""

    dataset: Dataset | None
    before_ms: int


def request_column(request: RetentionRequest) -> bytes:
    """Return the column of a request. Raises TooLarge."""
    dataset = request.dataset
    names = (escape(dataset.namespace), escape(dataset.name)) if dataset else ()
    # The time is in the column, so that of two requests at once the later time counts, not the later put.
    return REQUEST + join_key(*names, b"%016x" % request.before_ms)


def parse_request(column: bytes) -> RetentionRequest:
    """Return the retention request of a column. Raises CorruptRow for any other column."""
    *names, digits = column[len(REQUEST) :].split(SEPARATOR)
    if not column.startswith(REQUEST) or not is_hex(digits, digits=16) or len(names) not in (0, 2):
        raise CorruptRow(f"{column!r} is not the column of a retention request")
    dataset = Dataset(*map(unescape, names)) if names else None
    return RetentionRequest(dataset, int(digits, 16))
