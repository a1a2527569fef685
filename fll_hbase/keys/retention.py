"""The row of retention: which runs queries hide, and which runs purges deleted.

docs/reference/row-keys.md specifies the format.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import xxhash

from fll_hbase.keys import layout
from fll_hbase.keys.codec import SEPARATOR, escape, is_hex, join_key, unescape
from fll_hbase.model.datasets import Dataset
from fll_hbase.model.retention_policy import NEVER_MS, RetentionPolicy
from fll_hbase.runtime.errors import CorruptRow

REQUESTS_ROW = layout.PROPERTIES + b"retention"
REQUEST = b"d:q|"
PURGE = b"d:p|"


class RetentionRequest(NamedTuple):
    """A request to purge runs started before `before_ms` (ms since 1970): of a dataset, or of all if None."""

    dataset: Dataset | None
    before_ms: int


def request_column(request: RetentionRequest) -> bytes:
    """Return the column of a request. Raises TooLarge."""
    dataset = request.dataset
    names = (escape(dataset.namespace), escape(dataset.name)) if dataset else ()
    # The time is part of the column, so of two concurrent requests the later time wins, not the later put.
    return REQUEST + join_key(*names, b"%016x" % request.before_ms)


def parse_request(column: bytes) -> RetentionRequest:
    """Return the retention request of a column. Raises CorruptRow for any other column."""
    *names, digits = column[len(REQUEST) :].split(SEPARATOR)
    if not column.startswith(REQUEST) or not is_hex(digits, digits=16) or len(names) not in (0, 2):
        raise CorruptRow(f"{column!r} is not the column of a retention request")
    dataset = Dataset(*map(unescape, names)) if names else None
    return RetentionRequest(dataset, int(digits, 16))


def purge_columns(policy: RetentionPolicy) -> list[bytes]:
    """Return the columns of a purge, sorted: each a cut-off, with the hash of all. Raises TooLarge."""
    cutoffs_ms = [
        ((), policy.default_ms),
        *(((name,), cutoff_ms) for name, cutoff_ms in policy.namespaces_ms.items()),
        *((dataset, cutoff_ms) for dataset, cutoff_ms in policy.datasets_ms.items()),
    ]
    tails = sorted(join_key(*map(escape, names), b"%016x" % cutoff_ms) for names, cutoff_ms in cutoffs_ms)
    digest = xxhash.xxh3_64_hexdigest(SEPARATOR.join(tails)).encode()
    return [PURGE + join_key(digest, tail) for tail in tails]


def parse_purges(columns: Iterable[bytes]) -> dict[bytes, RetentionPolicy]:
    """Return the policy of each purge by its hash, which is not checked, ignoring other columns of a row.

    Raises CorruptRow.
    """
    cutoffs_ms: dict[bytes, dict[int, dict[tuple[str, ...], int]]] = {}
    for column in columns:
        if column.startswith(PURGE):
            pieces = column[len(PURGE) :].split(SEPARATOR)
            digest, names, digits = pieces[0], pieces[1:-1], pieces[-1]
            if len(pieces) not in (2, 3, 4) or not is_hex(digits, digits=16):
                raise CorruptRow(f"{column!r} is not the column of a purge")
            by_names = cutoffs_ms.setdefault(digest, {0: {}, 1: {}, 2: {}})
            by_names[len(names)][tuple(map(unescape, names))] = int(digits, 16)
    return {
        digest: RetentionPolicy(
            by_names[0].get((), NEVER_MS),
            {name: cutoff_ms for (name,), cutoff_ms in by_names[1].items()},
            {Dataset(*names): cutoff_ms for names, cutoff_ms in by_names[2].items()},
        )
        for digest, by_names in cutoffs_ms.items()
    }
