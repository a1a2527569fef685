"""JSON on several lines: without line breaks and indentation they are the JSON on one line, byte for byte."""

from __future__ import annotations

import re
from collections.abc import Iterator

WIDTH, SHARED_WIDTH = 118, 42
"""Of a line, and of parts that share one."""

_TOKENS = re.compile(r'"(?:[^"\\]|\\.)*"|[][{}:,]|[^][{}:,"]+')
_CLOSING = {"{": "}", "[": "]"}


def fold(text: str) -> list[str]:
    """The lines of a JSON text: what follows from one line to the next is indented in the next.

    A text that does not fit a line has a line for each larger object and array; smaller parts share lines.
    """
    lines = _fold(_parse(_TOKENS.findall(text)), "")
    # Not of JSON with blanks between its parts.
    return lines if "".join(line.lstrip(" ") for line in lines) == text else [text]


class _Part:
    """A value with its key before it and a comma after it; `items` is None for a scalar."""

    def __init__(self, head: str, items: list[_Part] | None = None, tail: str = "") -> None:
        self.head, self.items, self.tail = head, items, tail
        self.text = head + "".join(item.text for item in items or ()) + tail


def _parse(tokens: list[str]) -> _Part:
    """The parts of a text by its tokens; a text that is not JSON is one part."""
    stack: list[tuple[str, list[_Part]]] = [("", [])]
    key = ""
    for token in tokens:
        items = stack[-1][1]
        if token in _CLOSING:
            stack.append((key + token, []))
            key = ""
        elif token in _CLOSING.values() and len(stack) > 1:
            head, parts = stack.pop()
            stack[-1][1].append(_Part(head, parts, token))
        elif token == "," and items:
            last = items.pop()
            items.append(_Part(last.head, last.items, f"{last.tail},"))
        elif token == ":" and items:
            key = items.pop().head + token
        else:
            items.append(_Part(key + token))
            key = ""
    return stack[0][1][0] if len(stack[0][1]) == 1 else _Part("".join(tokens))


def _fold(part: _Part, indent: str) -> list[str]:
    if part.items is None or len(indent) + len(part.text) <= WIDTH:
        return [indent + part.text]
    lines = [indent + part.head, *_folded_items(part.items, f"{indent}  ")]
    lines[-1] += part.tail
    return lines


def _folded_items(items: list[_Part], indent: str) -> Iterator[str]:
    line = ""
    for item in items:
        is_small = item.items is None or len(item.text) <= SHARED_WIDTH
        if is_small and line and len(line) + len(item.text) <= WIDTH:
            line += item.text
            continue
        if line:
            yield line
        *above, line = _fold(item, indent)
        yield from above
        if not is_small:
            yield line
            line = ""
    if line:
        yield line
