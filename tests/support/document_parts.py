"""Parts of JSON documents, replaced and removed."""

from __future__ import annotations

import copy
from typing import Any

Json = Any
Path = tuple[str | int, ...]

HALF = "\ud83d"
"""Half of a surrogate pair, which JSON can have and UTF-8 cannot."""


def put(document: Json, path: Path, value: Json) -> Json:
    """Return the document with another value at a path."""
    changed = copy.deepcopy(document)
    holder = changed
    for name in path[:-1]:
        holder = holder[name]
    holder[path[-1]] = value
    return changed


def remove(document: Json, path: Path) -> Json:
    """Return the document without the part at a path."""
    changed = copy.deepcopy(document)
    holder = changed
    for name in path[:-1]:
        holder = holder[name]
    del holder[path[-1]]
    return changed
