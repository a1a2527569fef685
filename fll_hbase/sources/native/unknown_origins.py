"""Early refusal of documents with very many unknown origins, before their operations are built."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile
from typing import Any

from fll_hbase.model import lineage
from fll_hbase.runtime import deadline
from fll_hbase.runtime.errors import ERRORS_COUNTED_MAX, ErrorList, FieldError, InvalidLineage


def refuse_unknown_origins(items: list[Any]) -> None:
    """Raise InvalidLineage if so many inputs have unknown origins that further errors are not counted.

    Building the operations of half a million inputs takes seconds, and this document is refused anyway. As
    where reading stops at so many errors of shape, what comes after them is not looked at.
    """
    # Up to the first that is no object, since errors of shape are found by reading the operations.
    operations = list(takewhile(lambda item: isinstance(item, dict), items))
    if sum(len(_inputs(operation)) for operation in operations) >= ERRORS_COUNTED_MAX:
        errors = ErrorList(_find_errors(operations, _names(items)))
        if errors.is_full:
            raise InvalidLineage(errors)


def _names(items: list[Any]) -> set[str]:
    """Return the names of all operations."""
    names = (item.get("name") for item in items if isinstance(item, dict))
    return {name for name in names if isinstance(name, str)}


def _find_errors(operations: list[dict[str, Any]], names: set[str]) -> Iterator[FieldError]:
    """Yield an error for each input, by its path, whose origin is a text that is not among `names`."""
    for number, operation in enumerate(deadline.watched(operations)):
        for index, field in enumerate(_inputs(operation)):
            origin = field.get("origin") if isinstance(field, dict) else None
            if isinstance(origin, str) and origin not in names:
                yield lineage.unknown_origin(f"operations.{number}.inputs.{index}", origin)


def _inputs(operation: dict[str, Any]) -> list[Any]:
    """Return the inputs of an operation as sent, unchecked; [] if they are no list."""
    inputs = operation.get("inputs")
    return inputs if isinstance(inputs, list) else []
