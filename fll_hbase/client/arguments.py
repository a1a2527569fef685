"""Times and names of a caller in Python, checked before they become those of a query."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import TypeAlias

from fll_hbase.client.base import WindowText
from fll_hbase.model.datasets import Dataset
from fll_hbase.runtime.errors import FieldError, InvalidQuery

Time: TypeAlias = str | int | float | date
"""A time of the REST contract, seconds since 1970, a date (midnight in UTC), or a datetime with a zone."""


def window_text(start: Time, end: Time) -> WindowText:
    """Return a window as text of the REST contract. Raises InvalidQuery for each time without a zone."""
    errors = [
        FieldError(name, text) for name, time in (("start", start), ("end", end)) if (text := _fault(time))
    ]
    if errors:
        raise InvalidQuery(errors)
    return WindowText(_to_text(start), _to_text(end))


def _fault(time: Time) -> str:
    if isinstance(time, datetime) and time.tzinfo is None:
        return f"{time} is a time of day, which needs a zone: tzinfo=datetime.UTC, or another"
    return "is empty; leave it out for the default" if time == "" else ""


def _to_text(time: Time) -> str:
    match time:
        case str():
            return time
        case date():
            return time.isoformat()
        case _:
            # Not repr(), which writes great numbers with an exponent.
            return f"{Decimal(str(time)):f}"


def checked_dataset(namespace: str, name: str) -> Dataset:
    """Return a dataset. Raises InvalidQuery for an empty name."""
    check_names(namespace=namespace, name=name)
    return Dataset(namespace, name)


def check_names(**names: str) -> None:
    """Raise InvalidQuery for every name that is empty or cannot be encoded in UTF-8."""
    errors = [FieldError(argument, text) for argument, name in names.items() if (text := _name_fault(name))]
    if errors:
        raise InvalidQuery(errors)


def _name_fault(name: str) -> str:
    try:
        return "" if name.encode() else "is empty"
    except UnicodeEncodeError:
        return f"{name[:100]!r} is not UTF-8"


def check_count(name: str, count: int, *, greatest: int | None = None) -> None:
    """Raise InvalidQuery unless a count is a whole number from 1 to `greatest`."""
    if not isinstance(count, int) or count < 1 or (greatest is not None and count > greatest):
        bounds = "1 or more" if greatest is None else f"from 1 to {greatest}"
        raise InvalidQuery([FieldError(name, f"{count!r} is not possible; it is {bounds}")])


def check_word(name: str, word: str, *words: str) -> None:
    """Raise InvalidQuery unless a word is one of those that are possible."""
    if word not in words:
        raise InvalidQuery([FieldError(name, f"{word!r} is not possible; it is {', '.join(words)}")])
