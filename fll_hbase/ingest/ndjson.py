"""Which documents are in a file: one, or one a line, gzipped or not, read as a stream in bounded memory."""

from __future__ import annotations

import gzip
import io
import json
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import BinaryIO

from fll_hbase.errors import FieldError, LineageError, TooLarge, UnreadableDocument

_GZIP = b"\x1f\x8b"
_SKIPPED_BYTES = 2**18


@dataclass(frozen=True, slots=True)
class Line:
    """A document as it stands in a file from line `number` (from 1) on, or why it could not be read."""

    number: int
    raw: bytes
    error: LineageError | None = None


def documents(stream: BinaryIO, *, bytes_max: int) -> Iterator[Line]:
    """Every document, each at most `bytes_max` long.

    Where the first line is no JSON by itself and the second begins no object, the file is one document over
    many lines; else there is one a line, and blank lines are passed over.
    """
    lines = _lines(_decompressed(stream), bytes_max)
    first = next((line for line in lines if line.error or line.raw.strip()), None)
    if first is None:
        return
    if first.raw.lstrip().startswith(b"["):
        yield _refused(first.number, "a JSON array; give one document a line, as `jq -c '.[]'` makes them")
        return
    if not first.error and not _whole(first.raw):
        second = next(lines, None)
        if second is not None and not second.error and not second.raw.startswith(b"{"):
            yield _one(first, chain([second], lines), bytes_max)
            return
        lines = chain([second] if second else [], lines)
    yield from (line for line in chain([first], lines) if line.error or line.raw.strip())


def _lines(body: BinaryIO, bytes_max: int) -> Iterator[Line]:
    """All lines, numbered; beyond one that cannot be decompressed there are no more."""
    number = 0
    try:
        while raw := body.readline(bytes_max + 2):
            number += 1
            too_long = len(raw.rstrip(b"\r\n")) > bytes_max
            while too_long and not raw.endswith(b"\n") and (rest := body.readline(_SKIPPED_BYTES)):
                raw = rest
            yield Line(number, b"", _too_large(bytes_max)) if too_long else Line(number, raw)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        yield _refused(number + 1, f"broken gzip: {error}; neither this line nor what follows was read")


def _one(first: Line, rest: Iterator[Line], bytes_max: int) -> Line:
    parts = [first.raw]
    size_bytes = len(first.raw)
    for line in rest:
        size_bytes += len(line.raw)
        if line.error or size_bytes > bytes_max:
            return Line(first.number, b"", line.error or _too_large(bytes_max))
        parts.append(line.raw)
    return Line(first.number, b"".join(parts))


def _whole(raw: bytes) -> bool:
    try:
        json.loads(raw)
    except (ValueError, RecursionError):
        return False
    return True


def _too_large(bytes_max: int) -> TooLarge:
    return TooLarge(f"longer than {bytes_max} bytes; split it, or raise FLL_DOCUMENT_BYTES_MAX")


def _refused(number: int, detail: str) -> Line:
    return Line(number, b"", UnreadableDocument([FieldError("", detail)]))


def _decompressed(stream: BinaryIO) -> BinaryIO:
    head = stream.read(len(_GZIP))
    body = io.BufferedReader(_Prefixed(head, stream))
    return gzip.GzipFile(fileobj=body) if head == _GZIP else body  # type: ignore[return-value]


class _Prefixed(io.RawIOBase):
    """A stream with the bytes put back that were read to look at them."""

    def __init__(self, head: bytes, stream: BinaryIO) -> None:
        self._head = head
        self._stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        data = self._head or self._stream.read(len(buffer))
        self._head = data[len(buffer) :] if self._head else b""
        buffer[: len(data)] = data[: len(buffer)]
        return min(len(data), len(buffer))
