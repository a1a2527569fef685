"""Reader of our own documents that caches parsed operations by their bytes.

A nightly job sends the same operations every night. Operations that passed strict parsing are cached by their
bytes, so that only the rest of a document, some 200 bytes, is parsed strictly each time (decision 5).
"""

from __future__ import annotations

import threading

import msgspec
from cachetools import LRUCache

from fll_hbase.runtime.errors import UnreadableDocument
from fll_hbase.sources import strict_json
from fll_hbase.sources.native import document
from fll_hbase.sources.native.document import Reading, ReadOperations

REMEMBERED_BYTES_MAX = 64 * 2**20
"""Bytes of cached operations as sent; parsed, they need about ten times as much memory."""

# No document can evict the rest of the cache: there is room for 256 entries of this size.
REMEMBERED_OPERATIONS_BYTES_MAX = 2**18

_PLACEHOLDER = 0
_LOOK_BYTES = 40


class _Outline(msgspec.Struct):
    """The raw operations of a document; the rest is parsed strictly."""

    operations: msgspec.Raw


class CachedDocumentReader:
    """Reads documents and caches their operations. Threads may share it."""

    def __init__(self) -> None:
        self._outline = msgspec.json.Decoder(_Outline)
        # The key is the bytes, not a digest: a crafted document cannot pass for another (decision 5).
        # The namespace belongs to it, since datasets without one are in that of the URL.
        self._cache: LRUCache[tuple[str | None, bytes], tuple[int, ReadOperations]] = LRUCache(
            REMEMBERED_BYTES_MAX, getsizeof=lambda item: item[0]
        )
        self._lock = threading.Lock()

    def read(self, raw: bytes, *, namespace: str | None, operations: bytes | None = None) -> Reading:
        """Read a document. Raises like `document.read`, and UnreadableDocument for text that is not JSON.

        `operations` are the bytes of that member if the caller has them; otherwise they are located in `raw`.
        """
        data = self._operations_of(raw) if operations is None else _if_small(operations)
        # LRUCache reorders its entries on `get`, so reading needs the lock, too.
        with self._lock:
            cached = self._cache.get((namespace, data))
        if cached is not None:
            rest = _parse_rest(_without(raw, data))
            # Strict parsing of the rest finds duplicate members, which msgspec accepts (decision 5).
            if _is_rest(rest):
                return document.read(rest, namespace=namespace, operations=cached[1])
        parsed = strict_json.parse(raw)
        reading = document.read(parsed, namespace=namespace)
        # With a namespace or a destination in the rest, the result would depend on more than these bytes.
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
        """Cache operations by namespace and bytes, unless these are empty; may evict others."""
        if key[1]:
            with self._lock:
                self._cache[key] = len(key[1]), operations


def _if_small(operations: bytes) -> bytes:
    """Return the bytes, or b"" for more than REMEMBERED_OPERATIONS_BYTES_MAX, which are not cached."""
    return operations if len(operations) <= REMEMBERED_OPERATIONS_BYTES_MAX else b""


def _without(raw: bytes, data: bytes) -> bytes:
    """Return the document with a placeholder in place of its operations, else the document unchanged."""
    # Only the first bytes are searched for: a search for all of them costs more than parsing the rest.
    begin = raw.find(data[:_LOOK_BYTES])
    if not raw.startswith(data, begin):
        return raw
    return b"%b%d%b" % (raw[:begin], _PLACEHOLDER, raw[begin + len(data) :])


def _parse_rest(raw: bytes) -> object:
    """Parse a document with a placeholder; None if it is not JSON: positions of errors would be wrong."""
    try:
        return strict_json.parse(raw)
    except UnreadableDocument:
        return None


def _is_rest(parsed: object) -> bool:
    """Return whether the placeholder replaced the member `operations`, not equal bytes elsewhere."""
    if not isinstance(parsed, dict) or "destination" in parsed:
        return False
    placeholder = parsed.get("operations")
    # `False == 0` in Python, so the type is compared, too.
    return type(placeholder) is int and placeholder == _PLACEHOLDER
