"""Strict JSON parser: rejects duplicate keys, NaN and lone surrogates."""

from __future__ import annotations

import codecs
import json
import re
from collections import Counter
from collections.abc import Iterator
from itertools import count
from typing import Any, NoReturn

from fll_hbase.runtime import deadline
from fll_hbase.runtime.errors import ErrorList, FieldError, TooLarge, UnreadableDocument
from fll_hbase.sources.validation import HALF, child_path

CONTAINERS_MAX = 500_000
"""Objects and arrays of a text. Each takes up to 250 bytes of memory, whether its text has 3 or 300 bytes."""
BYTES_PER_CONTAINER_MIN = 32
"""A larger text may have one per this number of bytes; dbt's artifacts and events have one per 60 bytes."""

_WITHOUT_STRUCTURE = bytes(set(range(256)) - set(b'"{['))
_CHUNK_BYTES = 2**16

_OBJECTS = count()
"""Counts the objects of all texts; threads share it."""
_OBJECTS_PER_LOOK = 1_024
_HALF = re.compile("[\ud800-\udfff]")
_SURROGATE_ESCAPE = re.compile(rb"\\u[dD][89a-fA-F]")


def parse(raw: bytes) -> Any:
    """Parse any JSON value from a text in UTF-8; numbers too large for a float are infinite.

    Raises UnreadableDocument for any other text, including a text with a byte order mark. Also raises it for
    JSON that parsers interpret differently: NaN and Infinity, duplicate members, and lone surrogates, each
    with its path. The same goes for integers of more than 4,300 digits and for nesting beyond Python's
    recursion limit. Raises TooLarge as `check_containers` does, and DeadlineExceeded.
    """
    value = parse_with_halves(raw)
    # json accepts lone surrogates, which UTF-8 cannot store. Only texts with such escapes are searched.
    if has_surrogate_escape(raw) and (errors := ErrorList(_find_halves(value))):
        raise UnreadableDocument(errors)
    return value


def _find_halves(value: object) -> Iterator[FieldError]:
    """Yield an error for each text and member name that contains a lone surrogate, in order."""
    pending: list[tuple[object, str]] = [(value, "")]
    while pending:
        item, path = pending.pop()
        if isinstance(item, str) and _has_half(item):
            yield FieldError(path, HALF)
        elif isinstance(item, list):
            pending += reversed([(part, child_path(path, number)) for number, part in enumerate(item)])
        elif isinstance(item, dict):
            yield from (
                FieldError(child_path(path, name), f"its name {HALF}") for name in item if _has_half(name)
            )
            pending += reversed([(part, child_path(path, name)) for name, part in item.items()])


def _has_half(text: str) -> bool:
    """Return whether a text has a lone surrogate."""
    return not text.isascii() and _HALF.search(text) is not None


def has_surrogate_escape(raw: bytes) -> bool:
    r"""Return whether a JSON text has an escape of a surrogate such as `\ud83d`, alone or in a pair."""
    return _SURROGATE_ESCAPE.search(raw) is not None


def without_surrogate_escapes(raw: bytes) -> bytes:
    """Return a text with each escape of a surrogate replaced, for parsers that refuse lone surrogates."""
    return _SURROGATE_ESCAPE.sub(rb"\\u00", raw)


def parse_with_halves(raw: bytes) -> Any:
    """Parse like `parse`, with the same errors, but keep lone surrogates."""
    check_containers(raw)
    try:
        return _DECODER.decode(raw.decode())
    except UnicodeDecodeError as error:
        raise _unreadable(f"not UTF-8: {error.reason} at byte {error.start}") from error
    except RecursionError as error:
        raise _unreadable("nested too deeply") from error
    except json.JSONDecodeError as error:
        if raw.startswith(codecs.BOM_UTF8):
            raise _unreadable("begins with a byte order mark; send UTF-8 without one") from error
        where = f"line {error.lineno} column {error.colno}"
        raise _unreadable(f"not JSON: {error.msg} at {where}") from error
    # Python refuses integers of more than 4,300 digits with a plain ValueError.
    except ValueError as error:
        raise _unreadable(f"not JSON: {error}") from error


def check_containers(raw: bytes) -> None:
    """Raise TooLarge for more objects and arrays, JSON or not, than CONTAINERS_MAX and one per 32 bytes."""
    containers_max = max(CONTAINERS_MAX, len(raw) // BYTES_PER_CONTAINER_MIN)
    # Most texts are shorter. For most others the plain count, including strings, is low enough.
    if len(raw) <= containers_max or raw.count(b"{") + raw.count(b"[") <= containers_max:
        return
    if _count_containers(raw) > containers_max:
        raise TooLarge(f"the JSON has more than {containers_max:,} objects and arrays; send it in parts")


def _count_containers(raw: bytes) -> int:
    """Count `{` and `[` outside strings: up to any syntax error, all that a parser would see."""
    containers = in_string = begin = 0
    while begin < len(raw):
        deadline.check_reading()
        part = raw[begin : begin + _CHUNK_BYTES]
        begin += len(part)
        if (len(part) - len(part.rstrip(b"\\"))) % 2 and begin < len(raw):
            # Do not cut an escape of two characters.
            part, begin = part[:-1], begin - 1
        structure = part.replace(rb"\\", b"").replace(rb"\"", b"").translate(None, _WITHOUT_STRUCTURE)
        texts = structure.split(b'"')
        containers += sum(map(len, texts[in_string::2]))
        in_string ^= len(texts) - 1 & 1
    return containers


def _unreadable(detail: str) -> UnreadableDocument:
    """Return the error of a document with one problem that has no path."""
    return UnreadableDocument([FieldError("", detail)])


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the members of an object. Raises UnreadableDocument for a repeated name."""
    # A text of 16 MB may have millions of objects.
    if not next(_OBJECTS) % _OBJECTS_PER_LOOK:
        deadline.check_reading()
    members = dict(pairs)
    # dict keeps the last of equal keys, other parsers keep the first, so such a document is ambiguous.
    if len(members) < len(pairs):
        # `list.count` would take hours for an object of a million members.
        counts = Counter(name for name, _ in pairs)
        twice = next(name for name, count in counts.items() if count > 1)
        raise _unreadable(f"member {twice!r} is given twice in one object")
    return members


def _constant(name: str) -> NoReturn:
    """Raise UnreadableDocument for NaN, Infinity or -Infinity, which `json` would accept."""
    raise _unreadable(f"{name} is not JSON")


_DECODER = json.JSONDecoder(object_pairs_hook=_members, parse_constant=_constant)
