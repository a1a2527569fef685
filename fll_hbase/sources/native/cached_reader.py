"""Reader of our own documents that caches parsed operations by their bytes.

The operations of a nightly job are the same bytes every night. What passed the strict reading once is known
by those very bytes, so that only the rest of a document, some 200 bytes, is read strictly each time.
"""

from __future__ import annotations

import threading

import msgspec
from cachetools import LRUCache

from fll_hbase.sources import strict_json
from fll_hbase.sources.native import document
from fll_hbase.sources.native.document import Reading, ReadOperations

REMEMBERED_BYTES_MAX = 64 * 2**20
"""Bytes of cached operations as sent; parsed they take about ten times as much memory."""

REMEMBERED_OPERATIONS_BYTES_MAX = 2**18

_PLACEHOLDER = 0
_LOOK_BYTES = 40


class _Outline(msgspec.Struct):
    """The raw operations of a document; the rest is parsed strictly."""

    operations: msgspec.Raw


class CachedDocumentReader:
    """Reads documents. Threads may share it."""

    def __init__(self) -> None:
        self._outline = msgspec.json.Decoder(_Outline)
        self._cache: LRUCache[tuple[str | None, bytes], tuple[int, ReadOperations]] = LRUCache(
            REMEMBERED_BYTES_MAX, getsizeof=lambda item: item[0]
        )
        self._lock = threading.Lock()

    def read(self, raw: bytes, *, namespace: str | None, operations: bytes | None = None) -> Reading:
        """Read a document. Raises like `document.read`, and UnreadableDocument for text that is not JSON.

        `operations` are the bytes of that member where they are known, so that they need not be looked for.
        """
        data = self._operations_of(raw) if operations is None else _if_small(operations)
        with self._lock:
            cached = self._cache.get((namespace, data))
        if cached is not None:
            rest = strict_json.parse(_without(raw, data))
            if _is_rest(rest):
                return document.read(rest, namespace=namespace, operations=cached[1])
        parsed = strict_json.parse(raw)
        reading = document.read(parsed, namespace=namespace)
        if namespace is not None and "destination" not in parsed:
            self._remember((namespace, data), reading.operations)
        return reading

    def _operations_of(self, raw: bytes) -> bytes:
        """Return the bytes of the operations; empty if they cannot be located or are too large to cache."""
        try:
            return _if_small(bytes(self._outline.decode(raw).operations))
        except (msgspec.MsgspecError, RecursionError):
            return b""

    def _remember(self, key: tuple[str, bytes], operations: ReadOperations) -> None:
        if key[1]:
            with self._lock:
                self._cache[key] = len(key[1]), operations


def _if_small(operations: bytes) -> bytes:
    return operations if len(operations) <= REMEMBERED_OPERATIONS_BYTES_MAX else b""


def _without(raw: bytes, data: bytes) -> bytes:
    """Return the document with a placeholder for its operations, if their first occurrence is at their place.

    A search for all of their bytes would cost more than reading the rest does.
    """
    begin = raw.find(data[:_LOOK_BYTES])
    if not raw.startswith(data, begin):
        return raw
    return b"%b%d%b" % (raw[:begin], _PLACEHOLDER, raw[begin + len(data) :])


def _is_rest(parsed: object) -> bool:
    """Return whether the placeholder replaced the operations, and not equal bytes elsewhere."""
    if not isinstance(parsed, dict) or "destination" in parsed:
        return False
    placeholder = parsed.get("operations")
    return type(placeholder) is int and placeholder == _PLACEHOLDER
