"""What does a facet say of lineage, in all its shapes: which source fields made each field, and how.

Of `columnLineage`, versions up to 1-0-2 tell the kind of a transformation once for a field, 1-1-0 for each
source field, and from 1-2-0 on what shaped the whole dataset stands in a list of its own. Before that agents
repeat it in every field; there it is taken out again, so that it is kept once. The facet `lineage` has other
names for the same, and sources without a field: their datasets are read, which fields of them is not known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from fll_hbase.model.operations import KINDS
from fll_hbase.model.run_events import Column, Taken
from fll_hbase.sources.openlineage.json_access import listed, members, text
from fll_hbase.sources.validation import NAME_BYTES_MAX, Validator, each, inside

Source: TypeAlias = Callable[[dict[str, Any], str], tuple[int, str] | None]
"""The place of the dataset that an input names, and its field; None where it names no field of one."""


class Shape(NamedTuple):
    """What a facet calls the sources of a field, and those of the whole dataset."""

    of_field: str
    of_whole: str


COLUMN_LINEAGE = Shape("inputFields", "dataset")
LINEAGE = Shape("inputs", "inputs")

OF_DATASETS = frozenset({"filter", "join", "group_by", "sort"})
"""What shapes rows, and with them every field alike."""

INDIRECT, MASKED = "INDIRECT", "MASKED"


@dataclass(frozen=True, slots=True)
class Lineage:
    """The fields of one dataset, sorted, and what shaped all of it."""

    columns: tuple[Column, ...]
    whole: tuple[Taken, ...]


def read(checks: Validator, facet: dict[str, Any], at: str, source: Source, shape: Shape) -> Lineage:
    """The lineage of one output; without fields whose sources are told, but not which fields of them."""
    columns: dict[str, set[Taken]] = {}
    fields_at = inside(at, "fields")
    for name, item in members(checks, facet.get("fields"), fields_at, optional=True).items():
        place = inside(fields_at, name)
        said = members(checks, item, place)
        how = _how_of_field(checks, said, place)
        made = checks.name(name, place, bytes_max=NAME_BYTES_MAX)
        takes = set(_inputs(checks, said, shape.of_field, place, source, how))
        if takes or not said.get(shape.of_field):
            columns[made] = takes
    whole = {
        Taken(taken.place, taken.field, False, taken.kind, "")
        for taken in _inputs(checks, facet, shape.of_whole, at, source, "")
    }
    if shape.of_whole not in facet and len(columns) > 1:
        whole = {taken for taken in set.intersection(*columns.values()) if taken.kind in OF_DATASETS}
        columns = {name: takes - whole for name, takes in columns.items()}
    return Lineage(
        tuple(Column(name, tuple(sorted(takes))) for name, takes in sorted(columns.items())),
        tuple(sorted(whole)),
    )


def _inputs(
    checks: Validator, holder: dict[str, Any], name: str, at: str, source: Source, how: str
) -> Iterator[Taken]:
    for item, place in each(listed(checks, holder, name, at), inside(at, name)):
        said = members(checks, item, place)
        found = source(said, place)
        if found is None:
            continue
        of, field = found
        transformations = listed(checks, said, "transformations", place)
        for transformation, where in each(transformations, inside(place, "transformations")):
            yield _taken(checks, transformation, where, of, field)
        if not transformations:
            yield Taken(of, field, True, "", how)


def _taken(checks: Validator, item: object, at: str, place: int, field: str) -> Taken:
    said = members(checks, item, at)
    type_ = text(checks, said, "type", at, required=True).upper()
    subtype = text(checks, said, "subtype", at)
    description = text(checks, said, "description", at)
    if type_ == INDIRECT:
        kind = subtype.lower()
        return Taken(place, field, False, kind if kind in KINDS else "", description)
    masked = said.get("masking") is True
    return Taken(place, field, True, "", _how(subtype, description, masked=masked))


def _how_of_field(checks: Validator, said: dict[str, Any], at: str) -> str:
    type_ = text(checks, said, "transformationType", at)
    description = text(checks, said, "transformationDescription", at)
    masked = type_.upper() == MASKED
    return _how("" if masked else type_, description, masked=masked)


def _how(subtype: str, description: str, *, masked: bool) -> str:
    """What was done with a value, in words: `TRANSFORMATION: sha2(email), masked`."""
    said = ": ".join(piece for piece in (subtype, description) if piece)
    return ", ".join(piece for piece in (said, "masked" if masked else "") if piece)
