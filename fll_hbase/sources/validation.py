"""What is wrong with a document: every member checked, every fault kept with its place."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from fll_hbase.errors import FieldError

NAME_BYTES_MAX = 4096
ID_BYTES_MAX = 1024


class Validator:
    """Takes members out of parsed JSON. A wrong one gives a fault, and a harmless value to go on with."""

    def __init__(self) -> None:
        self.errors: list[FieldError] = []
        self.warnings: list[FieldError] = []

    def error(self, at: str, detail: str) -> None:
        self.errors.append(FieldError(at, detail))

    def members(self, value: object, at: str, known: Collection[str]) -> dict[str, Any]:
        """A JSON object; members it does not know are ignored and named in the warnings."""
        if not isinstance(value, dict):
            self.error(at, f"must be an object, is {_kind(value)}")
            return {}
        for name in value:
            if name not in known:
                self.warnings.append(FieldError(inside(at, name), "unknown member, ignored"))
        return value

    def items(self, holder: dict[str, Any], name: str, at: str, *, required: bool = False) -> list[Any]:
        """A JSON array; absent means empty unless required."""
        if name not in holder:
            if required:
                self.error(inside(at, name), "missing")
            return []
        value = holder[name]
        if not isinstance(value, list):
            self.error(inside(at, name), f"must be an array, is {_kind(value)}")
            return []
        return value

    def required(self, holder: dict[str, Any], name: str, at: str, *, bytes_max: int | None = None) -> str:
        """A text that must be there and not be empty."""
        if name not in holder:
            self.error(inside(at, name), "missing")
            return "?"
        return self.name(holder[name], inside(at, name), bytes_max=bytes_max)

    def optional(self, holder: dict[str, Any], name: str, at: str, *, bytes_max: int | None = None) -> str:
        """A text that may be absent or empty."""
        value = holder.get(name, "")
        return self.name(value, inside(at, name), bytes_max=bytes_max) if value != "" else ""

    def name(self, value: object, at: str, *, bytes_max: int | None = None) -> str:
        """A text that is not empty and, as UTF-8, at most `bytes_max` long."""
        if type(value) is str and value.isascii() and 0 < len(value) <= (bytes_max or len(value)):
            return value
        if not isinstance(value, str):
            self.error(at, f"must be a string, is {_kind(value)}")
        elif not value:
            self.error(at, "must not be empty")
        elif self._sound(value, at):
            if bytes_max is None or len(value.encode()) <= bytes_max:
                return value
            self.error(at, f"is longer than {bytes_max} bytes")
        return "?"

    def choice(
        self, holder: dict[str, Any], name: str, at: str, choices: Collection[str], default: str
    ) -> str:
        """One of a few words."""
        value = holder.get(name, default)
        if isinstance(value, str) and value in choices:
            return value
        said = repr(value) if isinstance(value, str) else _kind(value)
        self.error(inside(at, name), f"must be one of {', '.join(sorted(choices))}, is {said[:100]}")
        return default

    def integer(self, holder: dict[str, Any], name: str, at: str, *, below: int) -> int:
        """A whole number from 0 to below a limit."""
        value = holder.get(name)
        if name not in holder:
            self.error(inside(at, name), "missing")
        elif type(value) is not int:
            self.error(inside(at, name), f"must be an integer, is {_kind(value)}")
        elif not 0 <= value < below:
            self.error(inside(at, name), f"must be from 0 to below {below}")
        else:
            return value
        return 0

    def _sound(self, text: str, at: str) -> bool:
        try:
            text.encode()
        except UnicodeEncodeError:
            self.error(at, "holds half of a surrogate pair, which no UTF-8 has")
            return False
        return True


def inside(at: str, name: object) -> str:
    """The place of a member or item."""
    return f"{at}.{name}" if at else str(name)


def each(items: list[Any], at: str) -> Iterator[tuple[Any, str]]:
    """Items with their places."""
    for number, item in enumerate(items):
        yield item, inside(at, number)


def _kind(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int():
            return "a number"
        case float():
            return "a fraction"
        case str():
            return "a string"
        case list():
            return "an array"
    return "an object"
