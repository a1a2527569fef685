"""Macros of pipeline configs, and the names and schemas that contain them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from fll_hbase.runtime import deadline
from fll_hbase.sources.cdap import record_schema
from fll_hbase.sources.cdap.record_schema import FIELD_CHARS_MIN, InvalidSchema, Schema, TooManyFields
from fll_hbase.sources.validation import Part

DEPTH_MAX = 10
"""Nesting depth of macros in values; CDAP has the same limit."""

TEXT_CHARS_MAX, ALL_TEXT_CHARS_MAX = 2**20, 2**24
"""Characters to which one text, and all texts of a document together, may expand."""

SPARE_FIELDS_MAX = 5_000
"""Fields that named records may add to all schemas of a document beyond the room in their text."""

_SHOWN_CHARS = 200
_TOKEN = re.compile(r"\\\$|\\\}|\$\{|\{|\}")


@dataclass(frozen=True, slots=True)
class ResolvedText:
    """A string with its macros replaced, unusable if it has keys of `unresolved` macros."""

    text: str
    unresolved: tuple[str, ...] = ()


@dataclass(slots=True)
class _Macro:
    """A macro while it is read: its text so far, and the number of open plain braces in it."""

    text: list[str] = field(default_factory=list)
    braces: int = 0


class Macros:
    """Names, texts and schemas of a config with their macros resolved; unknown ones become warnings.

    `${key}` is the argument of that name, innermost first, so that keys may contain macros. `${key:default}`
    has a default for a missing argument. `\\$` and `\\}` are a plain `$` and `}`. No argument has a function
    such as `${secure(key)}` as its key, so functions stay unresolved.
    """

    def __init__(self, arguments: Mapping[str, str]) -> None:
        self._arguments = arguments
        self._values: dict[tuple[str, int], ResolvedText] = {}
        self._chars_left = ALL_TEXT_CHARS_MAX
        # Several stages of a pipeline often have the same schema.
        self._schemas: dict[str, Schema | InvalidSchema] = {}
        # One allowance for all schemas, since any number of stages may have an expensive schema.
        self._spare_fields = SPARE_FIELDS_MAX

    def resolve(self, text: str) -> ResolvedText:
        """Replace every macro of a string; above TEXT_CHARS_MAX it becomes "" and counts as unresolved."""
        if len(text) > TEXT_CHARS_MAX and "$" in text:
            return ResolvedText("", ("a text that is too long",))
        return self._resolve(text, depth=0)

    def _resolve(self, text: str, *, depth: int) -> ResolvedText:
        """Replace macros, innermost first. One without a value, or without an end, is "" and unresolved."""
        if "$" not in text and "\\}" not in text:
            return ResolvedText(text)
        stack = [_Macro()]
        unresolved: dict[str, None] = {}
        start = 0
        for token in deadline.watched(_TOKEN.finditer(text)):
            stack[-1].text.append(text[start : token.start()])
            start = token.end()
            if token[0] == "${":
                stack.append(_Macro())
            elif token[0] == "}" and len(stack) > 1 and not stack[-1].braces:
                value = self._value("".join(stack.pop().text), depth=depth)
                unresolved |= dict.fromkeys(value.unresolved)
                stack[-1].text.append(value.text)
            else:
                stack[-1].braces += {"{": 1, "}": -1}.get(token[0], 0)
                stack[-1].text.append(token[0][-1])
        stack[-1].text.append(text[start:])
        if len(stack) > 1:
            # A macro has no closing brace, so the rest of the text is its key.
            unresolved["".join(stack[1].text)] = None
        return self._limit("".join(stack[0].text), tuple(unresolved))

    def _value(self, key: str, *, depth: int) -> ResolvedText:
        """Return the value of a macro by its key, cached by depth."""
        # Values are cached per depth: a value that resolves elsewhere may stay unresolved near DEPTH_MAX.
        if (key, depth) not in self._values:
            self._values[key, depth] = self._resolve_key(key, depth=depth)
        return self._values[key, depth]

    def _resolve_key(self, key: str, *, depth: int) -> ResolvedText:
        """Return the value of `key` or `name:default`, or "" and the unresolved key if it has none."""
        name, colon, default = key.partition(":")
        # Try the whole key first, since the name of an argument may contain a colon.
        value = self._arguments.get(key, self._arguments.get(name, default if colon else None))
        if value is None or depth == DEPTH_MAX:
            return ResolvedText("", (key,))
        return self._resolve(value, depth=depth + 1)

    def _limit(self, text: str, unresolved: tuple[str, ...]) -> ResolvedText:
        """Return a resolved text, or "" and a note if this text, or all texts together, are too long."""
        # Nested macros can multiply the text at every level.
        self._chars_left -= len(text)
        if len(text) > TEXT_CHARS_MAX or self._chars_left < 0:
            return ResolvedText("", (*unresolved, "a text that grows too long"))
        return ResolvedText(text, unresolved)

    def name(self, text: str, part: Part, *, bytes_max: int) -> str:
        """Return the name of a part, or "" with a warning if it is too long or a macro is unresolved."""
        resolved = self.resolve(text)
        if resolved.unresolved:
            part.warning(f"{_describe_unresolved(resolved.unresolved)}; the name is not known")
            return ""
        if len(resolved.text.encode()) > bytes_max:
            part.warning(f"is longer than {bytes_max} bytes; the name is not known")
            return ""
        return resolved.text

    def text(self, text: str) -> str:
        """Return a string with its macros replaced, or the original if one of them is unresolved."""
        resolved = self.resolve(text)
        return text if resolved.unresolved else resolved.text

    def schema(self, part: Part) -> Schema | None:
        """Return the schema of an object or JSON text with macros; None if absent or (warned) unreadable."""
        if part.value is None or part.value == "":
            return None
        if part.is_object:
            return _schema_or_warning(self._parse_object(part.members), part)
        if not isinstance(part.value, str):
            part.warn_type("a string or an object")
            return None
        text = part.readable(Part.name)
        if text is None:
            return None
        resolved = self.resolve(text)
        if resolved.unresolved:
            part.warning(f"{_describe_unresolved(resolved.unresolved)}; the fields are not known")
            return None
        if resolved.text not in self._schemas:
            self._schemas[resolved.text] = self._parse(resolved.text)
        return _schema_or_warning(self._schemas[resolved.text], part)

    def _parse_object(self, schema: dict[str, Any]) -> Schema | InvalidSchema:
        """Parse a schema given as an object instead of a string; return the error if it is invalid."""
        try:
            return self._parse(json.dumps(schema))
        except (RecursionError, ValueError, TypeError) as error:
            return InvalidSchema(str(error))

    def _parse(self, text: str) -> Schema | InvalidSchema:
        """Parse a schema or return its error; fields beyond the room in its text use up the spare ones."""
        try:
            schema = record_schema.parse_schema(text, spare_fields=self._spare_fields)
        except InvalidSchema as error:
            # A schema that was too large uses up the allowance, so that only one stage can have one.
            self._spare_fields = 0 if isinstance(error, TooManyFields) else self._spare_fields
            return error
        used = max(0, len(schema.types) - len(text) // FIELD_CHARS_MIN)
        self._spare_fields = max(0, self._spare_fields - used)
        return schema


def _schema_or_warning(schema: Schema | InvalidSchema, part: Part) -> Schema | None:
    """Return a schema, or add an error as a warning at `part` and return None."""
    if isinstance(schema, Schema):
        return schema
    part.warning(f"no schema of a record: {schema}; the fields are not known")
    return None


def _describe_unresolved(keys: tuple[str, ...]) -> str:
    """Return the text of a warning that lists macros without a value, cut to _SHOWN_CHARS characters."""
    macros = ", ".join(f"${{{key}}}" for key in keys)
    return f"no argument is given for {macros[:_SHOWN_CHARS]}"
