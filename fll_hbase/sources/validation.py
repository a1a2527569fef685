"""Parts of parsed JSON with their paths, and a validator that collects every error of a document.

A path such as `operations.2` leads to an object or array in the document. The top has an empty path.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from difflib import get_close_matches
from typing import Any, Self, TypeVar

from fll_hbase.model.window import START_LIMIT_MS
from fll_hbase.runtime import deadline
from fll_hbase.runtime.deadline import ITEMS_PER_LOOK
from fll_hbase.runtime.errors import ErrorList, FieldError, UnreadableDocument

# Names and ids are parts of row keys; docs/record/openlineage.md states both limits.
NAME_BYTES_MAX = 4096
ID_BYTES_MAX = 1024

HALF = "contains a lone surrogate, which UTF-8 cannot encode"

LISTS_PER_LOOK = 8
"""Lists and objects between two looks at the deadline; most have few parts."""

# An unknown member up to this length is compared with known ones, in time quadratic in its length.
_MEMBER_MAX = 64

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_ZONE_NAME = re.compile(r"\[[^\[\]]*\]$")
_LEAP_SECOND = re.compile(r"(?<=T\d\d:\d\d):60(?=\D)")

_NO_MEMBERS: dict[str, Any] = {}
_TYPES = {bool: "a boolean", int: "a number", float: "a fraction", str: "a string", list: "an array"}
_T = TypeVar("_T")


class Validator:
    """Collects the errors of a document, warnings about parts that are left out, and errors of `refuse`."""

    def __init__(self) -> None:
        self.errors = ErrorList()
        self.warnings = ErrorList()
        self.refused = ErrorList()
        self._lists = 0

    def look(self, number: int) -> None:
        """Call `deadline.check_reading`, for a first item (number 0) only once in LISTS_PER_LOOK calls.

        Each list and object calls this before each ITEMS_PER_LOOK items, so that reading stops in time.
        """
        self._lists += not number
        if number or not self._lists % LISTS_PER_LOOK:
            deadline.check_reading()

    def error(self, path: str, detail: str) -> None:
        """Add an error at a JSON path. Raises UnreadableDocument with all errors at ERRORS_COUNTED_MAX."""
        self.errors.append(FieldError(path, detail))
        # The rest of such a document is not worth reading, since it may have millions of errors.
        if self.errors.is_full:
            raise UnreadableDocument(self.errors)

    def check(self) -> None:
        """Raise UnreadableDocument with all errors so far, if there are any."""
        if self.errors:
            raise UnreadableDocument(self.errors)

    def warning(self, path: str, detail: str) -> None:
        """Add a warning at a JSON path."""
        self.warnings.append(FieldError(path, detail))

    def leave_out(self, path: str, *, errors_before: int) -> bool:
        """Turn the errors after the first `errors_before` into warnings; return whether there are any.

        The caller leaves out the part of the document at `path`, so that it does not affect others.
        """
        if self.errors.count == errors_before:
            return False
        count = self.errors.count - errors_before
        listed = self.errors.remove_after(errors_before)
        for error in listed:
            part = "left out" if path in ("", error.path) else f"{path} is left out"
            self.warning(error.path, f"{error.detail}; {part}")
        if count > len(listed):
            # Errors that are only counted become warnings that are only counted.
            self.warnings.append(FieldError(path, "left out", count - len(listed)))
        return True

    def refuse(self, *, errors_before: int) -> bool:
        """Move the errors after the first `errors_before` to `refused`; return whether there are any.

        These errors belong to one of several documents in one text, and do not affect the others.
        """
        if self.errors.count == errors_before:
            return False
        count = self.errors.count - errors_before
        listed = self.errors.remove_after(errors_before)
        self.refused.extend(listed)
        if count > len(listed):
            self.refused.append(FieldError("", "more errors are not listed", count - len(listed)))
        return True

    def name(self, value: object, path: str, *, bytes_max: int | None = None) -> str:
        """Return a value at `path`, a string of 1 to `bytes_max` bytes in UTF-8, else `?` with an error."""
        # The fast path of nearly all names: ASCII characters are bytes, so encoding is not needed.
        if type(value) is str and value.isascii() and 0 < len(value) <= (bytes_max or len(value)):
            return value
        if not isinstance(value, str):
            self.error(path, f"must be a string, is {_json_type(value)}")
        elif not value:
            self.error(path, "must not be empty")
        else:
            try:
                size_bytes = len(value.encode())
            except UnicodeEncodeError:
                self.error(path, HALF)
                return "?"
            if bytes_max is None or size_bytes <= bytes_max:
                return value
            self.error(path, f"is longer than {bytes_max} bytes")
        return "?"


class Part:
    """A value of a document at a path, and methods to read its members, which only an object has.

    Invalid data adds an error and returns a placeholder. `text`, `optional_object` and `optional_items` are
    tolerant: null counts as missing, and a value of the wrong type is left out with a warning.
    """

    __slots__ = ("members", "path", "validator", "value")

    def __init__(self, validator: Validator, value: object, path: str = "") -> None:
        self.validator = validator
        self.value: Any = value
        self.path = path
        self.members: dict[str, Any] = value if isinstance(value, dict) else _NO_MEMBERS

    def __contains__(self, name: str) -> bool:
        """Return whether the value is an object that has this member, even if the member is null."""
        return name in self.members

    @property
    def is_object(self) -> bool:
        """Return whether the value is an object."""
        return isinstance(self.value, dict)

    def get(self, name: str, default: object = None) -> Any:
        """Return the value of a member, or `default` if it is missing."""
        return self.members.get(name, default)

    def path_of(self, name: object) -> str:
        """Return the path of a member."""
        return child_path(self.path, name)

    def member(self, name: str, default: object = None) -> Part:
        """Return the member `name` as a part at its path, with the value `default` if it is missing."""
        return Part(self.validator, self.members.get(name, default), self.path_of(name))

    def member_parts(self) -> Iterator[tuple[str, Part]]:
        """Yield name and part of each member of an object, in order; nothing for other values."""
        validator, prefix = self.validator, self.path and f"{self.path}."
        for number, (name, value) in enumerate(self.members.items()):
            if not number % ITEMS_PER_LOOK:
                validator.look(number)
            yield name, Part(validator, value, f"{prefix}{name}")

    def error(self, detail: str, name: str = "") -> None:
        """Add an error about the value or a member. Raises UnreadableDocument as `Validator.error` does."""
        self.validator.error(self.path_of(name) if name else self.path, detail)

    def warning(self, detail: str, name: str = "") -> None:
        """Add a warning about the value or its member `name`."""
        self.validator.warning(self.path_of(name) if name else self.path, detail)

    def as_object(self) -> Self:
        """Return this part; add an error unless its value is an object."""
        if not self.is_object:
            self.error(f"must be an object, is {_json_type(self.value)}")
        return self

    def with_members(self, *names: str) -> Part:
        """Return this part; add an error unless it is an object, and a warning for each other member."""
        for name in self.as_object().members:
            if name not in names and not self.validator.warnings.is_full:
                near = get_close_matches(name, names, 1, 0.75) if len(name) <= _MEMBER_MAX else []
                advice = f"; did you mean {near[0]}?" if near and near[0] not in self else ""
                self.warning(f"unknown member, ignored{advice}", name)
        return self

    def required(self, name: str, *, bytes_max: int | None = None) -> str:
        """Return a required member, a non-empty string of at most `bytes_max` bytes in UTF-8.

        For anything else, return `?` and add an error.
        """
        value = self.members.get(name)
        # The fast path of nearly all members (see `Validator.name`). It needs no path.
        if type(value) is str and value.isascii() and 0 < len(value) <= (bytes_max or len(value)):
            return value
        if name not in self.members:
            self.error("missing", name)
            # A placeholder lets checks of other members go on, so that one response lists every error.
            return "?"
        return self.validator.name(value, self.path_of(name), bytes_max=bytes_max)

    def optional(self, name: str, *, bytes_max: int | None = None) -> str:
        """Return an optional string; "" if it is missing or empty, `?` with an error if null or invalid."""
        value = self.members.get(name, "")
        return self.validator.name(value, self.path_of(name), bytes_max=bytes_max) if value != "" else ""

    def name(self, *, bytes_max: int | None = None) -> str:
        """Return the value, a string of 1 to `bytes_max` bytes in UTF-8, else `?` with an error."""
        return self.validator.name(self.value, self.path, bytes_max=bytes_max)

    def choice(self, name: str, choices: Collection[str], default: str) -> str:
        """Return a string that must be one of `choices`, or `default` if it is missing or wrong.

        A wrong value is an error. A missing value is an error, too, if `default` is not in `choices`.
        """
        value = self.members.get(name, default)
        if isinstance(value, str) and value in choices:
            return value
        data = repr(value) if isinstance(value, str) else _json_type(value)
        self.error(f"must be one of {', '.join(sorted(choices))}, is {data[:100]}", name)
        return default

    def integer(self, name: str, *, below: int) -> int:
        """Return an integer from 0 (included) to `below` (excluded); 0 with an error for anything else."""
        value = self.members.get(name)
        if name not in self.members:
            self.error("missing", name)
        # isinstance would accept True, because bool is a subclass of int.
        elif type(value) is not int:
            self.error(f"must be an integer, is {_json_type(value)}", name)
        elif not 0 <= value < below:
            self.error(f"must be from 0 to below {below}", name)
        else:
            return value
        return 0

    def time_ms(self, name: str) -> int:
        """Return a required ISO 8601 time in ms since 1970, rounded down. The default zone is UTC.

        Extensions of RFC 3339 and RFC 9557 are allowed: a lower-case `z`, a leap second, and a zone's name
        after the offset, as of Java's ZonedDateTime. A missing, invalid or earlier time is 0, with an error.
        """
        errors_before = self.validator.errors.count
        given = self.required(name)
        if self.validator.errors.count > errors_before:
            return 0
        try:
            time = _parse_time(given)
            elapsed = (time if time.tzinfo else time.replace(tzinfo=UTC)) - _EPOCH
        except (ValueError, OverflowError):
            self.error(f"{given[:100]!r} is not a time such as 2026-01-31T09:30:00.000Z", name)
            return 0
        # Computed in integers: `timestamp() * 1000` is a float and can be one millisecond off.
        time_ms = (elapsed.days * 86_400 + elapsed.seconds) * 1_000 + elapsed.microseconds // 1_000
        if not 0 <= time_ms < START_LIMIT_MS:
            self.error(f"{given[:100]!r} is before 1970", name)
        return max(time_ms, 0)

    def items(self, name: str, *, required: bool = False) -> Iterator[Part]:
        """Return the items of an array, none if it is missing; add an error for null or another type.

        A missing array is an error only if it is `required`.
        """
        value = self.members.get(name, [])
        if required and name not in self.members:
            self.error("missing", name)
        elif not isinstance(value, list):
            self.error(f"must be an array, is {_json_type(value)}", name)
        return self.member(name).listed()

    def listed(self) -> Iterator[Self]:
        """Return the items of the value if it is an array, else none, without an error."""
        item, validator, prefix = type(self), self.validator, self.path and f"{self.path}."
        for number, value in enumerate(self.value if isinstance(self.value, list) else ()):
            if not number % ITEMS_PER_LOOK:
                validator.look(number)
            yield item(validator, value, f"{prefix}{number}")

    def text(self, name: str) -> str:
        """Return a string; "" if it is missing, null, empty or, with a warning, invalid."""
        value = self.members.get(name)
        if value is None:
            return ""
        # The fast path of nearly all texts (see `Validator.name`).
        if type(value) is str and value.isascii():
            return value
        return self.member(name).readable(Part.name) or ""

    def optional_object(self, name: str) -> Part:
        """Return a member, which may be missing; add a warning unless it is an object or null."""
        value = self.members.get(name)
        part = Part(self.validator, value, f"{self.path}.{name}" if self.path else name)
        # Most members are missing: an event has only few of the requested facets.
        return part if value is None else part.as_optional_object()

    def as_optional_object(self) -> Part:
        """Return this part; add a warning unless its value is an object or null."""
        if self.value is not None and not self.is_object:
            self.warn_type("an object")
        return self

    def optional_items(self, name: str) -> Iterator[Part]:
        """Return the items of an array, none if it is missing, null or, with a warning, of another type."""
        if self.members.get(name) is None:
            return iter(())
        member = self.member(name)
        if not isinstance(member.value, list):
            member.warn_type("an array")
        return member.listed()

    def warn_type(self, expected: str) -> None:
        """Warn that the value lacks the expected type, such as `an object`, and is left out."""
        self.warning(f"must be {expected}, is {_json_type(self.value)}; left out")

    def readable(self, read: Callable[[Part], _T]) -> _T | None:
        """Return the result of `read` for this part, or None if it adds errors, which become warnings."""
        errors_before = self.validator.errors.count
        value = read(self)
        return None if self.leave_out(errors_before=errors_before) else value

    def leave_out(self, *, errors_before: int) -> bool:
        """Turn errors after the first `errors_before` into warnings, as `Validator.leave_out` does."""
        return self.validator.leave_out(self.path, errors_before=errors_before)


def readable(parts: Iterable[Part], read: Callable[[Part], _T | None]) -> Iterator[_T]:
    """Yield the results of `read`; skip None, and parts with errors, which become warnings."""
    for part in parts:
        value = part.readable(read)
        if value is not None:
            yield value


def child_path(path: str, name: object) -> str:
    """Return the path of a member or item: `operations.2.inputs`."""
    return f"{path}.{name}" if path else str(name)


def _parse_time(given: str) -> datetime:
    """Parse an ISO 8601 time, maybe with a zone name or leap second. Raises ValueError or OverflowError."""
    try:
        return datetime.fromisoformat(given)
    # Only rare forms of times reach this.
    except ValueError:
        offset_time = _ZONE_NAME.sub("", given).upper()
        if offset_time != given or _LEAP_SECOND.search(given):
            time, leaps = _LEAP_SECOND.subn(":59", offset_time)
            # Like POSIX, count a leap second as the first second of the next minute.
            return datetime.fromisoformat(time) + timedelta(seconds=leaps)
        raise


def _json_type(value: object) -> str:
    """Return the name of a JSON value's type in errors, with an article (`a string`), or `null`."""
    return "null" if value is None else _TYPES.get(type(value), "an object")
