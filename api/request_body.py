"""What did the client send: request bodies, decoded and bounded, whole or line by line."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, BinaryIO

from flask import Request
from gunicorn.http.errors import ParseException
from werkzeug.exceptions import HTTPException, UnsupportedMediaType

from fll_hbase.errors import FieldError, LineageError, TooLarge, UnreadableDocument

JSON_TYPES = ("application/json",)
NDJSON_TYPES = ("application/x-ndjson", "application/jsonl", "application/json")
_BUFFER_BYTES = 2**16


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a body, or why it could not be read."""

    raw: bytes
    error: LineageError | None = None


def whole(request: Request, *, bytes_max: int) -> bytes:
    """The body, decoded. Raises TooLarge beyond `bytes_max`, whatever the length was said to be."""
    check_type(request, JSON_TYPES)
    _check_length(request, bytes_max)
    body = _readable(request)
    try:
        raw = body.read(bytes_max + 1)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise _broken(error) from error
    if len(raw) > bytes_max:
        raise TooLarge(f"the body is larger than {bytes_max} bytes; split it")
    return raw


def lines(request: Request, *, line_bytes_max: int, bytes_max: int) -> Iterator[Line]:
    """The body line by line, decoded; blank lines are left out. What cannot be read is told as a line.

    Raises TooLarge before the first line where the body says that it is larger than `bytes_max`.
    """
    check_type(request, NDJSON_TYPES)
    _check_length(request, bytes_max)
    return _lines(_readable(request), line_bytes_max, bytes_max)


def check_type(request: Request, types: tuple[str, ...]) -> None:
    """Raises UnsupportedMediaType unless the body says that it is of one of the types, or says nothing."""
    charset = request.mimetype_params.get("charset", "utf-8").lower()
    if (request.mimetype and request.mimetype not in types) or charset not in ("utf-8", "utf8"):
        said = request.headers.get("Content-Type", "")
        raise UnsupportedMediaType(f"the body is {said}; send {' or '.join(types)} in UTF-8")


def _lines(body: BinaryIO, line_bytes_max: int, bytes_max: int) -> Iterator[Line]:
    read = 0
    try:
        while raw := body.readline(line_bytes_max + 2):
            read += len(raw)
            too_long = len(raw.rstrip(b"\r\n")) > line_bytes_max
            while too_long and read <= bytes_max and not raw.endswith(b"\n"):
                raw = body.readline(_BUFFER_BYTES)
                if not raw:
                    break
                read += len(raw)
            if read > bytes_max:
                told = (
                    f"the batch is larger than {bytes_max} bytes; this line and those after it were not read"
                )
                yield Line(b"", TooLarge(told))
                return
            if too_long:
                yield Line(b"", TooLarge(f"the line is larger than {line_bytes_max} bytes; split it"))
            elif raw.strip():
                yield Line(raw)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        yield Line(b"", _broken(error))
    except UnreadableDocument as error:
        yield Line(b"", error)


def _check_length(request: Request, bytes_max: int) -> None:
    if request.content_length is not None and request.content_length > bytes_max:
        raise TooLarge(f"the body is {request.content_length} bytes, at most {bytes_max} are taken; split it")


def _readable(request: Request) -> BinaryIO:
    raw = io.BufferedReader(_Raw(request.stream), _BUFFER_BYTES)
    match request.headers.get("Content-Encoding", "identity").strip().lower():
        case "identity" | "":
            return raw
        case "gzip" | "x-gzip":
            return gzip.GzipFile(fileobj=raw, mode="rb")  # type: ignore[return-value]
        case other:
            raise UnsupportedMediaType(f"Content-Encoding {other!r} is not taken; send gzip or none")


def _broken(error: Exception) -> UnreadableDocument:
    return UnreadableDocument([FieldError("", f"the body is not gzip as its Content-Encoding says: {error}")])


class _Raw(io.RawIOBase):
    """A request's stream as the io module wants it."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        try:
            data = self._stream.read(len(buffer))
        except (OSError, HTTPException, ParseException) as error:
            raise UnreadableDocument([FieldError("", f"the body broke off: {error}")]) from error
        buffer[: len(data)] = data
        return len(data)
