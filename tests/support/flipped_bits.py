"""Damage to files."""

from __future__ import annotations


def flipped(content: bytes, bit: int) -> bytes:
    """The bytes of a file with another value of one bit."""
    changed = bytearray(content)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)
