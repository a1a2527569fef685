"""What does an event say of datasets: which were read and written, their fields, names and fates."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from fll_hbase.model import run_events
from fll_hbase.model.run_events import Column, Mention, Taken
from fll_hbase.sources.name_rules import NameRules
from fll_hbase.sources.openlineage import column_lineage
from fll_hbase.sources.openlineage.json_access import facet, listed, members, text
from fll_hbase.sources.validation import ID_BYTES_MAX, NAME_BYTES_MAX, Validator, each, inside

Name: TypeAlias = tuple[str, str]
"""Namespace and name of a dataset."""

DEPTH_MAX = 50
JOB = "JOB"
SPARK = "/integration/spark"
"""What the name of the Spark agent ends with where it says who produced an event."""

_LINEAGES = {"columnLineage": column_lineage.COLUMN_LINEAGE, "lineage": column_lineage.LINEAGE}
_TWICE = re.compile(r"(/[^/]+)\1(?=/)")
"""A directory named twice in a row: so the Spark agent tells of a table that was dropped."""


@dataclass(slots=True)
class _Dataset:
    """One dataset as an event lists it; `lineages` are its facets, not read yet, and where they stand."""

    name: Name
    written: bool
    at: str
    fields: dict[str, str] | None = None
    lineages: list[tuple[column_lineage.Shape, dict[str, Any], str]] = field(default_factory=list)
    aliases: set[Name] = field(default_factory=set)
    lifecycle: str = ""
    previous: Name | None = None
    description: str = ""


class Datasets:
    """Gathers the datasets of one event. `physical` tells namespace, logical and physical name."""

    def __init__(self, checks: Validator, rules: NameRules, *, producer: str) -> None:
        self._checks = checks
        self._rules = rules
        self._doubles = SPARK in producer
        self._found: list[_Dataset] = []
        self._places: dict[Name, int] = {}
        self._read: set[Name] = set()
        self.physical: set[tuple[str, str, str]] = set()

    @property
    def first(self) -> Name:
        """The dataset that was added first."""
        return self._found[0].name

    def add(self, item: object, at: str, *, written: bool) -> None:
        """One dataset of the event's lists."""
        said = members(self._checks, item, at)
        facets_at = inside(at, "facets")
        facets = members(self._checks, said.get("facets"), facets_at, optional=True)
        change = facet(self._checks, facets, "lifecycleStateChange", facets_at) or {}
        change_at = inside(facets_at, "lifecycleStateChange")
        lifecycle = text(self._checks, change, "lifecycleStateChange", change_at).upper()
        doubled = self._doubles and lifecycle == "DROP"
        found = _Dataset(self._named(said, at, doubled=doubled), written, at, lifecycle=lifecycle)
        if change.get("previousIdentifier") is not None:
            previous_at = inside(change_at, "previousIdentifier")
            found.previous = self._named(
                members(self._checks, change["previousIdentifier"], previous_at), previous_at
            )
        found.fields = self._fields(facets, facets_at)
        for name, shape in _LINEAGES.items() if written else ():
            lineage = facet(self._checks, facets, name, facets_at)
            if lineage is not None:
                found.lineages.append((shape, lineage, inside(facets_at, name)))
        found.aliases = set(self._aliases(facets, facets_at)) - {found.name}
        documentation = facet(self._checks, facets, "documentation", facets_at) or {}
        found.description = text(
            self._checks, documentation, "description", inside(facets_at, "documentation")
        )
        self._found.append(found)

    def add_entry(self, said: dict[str, Any], at: str) -> None:
        """One dataset that the lineage facet of a job tells of."""
        found = _Dataset(self._named(said, at), True, at)
        found.lineages.append((column_lineage.LINEAGE, said, at))
        self._found.append(found)

    def mentions(self) -> tuple[Mention, ...]:
        """All that was said, in the order of `end_points`; a dataset that is listed twice is one."""
        merged: dict[tuple[Name, bool], Mention] = {}
        paths = self._paths()
        for dataset in self._found:
            mention = self._mention(dataset, paths)
            key = dataset.name, dataset.written
            merged[key] = _both(merged[key], mention) if key in merged else mention
        for name in self._read - {name for name, written in merged if not written}:
            merged[name, False] = Mention(self._place(name), False)
        ordered = {name: place for place, name in enumerate(self.end_points())}
        places = [ordered[name] for name in self._places]
        moved = (run_events.moved(mention, places) for mention in merged.values())
        return tuple(sorted(moved, key=lambda one: (one.place, one.written)))

    def end_points(self) -> tuple[Name, ...]:
        """Every dataset that was named, sorted."""
        return tuple(sorted(self._places))

    def _mention(self, dataset: _Dataset, paths: dict[Name, dict[str, str]]) -> Mention:
        place = self._place(dataset.name)
        if dataset.previous is not None:
            self._place(dataset.previous)
        found = [self._lineage(dataset, paths, *lineage) for lineage in dataset.lineages]
        takes: dict[str, set[Taken]] = {}
        for column in (column for lineage in found for column in lineage.columns):
            takes.setdefault(column.name, set()).update(column.takes)
        return Mention(
            place=place,
            written=dataset.written,
            fields=None if dataset.fields is None else tuple(sorted(dataset.fields.items())),
            columns=_columns(takes) if found else None,
            whole=tuple(sorted({taken for lineage in found for taken in lineage.whole})),
            aliases=tuple(sorted(dataset.aliases)),
            lifecycle=dataset.lifecycle,
            previous=dataset.previous,
            description=dataset.description,
        )

    def _lineage(
        self,
        dataset: _Dataset,
        paths: dict[Name, dict[str, str]],
        shape: column_lineage.Shape,
        said: dict[str, Any],
        at: str,
    ) -> column_lineage.Lineage:
        def source(said: dict[str, Any], at: str) -> tuple[int, str] | None:
            if said.get("type") == JOB:
                return None
            name = self._named(said, at)
            place = self._place(name)
            if shape is column_lineage.LINEAGE and said.get("field") is None:
                self._read.add(name)
                return None
            taken = self._checks.required(said, "field", at, bytes_max=NAME_BYTES_MAX)
            return place, paths.get(name, {}).get(taken, taken)

        found = column_lineage.read(self._checks, said, at, source, shape)
        own = paths.get(dataset.name, {})
        return column_lineage.Lineage(
            tuple(Column(own.get(each.name, each.name), each.takes) for each in found.columns), found.whole
        )

    def _place(self, name: Name) -> int:
        return self._places.setdefault(name, len(self._places))

    def _named(self, said: dict[str, Any], at: str, *, doubled: bool = False) -> Name:
        namespace = self._checks.required(said, "namespace", at, bytes_max=ID_BYTES_MAX)
        name = self._checks.required(said, "name", at, bytes_max=NAME_BYTES_MAX)
        logical = self._rules.named(_TWICE.sub(r"\1", name) if doubled else name)
        if logical != name:
            self._checks.name(logical, at, bytes_max=NAME_BYTES_MAX)
            self.physical.add((namespace, logical, name))
        return namespace, logical

    def _fields(self, facets: dict[str, Any], at: str) -> dict[str, str] | None:
        said = facet(self._checks, facets, "schema", at)
        if said is None:
            return None
        return dict(self._typed(said, inside(at, "schema"), "", DEPTH_MAX))

    def _typed(self, holder: dict[str, Any], at: str, prefix: str, depth: int) -> Iterator[tuple[str, str]]:
        items = listed(self._checks, holder, "fields", at)
        if items and not depth:
            self._checks.error(at, f"nested more than {DEPTH_MAX} deep")
            return
        for item, place in each(items, inside(at, "fields")):
            said = members(self._checks, item, place)
            name = prefix + self._checks.required(said, "name", place, bytes_max=NAME_BYTES_MAX)
            self._checks.name(name, place, bytes_max=NAME_BYTES_MAX)
            yield name, text(self._checks, said, "type", place)
            yield from self._typed(said, place, f"{name}/", depth - 1)

    def _aliases(self, facets: dict[str, Any], at: str) -> Iterator[Name]:
        said = facet(self._checks, facets, "symlinks", at) or {}
        place = inside(at, "symlinks")
        for item, item_at in each(
            listed(self._checks, said, "identifiers", place), inside(place, "identifiers")
        ):
            yield self._named(members(self._checks, item, item_at), item_at)

    def _paths(self) -> dict[Name, dict[str, str]]:
        """By dataset, nested fields as lineage names them, `employees.name`, where a schema knows them."""
        found: dict[Name, dict[str, str]] = {}
        for dataset in self._found:
            fields = dataset.fields or {}
            nested = {path.replace("/", "."): path for path in fields if "/" in path}
            found.setdefault(dataset.name, {}).update(
                {said: path for said, path in nested.items() if said not in fields}
            )
        return found


def _both(one: Mention, other: Mention) -> Mention:
    """What two entries of a list say of one dataset; their order does not matter."""
    said: dict[str, set[Taken]] = {}
    for column in (*(one.columns or ()), *(other.columns or ())):
        said.setdefault(column.name, set()).update(column.takes)
    silent = one.columns is None and other.columns is None
    fields = dict(sorted((*(one.fields or ()), *(other.fields or ()))))
    return Mention(
        place=one.place,
        written=one.written,
        fields=None if one.fields is None and other.fields is None else tuple(sorted(fields.items())),
        columns=None if silent else _columns(said),
        whole=tuple(sorted({*one.whole, *other.whole})),
        aliases=tuple(sorted({*one.aliases, *other.aliases})),
        lifecycle=max(one.lifecycle, other.lifecycle),
        previous=max(one.previous or ("", ""), other.previous or ("", ""))
        if one.previous or other.previous
        else None,
        description=max(one.description, other.description),
    )


def _columns(takes: dict[str, set[Taken]]) -> tuple[Column, ...]:
    return tuple(Column(name, tuple(sorted(taken))) for name, taken in sorted(takes.items()))
