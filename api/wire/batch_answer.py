"""The answer to a batch: one line for each document, spooled to disk, of limited size."""

from __future__ import annotations

import tempfile

from flask import Response

from fll_hbase.runtime.errors import BatchStopped
from fll_hbase.runtime.json_types import Json

from .responses import to_json

SPOOLED_BYTES_MAX = 2**23
"""Maximum size in bytes of an answer in memory. Larger answers move to a temporary file."""

NDJSON = "application/x-ndjson"


class BatchAnswer:
    """Lines that are sent after the last one was written, at most `bytes_max` bytes and one more line."""

    # Spooled, because a client may send the whole body before it reads, which would deadlock a stream.
    def __init__(self, *, bytes_max: int) -> None:
        self._file = tempfile.SpooledTemporaryFile(SPOOLED_BYTES_MAX)  # noqa: SIM115 (the response closes it)
        self._bytes_max = bytes_max
        self._size_bytes = 0

    @property
    def is_full(self) -> bool:
        """Return whether the answer has reached its largest size."""
        return self._size_bytes >= self._bytes_max

    def write(self, line: Json) -> None:
        """Add a line, even to a full answer."""
        self._size_bytes += self._file.write(to_json(line) + b"\n")

    def stopped(self, number: int) -> BatchStopped:
        """Return the error in place of the answers from line `number` on."""
        return BatchStopped(
            f"the answer has {self._size_bytes} bytes (FLL_BATCH_BYTES_MAX): line {number} and all after it"
            " have no answer; send them again in a smaller batch, which is safe"
        )

    def response(self) -> Response:
        """Return the response with all lines."""
        self._file.seek(0)
        if self._size_bytes <= SPOOLED_BYTES_MAX:
            # As bytes, so that `responses.finish` can compress the body; streams are not compressed.
            return Response(self._file.read(), mimetype=NDJSON)
        headers = {"Content-Length": str(self._size_bytes)}
        return Response(self._file, mimetype=NDJSON, headers=headers, direct_passthrough=True)
