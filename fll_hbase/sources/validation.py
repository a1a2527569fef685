"""Collecting validator: checks the members of parsed JSON and keeps every error with its path.

A path is that of an object or array in the document, `operations.2`, empty at the top; methods that have both
`path` and `name` append the name.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from difflib import get_close_matches
from typing import Any, TypeVar

from fll_hbase.runtime.errors import ErrorList, FieldError, UnreadableDocument

# Names and ids are parts of row keys; docs/sources/openlineage.md states both limits.
NAME_BYTES_MAX = 4096
ID_BYTES_MAX = 1024

HALF = "holds half of a surrogate pair, which no UTF-8 has"

# Characters of an unknown member that is compared with known ones, which takes the square of its length.
_MEMBER_MAX = 64

_T = TypeVar("_T")
_Item = TypeVar("_Item")


class Validator:
    """Checks members of parsed JSON. An invalid member adds an error; the method returns a placeholder."""

    def __init__(self) -> None:
        self.errors = ErrorList()
        self.warnings = ErrorList()

    def error(self, path: str, detail: str) -> None:
        """Add an error at a JSON path. Raises UnreadableDocument with all errors if they are too many."""
        self.add(FieldError(path, detail))

    def add(self, error: FieldError) -> None:
        """Add an error; raises like `error`."""
        self.errors.append(error)
        # The rest of such a document is not worth reading: it may have millions of errors.
        if self.errors.is_full:
            raise UnreadableDocument(self.errors)

    def warning(self, path: str, detail: str) -> None:
        """Add a warning at a JSON path."""
        self.warnings.append(FieldError(path, detail))

    def leave_out(self, path: str, *, errors_before: int) -> bool:
        """Turn the errors after the first `errors_before` into warnings; return whether there are any.

        They are those of the part of the document at `path`, which the caller then leaves out: a broken part
        does not cost the others.
        """
        if self.errors.count == errors_before:
            return False
        count = self.errors.count - errors_before
        listed = self.errors.remove_after(errors_before)
        for error in listed:
            part = "left out" if path in ("", error.path) else f"{path} is left out"
            self.warning(error.path, f"{error.detail}; {part}")
        if count > len(listed):
            # Those that are counted only stay so.
            self.warnings.append(FieldError(path, "left out", count - len(listed)))
        return True

    def readable(self, items: Iterable[tuple[_Item, str]], read: Callable[[_Item, str], _T]) -> Iterator[_T]:
        """Yield what `read` returns of each item and its path; those with errors are left out."""
        for item, path in items:
            errors_before = self.errors.count
            value = read(item, path)
            if not self.leave_out(path, errors_before=errors_before):
                yield value

    def warn_type(self, value: object, path: str, expected: str) -> None:
        """Add the warning that a value has not the expected type, such as `an object`, and is left out."""
        self.warning(path, f"must be {expected}, is {_json_type(value)}; left out")

    def members(self, value: object, path: str, member_names: Collection[str]) -> dict[str, Any]:
        """Return a JSON object with all its members, {} for another value, which is an error.

        Each member that is not in `member_names` adds a warning, and is for the caller to ignore.
        """
        if not isinstance(value, dict):
            self.error(path, f"must be an object, is {_json_type(value)}")
            return {}
        for name in value:
            if name not in member_names and not self.warnings.is_full:
                near = get_close_matches(name, member_names, 1, 0.75) if len(name) <= _MEMBER_MAX else []
                advice = f"; did you mean {near[0]}?" if near and near[0] not in value else ""
                self.warning(child_path(path, name), f"unknown member, ignored{advice}")
        return value

    def items(self, holder: dict[str, Any], name: str, path: str, *, required: bool = False) -> list[Any]:
        """Return a JSON array; [] if it is missing, an error only if `required`, or no array, an error."""
        if name not in holder:
            if required:
                self.error(child_path(path, name), "missing")
            return []
        value = holder[name]
        if not isinstance(value, list):
            self.error(child_path(path, name), f"must be an array, is {_json_type(value)}")
            return []
        return value

    def required(self, holder: dict[str, Any], name: str, path: str, *, bytes_max: int | None = None) -> str:
        """Return a member that must be a string, present and not empty.

        `?` with an error if it is not, or if it has more than `bytes_max` bytes in UTF-8.
        """
        value = holder.get(name)
        # The fast path of nearly all members, see `name`; it needs no path.
        if type(value) is str and value.isascii() and 0 < len(value) <= (bytes_max or len(value)):
            return value
        if name not in holder:
            self.error(child_path(path, name), "missing")
            # With a placeholder the checks of other members go on, so that one answer lists every error.
            return "?"
        return self.name(value, child_path(path, name), bytes_max=bytes_max)

    def optional(self, holder: dict[str, Any], name: str, path: str, *, bytes_max: int | None = None) -> str:
        """Return a member that may be missing or empty, then ""; `?` with an error if it is invalid."""
        value = holder.get(name, "")
        return self.name(value, child_path(path, name), bytes_max=bytes_max) if value != "" else ""

    def name(self, value: object, path: str, *, bytes_max: int | None = None) -> str:
        """Return `value`, a non-empty string of at most `bytes_max` bytes in UTF-8; else `?` with an error.

        Here `path` is that of the value itself.
        """
        # The fast path of nearly all names: ASCII characters are bytes, so nothing has to be encoded.
        if type(value) is str and value.isascii() and 0 < len(value) <= (bytes_max or len(value)):
            return value
        if not isinstance(value, str):
            self.error(path, f"must be a string, is {_json_type(value)}")
        elif not value:
            self.error(path, "must not be empty")
        elif self._is_utf8(value, path):
            if bytes_max is None or len(value.encode()) <= bytes_max:
                return value
            self.error(path, f"is longer than {bytes_max} bytes")
        return "?"

    def choice(
        self, holder: dict[str, Any], name: str, path: str, choices: Collection[str], default: str
    ) -> str:
        """Return a string that must be one of `choices`; `default` if it is missing or wrong.

        A wrong one is an error, and so is a missing one if `default` is not a choice.
        """
        value = holder.get(name, default)
        if isinstance(value, str) and value in choices:
            return value
        data = repr(value) if isinstance(value, str) else _json_type(value)
        self.error(child_path(path, name), f"must be one of {', '.join(sorted(choices))}, is {data[:100]}")
        return default

    def integer(self, holder: dict[str, Any], name: str, path: str, *, below: int) -> int:
        """Return an integer from 0 (included) to `below` (excluded); 0 with an error for anything else."""
        value = holder.get(name)
        if name not in holder:
            self.error(child_path(path, name), "missing")
        # isinstance would accept True, because bool is a subclass of int.
        elif type(value) is not int:
            self.error(child_path(path, name), f"must be an integer, is {_json_type(value)}")
        elif not 0 <= value < below:
            self.error(child_path(path, name), f"must be from 0 to below {below}")
        else:
            return value
        return 0

    def _is_utf8(self, text: str, path: str) -> bool:
        try:
            text.encode()
        except UnicodeEncodeError:
            self.error(path, HALF)
            return False
        return True


def child_path(path: str, name: object) -> str:
    """Return the path of a member or item: `operations.2.inputs`."""
    return f"{path}.{name}" if path else str(name)


def items_with_path(items: list[Any], path: str) -> Iterator[tuple[Any, str]]:
    """Iterate over items with their paths."""
    for number, item in enumerate(items):
        yield item, child_path(path, number)


def _json_type(value: object) -> str:
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
