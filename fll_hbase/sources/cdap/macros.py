"""What does a text with macros say, once the run's arguments are known."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

DEPTH_MAX = 10
"""Values may hold macros in turn, this deep; CDAP has the same bound."""

TEXT_MAX, ALL_TEXT_MAX = 2**20, 2**24
"""Characters that one text, and all texts of a document, may grow to."""

_TOKEN = re.compile(r"\\\$|\\\}|\$\{|\{|\}")


@dataclass(frozen=True, slots=True)
class ResolvedText:
    """A text with its macros replaced, and the keys of those that could not be: then it means nothing."""

    text: str
    unresolved: tuple[str, ...] = ()


@dataclass(slots=True)
class _Macro:
    """A macro while it is read: its text so far, and how many plain braces are open in it."""

    said: list[str] = field(default_factory=list)
    braces: int = 0


class Macros:
    """Replaces `${key}` by the argument of that name; the innermost first, so that keys may hold macros.

    `${key:default}` says what it is without an argument. `\\$` and `\\}` are a plain `$` and `}`. Functions
    such as `${secure(key)}` are arguments nobody gives: they stay unresolved.
    """

    def __init__(self, arguments: Mapping[str, str]) -> None:
        self._arguments = arguments
        self._values: dict[tuple[str, int], ResolvedText] = {}
        self._left = ALL_TEXT_MAX

    def resolve(self, text: str) -> ResolvedText:
        """The text with every macro replaced, or the keys that no argument is known for."""
        return ResolvedText(text) if "$" not in text else self._resolve(text, depth=0)

    def _resolve(self, text: str, *, depth: int) -> ResolvedText:
        stack = [_Macro()]
        unresolved: dict[str, None] = {}
        at = 0
        for token in _TOKEN.finditer(text):
            stack[-1].said.append(text[at : token.start()])
            at = token.end()
            if token[0] == "${":
                stack.append(_Macro())
            elif token[0] == "}" and len(stack) > 1 and not stack[-1].braces:
                value = self._value("".join(stack.pop().said), depth=depth)
                unresolved |= dict.fromkeys(value.unresolved)
                stack[-1].said.append(value.text)
            else:
                stack[-1].braces += {"{": 1, "}": -1}.get(token[0], 0)
                stack[-1].said.append(token[0][-1])
        stack[-1].said.append(text[at:])
        if len(stack) > 1:
            unresolved["".join(stack[1].said)] = None
        return self._bounded("".join(stack[0].said), tuple(unresolved))

    def _value(self, key: str, *, depth: int) -> ResolvedText:
        if (key, depth) not in self._values:
            self._values[key, depth] = self._found(key, depth=depth)
        return self._values[key, depth]

    def _found(self, key: str, *, depth: int) -> ResolvedText:
        name, colon, default = key.partition(":")
        said = self._arguments.get(key, self._arguments.get(name, default if colon else None))
        if said is None or depth == DEPTH_MAX:
            return ResolvedText("", (key,))
        return self._resolve(said, depth=depth + 1) if "$" in said else ResolvedText(said)

    def _bounded(self, said: str, unresolved: tuple[str, ...]) -> ResolvedText:
        self._left -= len(said)
        if len(said) > TEXT_MAX or self._left < 0:
            return ResolvedText("", (*unresolved, "a text that grows too long"))
        return ResolvedText(said, unresolved)
