"""Times and names of a caller in Python, checked before they become those of a query."""

from __future__ import annotations

from fll_hbase.client.base import WindowText
from fll_hbase.model.datasets import Dataset
from fll_hbase.queries.parameters import Time, count_fault, name_fault, time_fault, time_text, word_fault
from fll_hbase.runtime.errors import FieldError, InvalidQuery


def window_text(start: Time, end: Time) -> WindowText:
    """Return a window as text of the REST contract. Raises InvalidQuery for each time without a zone."""
    _check({"start": time_fault(start), "end": time_fault(end)})
    return WindowText(time_text(start), time_text(end))


def checked_dataset(namespace: str, name: str) -> Dataset:
    """Return a dataset. Raises InvalidQuery for an empty name."""
    check_names(namespace=namespace, name=name)
    return Dataset(namespace, name)


def check_names(**names: str) -> None:
    """Raise InvalidQuery for every name that is empty or cannot be encoded in UTF-8."""
    _check({argument: name_fault(name) for argument, name in names.items()})


def check_count(name: str, count: int) -> None:
    """Raise InvalidQuery unless a count is a whole number of 1 or more."""
    _check({name: count_fault(count)})


def check_word(name: str, word: str, *words: str) -> None:
    """Raise InvalidQuery unless a word is one of those that are possible."""
    _check({name: word_fault(word, words)})


def _check(faults: dict[str, str]) -> None:
    """Raise InvalidQuery with each argument that has a fault."""
    if errors := [FieldError(name, text) for name, text in faults.items() if text]:
        raise InvalidQuery(errors)
