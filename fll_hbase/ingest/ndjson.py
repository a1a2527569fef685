"""Files of documents: NDJSON, a JSON array or one document, gzipped or not, read in bounded memory."""

from __future__ import annotations

import codecs
import gzip
import io
import json
import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, BinaryIO

from fll_hbase.runtime import deadline
from fll_hbase.runtime.errors import FieldError, LineageError, TooLarge, UnreadableDocument

GZIP_MAGIC = b"\x1f\x8b"
_BUFFER_BYTES = 2**16
_SKIPPED_BYTES = 2**18

BLANK_LINES_MAX = 10_000
"""Blank lines that one input may have in addition to one for each other line."""

RATIO_FREE_BYTES = 2**20
"""Bytes that gzip may decompress to at any ratio: a short text of one letter is not an attack."""

SILENT_BYTES_MAX = 2**18
"""Consecutive bytes of gzip that may decompress to nothing."""

PIECES_FREE, PIECE_BYTES_MIN = 10_000, 64
"""Pieces (such as members) that a body may decompress in, and the average size of any further ones."""

# A truncated file, damaged data, and a wrong header or checksum: gzip has no common class for them.
GZIP_ERRORS = (EOFError, zlib.error, gzip.BadGzipFile)


@dataclass(frozen=True, slots=True)
class InputLine:
    """One line, or one document that begins at line `number` (from 1), or the error in place of it."""

    number: int
    raw: bytes
    error: LineageError | None = None


def read_documents(stream: BinaryIO, *, bytes_max: int) -> Iterator[InputLine]:
    """Yield the documents of a file that may be gzipped, each of at most `bytes_max` bytes.

    The items of a JSON array are documents. In other files each line is a document, and blank lines are
    skipped. But if the first line alone is not JSON and the next, even if blank, does not begin with `{`,
    the file is one document over many lines. A byte order mark at the beginning is ignored. A document that
    is too large has TooLarge in its place. Broken gzip, and too many blank lines (BLANK_LINES_MAX), are an
    error in place of the rest.
    """
    try:
        # A pipe has no file name and cannot seek, so the first bytes are read and put back.
        magic = stream.read(len(GZIP_MAGIC))
        body = _without_mark(open_stream(stream.read, head=magic, gzipped=magic == GZIP_MAGIC))
        is_array = body.peek(1).lstrip().startswith(b"[")
    except GZIP_ERRORS as error:
        yield refused(1, f"broken gzip: {error}; this line and all later lines were not read")
        return
    if is_array:
        yield from _read_array(body, bytes_max)
        return
    lines = _read_all_lines(body, bytes_max, None)
    first = next(_without_blank(lines), None)
    if first is None:
        return
    if not first.error and not _is_json(first.raw):
        # In NDJSON with an invalid first line the second line begins with `{`. In indented JSON it does not.
        second = next(lines, None)
        if second is not None and not second.error and not second.raw.startswith(b"{"):
            yield _join(first, chain([second], lines), bytes_max)
            return
        lines = chain([second] if second else [], lines)
    yield from _without_blank(chain([first], lines))


def _without_mark(body: io.BufferedReader[Any]) -> io.BufferedReader[Any]:
    """Return a stream without the byte order mark that editors may write at its beginning."""
    if body.peek(1)[:1] != codecs.BOM_UTF8[:1]:
        return body
    start = body.read(len(codecs.BOM_UTF8))
    return open_stream(body.read, head=b"" if start == codecs.BOM_UTF8 else start)


def _read_array(body: io.BufferedReader[Any], bytes_max: int) -> Iterator[InputLine]:
    number = 1
    try:
        for item in read_items(iter(lambda: body.read1(_BUFFER_BYTES), b""), bytes_max=bytes_max):
            number = item.number
            yield item
    except GZIP_ERRORS as error:
        yield refused(number, f"broken gzip: {error}; the items after this line were not read")


def open_stream(
    read: Callable[[int], bytes],
    *,
    head: bytes = b"",
    gzipped: bool = False,
    ratio_max: int | None = None,
    on_decompressed: Callable[[int], None] = lambda _: None,
) -> io.BufferedReader[Any]:
    """Return a buffered stream of `head` and then the bytes of `read(size)`, decompressed if `gzipped`.

    Reading broken gzip raises one of GZIP_ERRORS. With `ratio_max`, reading gzip raises TooLarge for more
    than RATIO_FREE_BYTES plus `ratio_max` times its bytes. It also does so for too many names, comments and
    empty members, which decompress to next to nothing, and raises the errors of `deadline.check_reading`.
    `on_decompressed` is called with the number of decompressed bytes of each read.
    """
    source = _RawStream(read, head)
    raw = io.BufferedReader(source, _BUFFER_BYTES)
    if not gzipped:
        return raw
    decompressed = _RawStream(gzip.GzipFile(fileobj=raw, mode="rb").read1)
    bounds = None if ratio_max is None else _Decompression(source, decompressed, ratio_max)
    if bounds is not None:
        source.on_read = bounds.check_compressed

    def on_read(size_bytes: int) -> None:
        on_decompressed(size_bytes)
        if bounds is not None:
            bounds.check_decompressed()

    decompressed.on_read = on_read
    return io.BufferedReader(decompressed, _BUFFER_BYTES)


class _Decompression:
    """Bounds the work of decompression: total bytes, bytes that yield none, and small pieces."""

    def __init__(self, source: _RawStream, decompressed: _RawStream, ratio_max: int) -> None:
        self._source, self._decompressed, self._ratio_max = source, decompressed, ratio_max
        self._silent_since = self._reads = 0

    def check_compressed(self, _: int) -> None:
        """Raise TooLarge after more than SILENT_BYTES_MAX of no text, and like `deadline.check_reading`."""
        deadline.check_reading()
        # gzip reads a name or comment in a header byte by byte, and empty members have 20 bytes.
        if self._source.size_bytes - self._silent_since > SILENT_BYTES_MAX:
            raise TooLarge(f"{SILENT_BYTES_MAX} bytes of gzip decompress to no text; send it without gzip")

    def check_decompressed(self) -> None:
        """Raise TooLarge for a ratio above the greatest, and for many members of a few bytes each."""
        self._silent_since = self._source.size_bytes
        self._reads += 1
        size_bytes = self._decompressed.size_bytes
        if size_bytes > RATIO_FREE_BYTES + self._ratio_max * self._source.size_bytes:
            raise TooLarge(
                f"the body decompresses to more than {self._ratio_max} times its size (FLL_GZIP_RATIO_MAX);"
                " send it without gzip"
            )
        if self._reads > PIECES_FREE + size_bytes // PIECE_BYTES_MIN:
            raise TooLarge("the body has very many gzip members of a few bytes; send it without gzip")


def read_lines(body: BinaryIO, *, line_bytes_max: int, bytes_max: int | None = None) -> Iterator[InputLine]:
    """Yield the lines that are not blank; a line that cannot be read has its error instead of bytes.

    A line of more than `line_bytes_max` bytes, without its line end, has TooLarge. Some errors end the input
    and are its last line: more than `bytes_max` bytes in all, blank lines that exceed the others by over
    BLANK_LINES_MAX, broken gzip, and a broken connection (UnreadableDocument) or too high a ratio (TooLarge),
    which `body` raises.
    """
    return _without_blank(_read_all_lines(body, line_bytes_max, bytes_max))


def _without_blank(lines: Iterator[InputLine]) -> Iterator[InputLine]:
    """Yield lines that are not blank; end with an error if blank ones exceed them by over BLANK_LINES_MAX."""
    spare = BLANK_LINES_MAX
    for line in lines:
        if line.error or line.raw.strip():
            spare += 1
            yield line
        elif spare > 0:
            spare -= 1
        else:
            detail = f"more than {BLANK_LINES_MAX} blank lines; this line and all later lines were not read"
            yield refused(line.number, detail)
            return


def _read_all_lines(body: BinaryIO, line_bytes_max: int, bytes_max: int | None) -> Iterator[InputLine]:
    """Yield each line, with its error if too long; an error that ends the body is the last line."""
    number = size_bytes = 0
    try:
        # The limit excludes the line end, which may be CRLF: two bytes.
        while raw := body.readline(line_bytes_max + 2):
            number += 1
            size_bytes += len(raw)
            too_long = len(raw.rstrip(b"\r\n")) > line_bytes_max
            if too_long and not raw.endswith(b"\n"):
                # Otherwise the rest would count as the next line, and later numbers would be wrong.
                size_bytes += _skip_line(body, None if bytes_max is None else bytes_max - size_bytes)
            if bytes_max is not None and size_bytes > bytes_max:
                detail = (
                    f"the batch is larger than {bytes_max} bytes; this line and all later lines were not read"
                )
                yield InputLine(number, b"", TooLarge(detail))
                return
            yield InputLine(number, b"", too_large(line_bytes_max)) if too_long else InputLine(number, raw)
    except GZIP_ERRORS as error:
        yield refused(number + 1, f"broken gzip: {error}; this line and all later lines were not read")
    except (UnreadableDocument, TooLarge) as error:
        yield InputLine(number + 1, b"", error)


def too_large(bytes_max: int) -> TooLarge:
    """Return the error of a document of more than `bytes_max` bytes."""
    return TooLarge(f"longer than {bytes_max} bytes; split it, or raise FLL_DOCUMENT_BYTES_MAX")


def _skip_line(body: BinaryIO, bytes_max: int | None) -> int:
    """Skip to the end of the line, or beyond `bytes_max`; return how many bytes were skipped."""
    # Skip in pieces: a line without an end, such as a binary file, would otherwise be read into memory.
    skipped = 0
    while (bytes_max is None or skipped <= bytes_max) and (raw := body.readline(_SKIPPED_BYTES)):
        skipped += len(raw)
        if raw.endswith(b"\n"):
            break
    return skipped


def _join(first: InputLine, rest: Iterator[InputLine], bytes_max: int) -> InputLine:
    """Return all lines as one document with the number of the first, or its first error or TooLarge."""
    parts = [first.raw]
    size_bytes = len(first.raw)
    for line in rest:
        size_bytes += len(line.raw)
        if line.error or size_bytes > bytes_max:
            return InputLine(first.number, b"", line.error or too_large(bytes_max))
        parts.append(line.raw)
    return InputLine(first.number, b"".join(parts))


def _is_json(raw: bytes) -> bool:
    """Return whether a text is JSON, by a parser that is not strict."""
    try:
        json.loads(raw)
    # The json module reports deep nesting as RecursionError, which is not a ValueError.
    except (ValueError, RecursionError):
        return False
    return True


def refused(number: int, detail: str) -> InputLine:
    """Return an error in place of a line, UnreadableDocument with this detail."""
    return InputLine(number, b"", UnreadableDocument([FieldError("", detail)]))


class _RawStream(io.RawIOBase):
    """The raw stream that io.BufferedReader needs, over a function `read(size)`.

    `size_bytes` counts the bytes read so far. `on_read` gets the number of bytes of each read, and may raise.
    """

    def __init__(self, read: Callable[[int], bytes], head: bytes = b"") -> None:
        self._read = read
        self._head = head
        self.size_bytes = 0
        self.on_read: Callable[[int], None] = lambda _: None

    def readable(self) -> bool:
        """Return True, as io.BufferedReader requires it."""
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        """Fill the buffer from the bytes read ahead, then the stream; count the bytes and call `on_read`."""
        # If `head` is longer than the buffer, the next call returns the rest. If it is shorter, bytes of the
        # stream fill the buffer, so that a caller can peek at the beginning of the text.
        data = self._head + self._read(max(0, len(buffer) - len(self._head)))
        self._head = data[len(buffer) :]
        buffer[: len(data)] = data[: len(buffer)]
        size_bytes = min(len(data), len(buffer))
        self.size_bytes += size_bytes
        self.on_read(size_bytes)
        return size_bytes


_STRUCTURE = re.compile(rb'["{}\[\],\n]')
_IN_STRING = re.compile(rb'["\\]')
_IN_ITEM = re.compile(rb'(?:[^"{}\[\]]++|"(?:[^"\\]++|\\.)*+")*+', re.DOTALL)
"""Whole strings and everything else between two brackets of an item, matched at once: most of a file."""
_BLANK = b" \t\r\n"


def read_items(chunks: Iterable[bytes], *, bytes_max: int) -> Iterator[InputLine]:
    """Yield the items of an array whose text, from `[` on, comes in chunks.

    The text of an item is not parsed; the scanner looks at brackets and strings only. An item of more than
    `bytes_max` bytes has TooLarge, and a missing item, as in `[1,]`, is empty. The last item is an error if
    the array does not end, or if anything but white space follows it.
    """
    scanner = _Scanner(bytes_max)
    for chunk in chunks:
        yield from scanner.feed(chunk)
        if scanner.is_followed:
            break
    if not scanner.is_ended:
        yield refused(scanner.line, "the array does not end; the last item was not read")
    elif scanner.is_followed:
        yield refused(scanner.line, "something follows the array, which was not read")


@dataclass(slots=True)
class _Scanner:
    """Position in the text: `depth` counts open brackets, and is 1 between items.

    `skipped` is the number of bytes of the next chunk that an escape in a string covers, 0 or 1.
    """

    bytes_max: int
    depth: int = 0
    line: int = 1
    in_string: bool = False
    skipped: int = 0
    is_ended: bool = False
    is_followed: bool = False
    _parts: list[bytes] = field(default_factory=list)
    _size_bytes: int = 0
    _begin: int = 0
    _has_items: bool = False

    def feed(self, chunk: bytes) -> Iterator[InputLine]:
        """Yield the items that end in a chunk."""
        # A backslash at the end of the previous chunk escapes the first byte of this one.
        position, self.skipped = self.skipped, 0
        start = 0
        while not self.is_ended:
            pattern = _IN_STRING if self.in_string else _STRUCTURE
            match = pattern.search(chunk, self._within_item(chunk, position))
            if match is None:
                break
            position, token = match.end(), match[0]
            if token == b"\\":
                self.skipped = max(0, position + 1 - len(chunk))
                position += 1
                continue
            self._note(token)
            # Only white space precedes the array.
            if token == b"[" and self.depth == 1:
                start = position
            if self.is_ended or (token == b"," and self.depth == 1):
                yield from self._end_item(chunk[start : match.start()], is_last=self.is_ended)
                start = position
        if self.is_ended:
            self.is_followed = bool(chunk[start:].strip(_BLANK))
        else:
            self._add(chunk[start:])

    def _note(self, token: bytes) -> None:
        """Update line, depth and string state for a token; the array ends at depth 0."""
        if token == b'"':
            self.in_string = not self.in_string
        elif token == b"\n":
            self.line += 1
        elif token in b"{[":
            self.depth += 1
        elif token != b",":
            self.depth -= 1
            self.is_ended = self.depth == 0

    def _within_item(self, chunk: bytes, position: int) -> int:
        """Skip strings and other text inside an item, and count its lines; return the position after it."""
        if self.depth < 2 or self.in_string:
            return position
        match = _IN_ITEM.match(chunk, position)
        end = match.end() if match else position
        self.line += chunk.count(b"\n", position, end)
        return end

    def _add(self, part: bytes) -> None:
        """Append a part of the current item, without leading white space; drop it beyond the size limit."""
        if not self._size_bytes:
            part = part.lstrip(_BLANK)
            self._begin = self.line - part.count(b"\n")
        self._size_bytes += len(part)
        # Beyond the limit, bytes are only counted: an endless item would fill the memory.
        if part and self._size_bytes <= self.bytes_max:
            self._parts.append(part)

    def _end_item(self, part: bytes, *, is_last: bool) -> Iterator[InputLine]:
        """Yield the item that ends with `part`, unless it is only blank in an empty array."""
        self._add(part)
        raw = b"".join(self._parts).rstrip(_BLANK)
        is_too_long = self._size_bytes > self.bytes_max
        # `[]` has no item. In `[1,]` one is missing, which its reader refuses.
        if raw or is_too_long or not is_last or self._has_items:
            error = too_large(self.bytes_max) if is_too_long else None
            yield InputLine(self._begin, b"" if error else raw, error)
        self._parts, self._size_bytes, self._has_items = [], 0, True
