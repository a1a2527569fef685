"""Names as one argument, `namespace/name.field`: every way to read it, and the one that is recorded."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fll_hbase.client.connection import Connection
from fll_hbase.model.datasets import Dataset
from fll_hbase.runtime.errors import FieldError, InvalidQuery, NotFound

READINGS_MAX = 64
"""Readings of one argument that are looked up; with more, names have to be given apart."""

NAMES_MAX = 1_000
"""Names of the catalogue among which near ones are searched."""

_SUGGESTIONS_MAX = 3


@dataclass(frozen=True, slots=True)
class Reading:
    """A namespace, or with a `name` a dataset, or with a `field` too a field of it."""

    namespace: str
    name: str = ""
    field: str = ""

    def __str__(self) -> str:
        """Return the names as one argument: `namespace`, `namespace/name` or `namespace/name.field`."""
        return f"{self.namespace}{self.name and '/'}{self.name}{self.field and '.'}{self.field}"

    @property
    def arguments(self) -> str:
        """Return the names as separate arguments, each in quotes."""
        return " ".join(repr(name) for name in (self.namespace, self.name, self.field) if name)


def dataset_readings(text: str) -> list[Reading]:
    """Return every way to read `namespace/name`, the shortest namespace first; empty without a `/` inside."""
    return [Reading(namespace, name) for namespace, name in _splits(text, "/")]


def field_readings(text: str) -> list[Reading]:
    """Return every way to read `namespace/name.field`; of a namespace the longest name first."""
    return [
        Reading(dataset.namespace, name, field)
        for dataset in dataset_readings(text)
        for name, field in reversed(list(_splits(dataset.name, ".")))
    ]


def _splits(text: str, separator: str) -> Iterator[tuple[str, str]]:
    """Yield both parts of a text for each place where it can be split, neither of them empty."""
    for position, character in enumerate(text):
        if character == separator and 0 < position < len(text) - 1:
            yield text[:position], text[position + 1 :]


def choose_reading(text: str, readings: Sequence[Reading], client: Connection) -> Reading:
    """Return the one reading that is recorded. Raises InvalidQuery for several.

    If none is, it is the first dataset whose namespace is recorded, else the first of all.
    """
    if len(readings) > READINGS_MAX:
        raise _ambiguous(f"{text[:100]!r} can be read in {len(readings)} ways")
    recorded = [reading for reading in readings if is_recorded(reading, client)]
    if len(recorded) > 1:
        raise _ambiguous(f"{text!r} is {' and '.join(reading.arguments for reading in recorded)}")
    if recorded:
        return recorded[0]
    # The error is about this one, and names what is near it.
    in_namespaces = (reading for reading in readings if reading.name)
    return next(
        (reading for reading in in_namespaces if is_recorded(Reading(reading.namespace), client)), readings[0]
    )


def is_recorded(reading: Reading, client: Connection) -> bool:
    """Return whether the namespace, dataset or field of a reading is in the catalogue. Takes one read."""
    # Sorted by code point, a name is the first of all that begin with it.
    if not reading.name:
        return bool(client.datasets(reading.namespace, limit=1).rows)
    if not reading.field:
        answer = client.datasets(reading.namespace, prefix=reading.name, limit=1)
        return [dataset.name for dataset in answer.body.datasets] == [reading.name]
    try:
        fields = client.fields(reading.namespace, reading.name, prefix=reading.field, limit=1)
    except NotFound:
        return False
    return [field.name for field in fields.body.fields] == [reading.field]


def suggest(reading: Reading, client: Connection) -> list[str]:
    """Return recorded names near one that is not, at most three; in three reads of 1,000 names at most."""
    if reading.name:
        datasets = client.datasets(reading.namespace, limit=NAMES_MAX).body.datasets
        names = [dataset.name for dataset in datasets]
        if reading.field and reading.name in names:
            return _near_fields(reading, client)
        if names:
            return [f"{reading.namespace}/{name}" for name in _near(reading.name, names)]
    return _near(reading.namespace, client.namespaces(limit=NAMES_MAX).body.namespaces)


def _near_fields(reading: Reading, client: Connection) -> list[str]:
    dataset = Dataset(reading.namespace, reading.name)
    fields = client.fields(reading.namespace, reading.name, limit=NAMES_MAX).body.fields
    return [f"{dataset}.{name}" for name in _near(reading.field, [field.name for field in fields])]


def _near(name: str, names: Sequence[str]) -> list[str]:
    """Return the names nearest to another, in any case, the nearest first."""
    folded: dict[str, list[str]] = {}
    for candidate in names:
        folded.setdefault(candidate.casefold(), []).append(candidate)
    # difflib takes quadratic time in the length of names, which may be 4,096 bytes.
    short = [text for text in folded if len(text) <= 2 * len(name) + 10] if len(name) <= 200 else []
    nearest = difflib.get_close_matches(name.casefold(), short, n=_SUGGESTIONS_MAX)
    return [candidate for text in nearest for candidate in folded[text]][:_SUGGESTIONS_MAX]


def _ambiguous(problem: str) -> InvalidQuery:
    """Return an InvalidQuery with a problem, and the advice to give names as separate arguments."""
    return InvalidQuery([FieldError("", f"{problem}: give the names as separate arguments")])
