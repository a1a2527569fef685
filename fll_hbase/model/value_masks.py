"""Masked values: the operations after which a value can no longer be read, by their descriptions."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from fll_hbase.model.hop_operations import copied_inputs
from fll_hbase.model.operations import Operation, Transform

_MASKS = (
    r"(?:sha[-_]?(?:1|2|3|224|256|384|512)\w*|md[245]\w*|hmac\w*|xxhash\w*|murmur\w*|farm_fingerprint|hash(?!tag)\w*"
    r"|standard_hash|ora_hash|blake[23]\w*|digest|mask\w*|redact\w*|tokeni[sz]e\w*|encrypt\w*|aes_encrypt"
    r"|anonymi[sz]e\w*|pseudonymi[sz]e\w*|obfuscate\w*)"
)
"""Names of functions, and first words of texts, whose result does not show the value."""

_WRAPPERS = "(?:cast|try_cast|upper|lower|hex|to_hex|base64|to_base64|trim|substr|substring|left|right)"
"""Functions of one value: masked if their first argument is."""

_CALL = re.compile(rf"(?:[\w$]+\.)*(?:(?P<mask>{_MASKS})|{_WRAPPERS})\s*\(", re.IGNORECASE)
_TEXT = re.compile(
    rf"{_MASKS}(?![^\s,:])(?!\s*\()(?! (?:join|partition|key|map|and|or|is|in|like|between)\b)[^|&*/%^<>=+]*",
    re.IGNORECASE,
)
"""A text that begins with such a word. With an operator, it may be an expression of a column of that name."""

_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"|`[^`]*`")
_HEAD = re.compile(r"(?:[^:;|()]*: )?[A-Z_]+: ")
"""What an OpenLineage event puts before a description: an input and a subtype, `k: TRANSFORMATION: `."""

_DEPTH_MAX = 20
_TEXT_MAX = 10_000
"""The longest description that is read; a longer one counts as not masked."""


def masks_values(transform: Transform) -> bool:
    """Return whether every part of a transform's description is a masking operation.

    Parts are joined by ` | ` or `; `. A call counts if it is the whole part: `sha2(uid, 256) || uid` shows
    the value. Without a description, the name of the operation counts. A transform that copies an input
    masks nothing, nor does one whose text has more than _TEXT_MAX characters.
    """
    text = transform.description.strip() or transform.name
    if len(text) > _TEXT_MAX or copied_inputs(transform).inputs:
        # A copied column may be called `hash_id`.
        return False
    return all(_is_masked(part.strip()) for part in re.split(r" \| |; ", text))


def without_masked_ways(operations: Iterable[Operation]) -> list[Operation]:
    """Return the operations, with masking transforms that generate their outputs instead of deriving them."""
    return [
        replace(item, inputs=()) if isinstance(item, Transform) and masks_values(item) else item
        for item in operations
    ]


def _is_masked(part: str) -> bool:
    """Return whether one part of a description is a masking operation."""
    # Events state it apart from the expression.
    if part.lower() == "masked" or part.endswith(", masked"):
        return True
    head = _HEAD.match(part)
    text = part[head.end() :] if head else part
    # Text in quotes may contain parentheses and commas.
    return _TEXT.fullmatch(text) is not None or _is_masking_call(_QUOTED.sub("_", text))


def _is_masking_call(text: str) -> bool:
    """Return whether a text is one call of a masking function, possibly within wrappers."""
    for _ in range(_DEPTH_MAX):
        call = _CALL.match(text)
        if call is None or _closing(text, call.end()) != len(text) - 1:
            return False
        if call["mask"]:
            return True
        text = _first_argument(text[call.end() : -1]).strip()
    return False


def _closing(text: str, start: int) -> int:
    """Return the position of the parenthesis that closes the one before `start`, or -1."""
    depth = 1
    for position, character in enumerate(text[start:], start):
        depth += (character == "(") - (character == ")")
        if not depth:
            return position
    return -1


def _first_argument(text: str) -> str:
    """Return the first argument of a call, without ` AS type`, given all arguments."""
    depth = 0
    for position, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if not depth and (character == "," or text[position : position + 4].lower() == " as "):
            return text[:position]
    return text
