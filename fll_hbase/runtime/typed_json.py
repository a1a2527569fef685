"""Typed JSON: values of msgspec types, which threads may use for the first time at once.

msgspec resolves the members of a struct type when it is first used, and holds no lock meanwhile. A second
thread that uses the type before it is complete ends the whole process by SIGSEGV (msgspec 0.22). Here,
one thread resolves types at a time.
"""

from __future__ import annotations

import threading
from typing import Any, TypeVar, cast

import msgspec

T = TypeVar("T")

_LOCK = threading.Lock()
_DECODERS: dict[Any, msgspec.json.Decoder[Any]] = {}
"""Decoders by type. The types of a program are few, so that none is removed."""


def decoder(shape: type[T]) -> msgspec.json.Decoder[T]:
    """Return the decoder of JSON of a type; threads may share it."""
    cached = _DECODERS.get(shape)
    if cached is None:
        with _LOCK:
            cached = _DECODERS.setdefault(shape, msgspec.json.Decoder(shape))
    return cast("msgspec.json.Decoder[T]", cached)


def decode(text: bytes | str, shape: type[T]) -> T:
    """Return the value of a type that JSON encodes. Raises msgspec.DecodeError for any other text."""
    try:
        return decoder(shape).decode(text)
    except (UnicodeDecodeError, RecursionError) as error:
        # msgspec raises Python's own errors for a text that is not UTF-8 or nested too deeply.
        raise msgspec.DecodeError(str(error)) from error


def convert(value: Any, shape: type[T]) -> T:
    """Return a value of a type from dicts, lists and scalars. Raises msgspec.ValidationError."""
    decoder(shape)
    return msgspec.convert(value, shape)
