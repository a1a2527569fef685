"""Contents without the ways through operations that mask values, for walks that follow readable values."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

from fll_hbase.model.field_map import FieldMap, build_field_map
from fll_hbase.model.hop_operations import without_masked_ways
from fll_hbase.model.operations import Operation
from fll_hbase.store.read.content_cache import ContentCache

T = TypeVar("T")

_BYTES_PER_INPUT = 300
"""Memory of a field map in bytes for each operation, as an estimate."""


class UnmaskedContents:
    """A view of a cache of contents, whose entries it shares under names of its own. Threads may share it.

    The edges of a content are those of its operations, as if operations that mask values took no inputs.
    """

    def __init__(self, contents: ContentCache) -> None:
        self._contents = contents

    def field_map(self, checksum: str) -> FieldMap:
        """Return the field map of a content's unmasked ways, from the cache or built from its operations."""
        return self.cached(("map", checksum), lambda: self._read(checksum))

    def load(self, checksums: Iterable[str]) -> None:
        """Read whole contents into the cache. Raises StoreUnavailable, ContentMissing and CorruptRow."""
        self._contents.contents(checksums)

    def cached(self, key: Hashable, read: Callable[[], tuple[int, T]]) -> T:
        """Return the value of a key, as `ContentCache.cached` does."""
        return self._contents.cached(("unmasked", key), read)

    def put(self, key: Hashable, size_bytes: int, value: object) -> None:
        """Cache the value of a key, as `ContentCache.put` does."""
        self._contents.put(("unmasked", key), size_bytes, value)

    def _read(self, checksum: str) -> tuple[int, FieldMap]:
        """Return the size of the field map of a content's unmasked ways in bytes, and the map."""
        content = self._contents.content(checksum)
        unmasked = unmasked_operations(content.operations)
        if unmasked == list(content.operations):
            return _BYTES_PER_INPUT, content.field_map
        return _BYTES_PER_INPUT * len(unmasked), build_field_map(unmasked)


def unmasked_operations(operations: Iterable[Operation]) -> list[Operation]:
    """Return the operations of a content, sorted by name, without the ways that mask values."""
    return without_masked_ways(sorted(operations, key=lambda operation: operation.name))
