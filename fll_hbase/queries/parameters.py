"""Parameters of queries, stated once for all fronts: type, default, bounds and help."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from functools import cache
from numbers import Real
from types import MappingProxyType, NoneType, UnionType
from typing import Annotated, Any, Literal, TypeAlias, get_args, get_origin, get_type_hints

Time: TypeAlias = str | int | float | date
"""A time of the REST contract, seconds since 1970, a date (midnight in UTC), or a datetime with a zone."""

FlowDirection: TypeAlias = Literal["backward", "forward"]
AnyDirection: TypeAlias = Literal["both", "backward", "forward"]
RunState: TypeAlias = Literal["RUNNING", "COMPLETE", "FAIL", "ABORT"]


class Kind(Enum):
    """Kind of the values of a parameter."""

    TEXT = "text"
    TIME = "time"
    COUNT = "count"
    FLAG = "flag"
    WORD = "word"


@dataclass(frozen=True, slots=True)
class About:
    """Annotation of a parameter: its help, bounds and name in URLs.

    `name` is the name in URLs if it differs from the attribute. `minimum` and `maximum` bound counts and the
    lengths of texts. `empty` is the error text for an empty value. Words in URLs may be `in_any_case`.
    `text_fault` returns what is wrong with a text that is not empty, or "" if it is valid.
    """

    help: str = ""
    name: str = ""
    minimum: int | None = None
    maximum: int | None = None
    empty: str = "is empty"
    in_any_case: bool = False
    text_fault: Callable[[str], str] | None = None


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a query: `attribute` in Python, `name` in URLs; `words` are the values of a WORD."""

    attribute: str
    name: str
    kind: Kind
    required: bool
    default: Any
    about: About
    words: tuple[str, ...] = ()

    def to_text(self, value: Any) -> str:
        """Return a value as the text of a URL, or "" for a value that means "absent"."""
        match self.kind:
            case Kind.FLAG:
                return str(value).lower()
            case Kind.TIME:
                return "" if value is None else time_text(value)
            case _:
                return "" if value is None else str(value)

    def fault(self, value: Any) -> str:
        """Return what is wrong with a value from Python code, or "" for a valid value.

        Texts of times are not parsed, and lengths of texts are not compared with `minimum`.
        """
        if self.kind is Kind.TEXT and (value is None or value == ""):
            return self._empty_fault(value)
        # These values mean "absent", unless the parameter is required.
        if not self.required and self.default in (None, "") and (value is None or value == self.default):
            return ""
        match self.kind:
            case Kind.TIME:
                return time_fault(value)
            case Kind.COUNT:
                return count_fault(value, minimum=self.about.minimum, maximum=self.about.maximum)
            case Kind.WORD:
                return word_fault(value, self.words)
            case Kind.TEXT:
                fault = name_fault(value)
                return fault if fault or self.about.text_fault is None else self.about.text_fault(value)
            case Kind.FLAG:
                return flag_fault(value)

    def _empty_fault(self, value: Any) -> str:
        """Return what is wrong with `value`, which is None or "", or "" if it may be empty."""
        return self.about.empty if self.required or (value == "" and self.default is None) else ""


IN_BODY: Any = MappingProxyType({"in_body": True})
"""Metadata of a dataclass field that a request has in its body, so that it is no parameter of the URL."""


@cache
def parameters(query: type[Any]) -> tuple[Parameter, ...]:
    """Return the parameters of a query, a dataclass, in their order, without those `IN_BODY`."""
    hints = get_type_hints(query, include_extras=True)
    return tuple(
        _parameter(field, hints[field.name])
        for field in dataclasses.fields(query)
        if "in_body" not in field.metadata
    )


def _parameter(field: dataclasses.Field[Any], hint: Any) -> Parameter:
    """Return the parameter of a dataclass field from its type hint, which `About` may annotate."""
    about = About()
    if get_origin(hint) is Annotated:
        hint, *annotations = get_args(hint)
        about = next((item for item in annotations if isinstance(item, About)), about)
    kind, words = _kind(hint)
    required = field.default is dataclasses.MISSING
    default = None if required else field.default
    return Parameter(field.name, about.name or field.name, kind, required, default, about, words)


def _kind(hint: Any) -> tuple[Kind, tuple[str, ...]]:
    """Return the kind of a parameter by its type hint, and the words that a Literal allows."""
    if hint in (Time, Time | None):
        return Kind.TIME, ()
    if get_origin(hint) is Literal:
        return Kind.WORD, tuple(word for word in get_args(hint) if word)
    if isinstance(hint, UnionType):
        (hint,) = (item for item in get_args(hint) if item is not NoneType)
        return _kind(hint)
    return {bool: Kind.FLAG, int: Kind.COUNT, str: Kind.TEXT}[hint], ()


def time_text(time: Time) -> str:
    """Return a time as text of the REST contract: a text as it is, dates in ISO 8601, digits of a number."""
    match time:
        case str():
            return time
        case date():
            return time.isoformat()
        case _:
            # repr() would write large numbers with an exponent.
            return f"{Decimal(str(time)):f}"


def time_fault(time: Any) -> str:
    """Return what is wrong with a time: empty, without a zone, or of another type; "" if it is valid.

    A text is not parsed.
    """
    if time is None or time == "":
        return "is empty; leave it out for the default"
    if isinstance(time, bool) or not isinstance(time, str | date | Real | Decimal):
        return f"{time!r} is not a time: give a text, seconds since 1970, a date or a datetime"
    if isinstance(time, datetime) and time.tzinfo is None:
        return f"{time} is a time of day, which needs a zone: tzinfo=datetime.UTC, or another"
    return ""


def count_fault(count: Any, *, minimum: int | None = 1, maximum: int | None = None) -> str:
    """Return what is wrong with a whole number from `minimum` (1 if None) to `maximum`, or "" if valid."""
    least = 1 if minimum is None else minimum
    is_number = isinstance(count, int) and not isinstance(count, bool)
    if is_number and count >= least and (maximum is None or count <= maximum):
        return ""
    bounds = f"{least} or more" if maximum is None else f"from {least} to {maximum}"
    return f"invalid value {count!r}: expected {bounds}"


def flag_fault(flag: Any) -> str:
    """Return what is wrong with a flag, or "" if it is valid."""
    return "" if isinstance(flag, bool) else f"invalid value {flag!r}: expected True or False"


def word_fault(word: Any, words: tuple[str, ...]) -> str:
    """Return what is wrong with a word, or "" if it is one of `words`."""
    return "" if word in words else f"invalid value {word!r}: expected {_alternatives(words)}"


def _alternatives(words: tuple[str, ...]) -> str:
    """Return words as "a, b or c"."""
    return " or ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def name_fault(name: Any) -> str:
    """Return what is wrong with a name: not a string, empty or not UTF-8; "" if it is valid."""
    if not isinstance(name, str):
        return f"{name!r} is not a text"
    try:
        return "" if name.encode() else "is empty"
    except UnicodeEncodeError:
        return f"{name[:100]!r} is not UTF-8"
