"""Items of a JSON array, one by one in bounded memory: files of documents that are not NDJSON."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

_STRUCTURE = re.compile(rb'["{}\[\],\n]')
_IN_STRING = re.compile(rb'["\\]')
_IN_ITEM = re.compile(rb'(?:[^"{}\[\]]++|"(?:[^"\\]++|\\.)*+")*+', re.DOTALL)
"""Whole strings and everything else between two brackets of an item, matched at once: most of a file."""
_BLANK = b" \t\r\n"


@dataclass(frozen=True, slots=True)
class ArrayItem:
    """One item that begins at line `number` (from 1); `raw` is None for one that is too long.

    An item with a `fault` ends an array that cannot be read to its end.
    """

    number: int
    raw: bytes | None
    fault: str = ""


def read_items(chunks: Iterable[bytes], *, bytes_max: int) -> Iterator[ArrayItem]:
    """Yield the items of an array whose text, from `[` on, comes in chunks.

    The text of an item is not parsed; the scanner looks at brackets and strings only. The last item has a
    fault if the array does not end, or if anything but white space follows it.
    """
    scanner = _Scanner(bytes_max)
    for chunk in chunks:
        yield from scanner.feed(chunk)
        if scanner.fault:
            break
    if not scanner.fault and not scanner.is_ended:
        scanner.fault = "the array does not end; the last item was not read"
    if scanner.fault:
        yield ArrayItem(scanner.line, None, scanner.fault)


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
    fault: str = ""
    _parts: list[bytes] = field(default_factory=list)
    _size_bytes: int = 0
    _begin: int = 0
    _has_items: bool = False

    def feed(self, chunk: bytes) -> Iterator[ArrayItem]:
        """Yield the items that end in a chunk."""
        # A backslash at the end of the previous chunk escapes the first byte of this one.
        position, self.skipped = self.skipped, 0
        start = 0
        while not self.is_ended and (match := self._search(chunk, self._within_item(chunk, position))):
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
            if chunk[start:].strip(_BLANK):
                self.fault = "something follows the array, which was not read"
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

    def _search(self, chunk: bytes, position: int) -> re.Match[bytes] | None:
        return (_IN_STRING if self.in_string else _STRUCTURE).search(chunk, position)

    def _add(self, part: bytes) -> None:
        """Append a part of the current item, without leading white space; drop it beyond the size limit."""
        if not self._size_bytes:
            part = part.lstrip(_BLANK)
            self._begin = self.line - part.count(b"\n")
        self._size_bytes += len(part)
        # Beyond the limit, bytes are only counted: an endless item would fill the memory.
        if part and self._size_bytes <= self.bytes_max:
            self._parts.append(part)

    def _end_item(self, part: bytes, *, is_last: bool) -> Iterator[ArrayItem]:
        """Yield the item that ends with `part`, unless it is only blank in an empty array."""
        self._add(part)
        raw = b"".join(self._parts).rstrip(_BLANK)
        is_too_long = self._size_bytes > self.bytes_max
        # `[]` has no item. In `[1,]` one is missing, which its reader refuses.
        if raw or is_too_long or not is_last or self._has_items:
            yield ArrayItem(self._begin, None if is_too_long else raw)
        self._parts, self._size_bytes, self._has_items = [], 0, True
