"""Names as one argument, `namespace/name.field`: every way to read it, and the reading that is recorded."""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING

from fll_hbase.runtime.errors import FieldError, InvalidQuery, NotFound

if TYPE_CHECKING:
    from fll_hbase.client.connection import Connection

READINGS_MAX = 64
"""Readings of one argument that are looked up. With more, names must be given separately."""

NAMES_MAX = 1_000
"""Names of the catalogue among which similar ones are searched."""

_SUGGESTIONS_MAX = 3
_SHOWN_MAX = 100


@dataclass(frozen=True, slots=True)
class Reading:
    """A namespace, a dataset if `name` is set, or a field of it if `field` is set, too."""

    namespace: str
    name: str = ""
    field: str = ""

    def __str__(self) -> str:
        """Return the names as one argument: `namespace`, `namespace/name` or `namespace/name.field`."""
        return f"{self.namespace}{self.name and '/'}{self.name}{self.field and '.'}{self.field}"

    @property
    def dataset(self) -> str:
        """Return the names without the field, as one argument."""
        return str(Reading(self.namespace, self.name))

    @property
    def arguments(self) -> str:
        """Return the names as separate arguments, each in quotes."""
        return " ".join(repr(name) for name in (self.namespace, self.name, self.field) if name)


def dataset_readings(text: str) -> list[Reading]:
    """Return every way to read `namespace/name`, the shortest namespace first, if it has a `/` inside."""
    return [Reading(namespace, name) for namespace, name in _splits(text, "/")]


def field_readings(text: str) -> list[Reading]:
    """Return every way to read `namespace/name.field`, by namespace, with the longest name first."""
    return [
        Reading(dataset.namespace, name, field)
        for dataset in dataset_readings(text)
        for name, field in reversed(list(_splits(dataset.name, ".")))
    ]


def _splits(text: str, separator: str) -> Iterator[tuple[str, str]]:
    """Yield both parts of a string for each place where it can be split without an empty part."""
    for position, character in enumerate(text):
        if character == separator and 0 < position < len(text) - 1:
            yield text[:position], text[position + 1 :]


def choose_reading(text: str, readings: Sequence[Reading], client: Connection) -> Reading:
    """Return the only reading that is recorded. Raises InvalidQuery for several.

    More than READINGS_MAX readings are an InvalidQuery, too, without a look at the catalogue.
    If no reading is recorded, return the first dataset in a recorded namespace, or else the first reading.
    """
    if len(readings) > READINGS_MAX:
        raise _ambiguous(f"{text[:100]!r} can be read in {len(readings)} ways")
    recorded = [reading for reading in readings if is_recorded(reading, client)]
    if len(recorded) > 1:
        raise _ambiguous(f"{text!r} is {' and '.join(reading.arguments for reading in recorded)}")
    if recorded:
        return recorded[0]
    # The later error is about this reading, and names similar ones.
    in_namespaces = (reading for reading in readings if reading.name)
    return next(
        (reading for reading in in_namespaces if is_recorded(Reading(reading.namespace), client)), readings[0]
    )


def is_recorded(reading: Reading, client: Connection) -> bool:
    """Return whether the namespace, dataset or field of a reading is in the catalogue. Takes one read."""
    # Names are sorted by code point, so a name comes before all others that begin with it.
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


def advise_form(names: Sequence[str], form: str) -> str:
    """Return the end of an error about arguments without a form such as `NS/NAME.FIELD`: what to do."""
    if not names:
        return ": `fll ls` lists namespaces, `fll find TEXT` finds datasets and fields"
    shown = [shlex.quote(name[:_SHOWN_MAX]) for name in names]
    has_dataset = len(names) == 2 or (len(names) == 1 and dataset_readings(names[0]))
    if form.endswith(".FIELD") and has_dataset:
        return f": FIELD is missing, `fll ls {' '.join(shown)}` lists the fields of a dataset"
    if len(names) == 1:
        listing = f"`fll ls {shown[0]}` lists the datasets of a namespace"
        return (
            f": {names[0][:_SHOWN_MAX]!r} is not of this form; {listing}, `fll find {shown[0]}` finds names"
        )
    if len(names) == 3 and "FIELD" not in form:
        return f", not 3 arguments: this is about datasets, `fll reach {' '.join(shown)}` about a field"
    return f", not {len(names)} arguments"


def suggest(reading: Reading, client: Connection) -> list[Reading]:
    """Return up to three recorded names, most similar first, that an unrecorded reading may mean.

    A dataset may turn out to be a field, and vice versa. The search takes at most four reads of 1,000 names,
    and one read of one name for each of the first 64 `.` or `/` in the names.
    """
    if reading.field:
        datasets = dataset_readings(str(reading))[:READINGS_MAX]
        if dataset := next((item for item in datasets if is_recorded(item, client)), None):
            return [dataset]
    if names := _dataset_names(reading.namespace, client) if reading.name else ():
        return _suggest_datasets(reading, names, client)
    near = _near(reading.namespace, client.namespaces(limit=NAMES_MAX).body.namespaces)
    if reading.name and near:
        other = replace(reading, namespace=near[0])
        if datasets := _suggest_datasets(other, _dataset_names(near[0], client), client):
            return datasets
    if not reading.name and not near and (datasets := dataset_readings(reading.namespace)):
        return suggest(datasets[0], client)
    return [Reading(namespace) for namespace in near]


def _suggest_datasets(reading: Reading, names: Sequence[str], client: Connection) -> list[Reading]:
    """Return the names that a dataset or field may mean among the datasets of its namespace."""
    if reading.name in names:
        return _suggest_fields(reading, client) if reading.field else [reading]
    if not reading.field:
        parts = islice(_splits(reading.name, "."), READINGS_MAX)
        fields = (Reading(reading.namespace, name, field) for name, field in parts if name in names)
        if field_reading := next((item for item in fields if is_recorded(item, client)), None):
            return [field_reading]
    near = [Reading(reading.namespace, name) for name in _near(reading.name, names)]
    if reading.field and near:
        return _suggest_fields(replace(near[0], field=reading.field), client) or near
    return near


def _suggest_fields(reading: Reading, client: Connection) -> list[Reading]:
    """Return fields of a reading's dataset whose names are similar to its field."""
    fields = client.fields(reading.namespace, reading.name, limit=NAMES_MAX).body.fields
    return [replace(reading, field=name) for name in _near(reading.field, [field.name for field in fields])]


def _dataset_names(namespace: str, client: Connection) -> list[str]:
    """Return the first 1,000 names of the datasets of a namespace."""
    return [dataset.name for dataset in client.datasets(namespace, limit=NAMES_MAX).body.datasets]


def _near(name: str, names: Sequence[str]) -> list[str]:
    """Return up to three names most similar to another, or only such as differ in case if there are any."""
    folded: dict[str, list[str]] = {}
    for candidate in names:
        folded.setdefault(candidate.casefold(), []).append(candidate)
    if same := folded.get(name.casefold()):
        return same[:_SUGGESTIONS_MAX]
    # The time of difflib is quadratic in the length of names, which may be 4,096 bytes.
    short = [text for text in folded if len(text) <= 2 * len(name) + 10] if len(name) <= 200 else []
    nearest = difflib.get_close_matches(name.casefold(), short, n=_SUGGESTIONS_MAX)
    return [candidate for text in nearest for candidate in folded[text]][:_SUGGESTIONS_MAX]


def _ambiguous(problem: str) -> InvalidQuery:
    """Return an InvalidQuery with a problem, and the advice to give names as separate arguments."""
    return InvalidQuery([FieldError("", f"{problem}: give the names as separate arguments")])
