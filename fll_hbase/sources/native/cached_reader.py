"""Reader of native documents that caches parsed operations by their bytes.

A nightly job sends the same operations every night. Operations of recorded documents are cached by their
bytes, so that only the rest of a document, about 200 bytes, is parsed strictly each time (decision 5).
"""

from __future__ import annotations

import threading
from collections.abc import Hashable
from dataclasses import replace
from functools import partial
from typing import TypeAlias
from weakref import WeakValueDictionary

import msgspec
from cachetools import LRUCache

from fll_hbase.model.operations import inputs_of, outputs_of
from fll_hbase.runtime import typed_json
from fll_hbase.runtime.errors import UnreadableDocument
from fll_hbase.sources import strict_json
from fll_hbase.sources.native import document
from fll_hbase.sources.native.document import Reading, ReadOperations

REMEMBERED_BYTES_MAX = 128 * 2**20
"""Memory in bytes for cached operations and their keys, as estimated by `memory_bytes`."""

# The cache has room for dozens of entries of this size, so no document can evict all others.
REMEMBERED_OPERATIONS_BYTES_MAX = 2**18

# Measured on operations of many shapes: up to four bytes of text for each sent byte, and one for the key.
_BYTES_PER_ENTRY, _BYTES_PER_SENT_BYTE = 2_000, 5
_BYTES_PER_FIELD, _BYTES_PER_OPERATION, _BYTES_PER_WARNING = 160, 200, 400

_Key: TypeAlias = tuple[Hashable, str, bytes]
"""The scope of a reader, the namespace, and the bytes of the operations."""

_PLACEHOLDER = 0
_LOOK_BYTES = 40


class _Outline(msgspec.Struct):
    """The raw operations of a document; the rest is parsed strictly."""

    operations: msgspec.Raw


def memory_bytes(sent_bytes: int, operations: ReadOperations) -> int:
    """Return the approximate memory of parsed operations with `sent_bytes` bytes in their document.

    The result is at least the actual memory and at most four times as much.
    """
    listed = operations.info.operations
    fields = sum(len(inputs_of(item)) + len(outputs_of(item)) for item in listed)
    return (
        _BYTES_PER_ENTRY
        + _BYTES_PER_SENT_BYTE * sent_bytes
        + _BYTES_PER_FIELD * fields
        + _BYTES_PER_OPERATION * len(listed)
        + _BYTES_PER_WARNING * len(operations.warnings)
    )


class OperationCache:
    """Parsed operations by scope, namespace and bytes, with one bound for all readers. Threads may share it.

    Operations of documents being recorded can be found while any such document exists, without extra memory.
    They are kept once the first of the documents was recorded.
    """

    def __init__(self, bytes_max: int = REMEMBERED_BYTES_MAX) -> None:
        # The key is the bytes, not a digest, so that a crafted document cannot pass for another (decision 5).
        # The namespace is part of it, since datasets without one are in the URL's namespace.
        self._recorded: LRUCache[_Key, tuple[int, ReadOperations]] = LRUCache(
            bytes_max, getsizeof=lambda item: item[0]
        )
        self._read: WeakValueDictionary[_Key, ReadOperations] = WeakValueDictionary()
        self._lock = threading.Lock()

    def find(self, key: _Key) -> tuple[ReadOperations | None, bool]:
        """Return the operations of a key, or None, and whether they come from a recorded document."""
        # LRUCache reorders its entries on `get`, so reading needs the lock, too.
        with self._lock:
            recorded = self._recorded.get(key)
            return (self._read.get(key), False) if recorded is None else (recorded[1], True)

    def add_read(self, key: _Key, operations: ReadOperations) -> None:
        """Make these operations findable while they exist elsewhere."""
        with self._lock:
            self._read[key] = operations

    def add_recorded(self, key: _Key, operations: ReadOperations) -> None:
        """Cache operations of a recorded document, unless they exceed the whole cache; may evict others."""
        size_bytes = memory_bytes(len(key[2]), operations)
        with self._lock:
            # LRUCache raises ValueError for an item larger than the whole cache.
            if size_bytes <= self._recorded.maxsize:
                self._recorded[key] = size_bytes, operations


class CachedDocumentReader:
    """Reads documents and caches their operations. Threads may share it.

    Readers that share a `cache` find each other's operations if they have the same `scope`.
    """

    def __init__(self, cache: OperationCache | None = None, *, scope: Hashable = None) -> None:
        self._outline = typed_json.decoder(_Outline)
        self._cache = cache or OperationCache()
        self._scope = scope

    def read(self, raw: bytes, *, namespace: str | None, operations: bytes | None = None) -> Reading:
        """Read a document. Raises like `document.read`, and UnreadableDocument for text that is not JSON.

        `operations` are the bytes of that member if the caller has them. Otherwise they are located in `raw`.
        They are cached, once recorded, up to REMEMBERED_OPERATIONS_BYTES_MAX bytes, and only with a
        `namespace` and without a destination.
        """
        data = self._operations_of(raw) if operations is None else operations
        if not data or namespace is None or len(data) > REMEMBERED_OPERATIONS_BYTES_MAX:
            return document.read(strict_json.parse(raw), namespace=namespace)
        key = self._scope, namespace, data
        cached, is_recorded = self._cache.find(key)
        if cached is not None:
            rest = _parse_rest(_without(raw, data))
            if rest is not None:
                reading = document.read(rest, namespace=namespace, operations=cached)
                return reading if is_recorded else self._to_remember(key, reading)
        parsed = strict_json.parse(raw)
        reading = document.read(parsed, namespace=namespace)
        # If the rest has a destination, the result depends on more than these bytes.
        if "destination" in parsed:
            return reading
        self._cache.add_read(key, reading.operations)
        return self._to_remember(key, reading)

    def _to_remember(self, key: _Key, reading: Reading) -> Reading:
        """Return a reading that caches its operations when its document was recorded."""
        return replace(reading, on_recorded=partial(self._cache.add_recorded, key, reading.operations))

    def _operations_of(self, raw: bytes) -> bytes:
        """Return the bytes of the operations, empty if they cannot be located."""
        try:
            return bytes(self._outline.decode(raw).operations)
        except (msgspec.MsgspecError, RecursionError):
            return b""


def _without(raw: bytes, data: bytes) -> bytes:
    """Return the document with a placeholder in place of its operations, else the document unchanged."""
    # Search only for the first bytes: a search for all of them takes longer than parsing the rest.
    begin = raw.find(data[:_LOOK_BYTES])
    if not raw.startswith(data, begin):
        return raw
    return b"%b%d%b" % (raw[:begin], _PLACEHOLDER, raw[begin + len(data) :])


def _parse_rest(raw: bytes) -> object:
    """Parse a document if its placeholder replaced the member `operations`, not equal bytes elsewhere.

    Returns None for anything else and for invalid JSON, where the positions of errors would be wrong.
    """
    try:
        # The strict parser finds duplicate members, which msgspec accepts (decision 5).
        parsed = strict_json.parse(raw)
    except UnreadableDocument:
        return None
    if not isinstance(parsed, dict) or "destination" in parsed:
        return None
    placeholder = parsed.get("operations")
    # `False == 0` in Python, so compare the type, too.
    return parsed if type(placeholder) is int and placeholder == _PLACEHOLDER else None
