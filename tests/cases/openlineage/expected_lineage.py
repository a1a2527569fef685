"""What do events say: each run's field lineage by the words of OpenLineage, in the plainest way.

An oracle: it shares no line with the code it judges. The rules, and where they come from:

- `columnLineage` tells, for a field of an output, its input fields, each with transformations: DIRECT
  (the value) or INDIRECT (which rows, or which branch). The list `dataset` tells what shaped all of the
  output; its entries are indirect even where the agent types them DIRECT.
- An agent that does not write `dataset` repeats filters, joins, groupings and orders in every field: what
  every one of two or more fields has is of the whole output.
- Facets of a run's events add up: of each output the last facet by eventTime holds.
- An output without the facet, or an input that no facet takes a field of, is known to be related, not how.
- A run starts at its START, and a failure is not undone by what follows.
- A table renamed has the fields of the one it was. The agent doubles a directory in the path of one dropped.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeAlias

from .recorded import Event, by_run, datasets

Name: TypeAlias = tuple[str, str]
Ends: TypeAlias = tuple[Name | None, Name | None]
Edge: TypeAlias = tuple[Name, str, str]
"""A source field, and the field of an output that was made from it."""

OF_ROWS = {"FILTER", "JOIN", "GROUP_BY", "SORT"}
WHOLE, DIRECT, INDIRECT = "*", "direct", "indirect"


@dataclass
class Related:
    """What stands between two end points."""

    direct: set[tuple[str | None, str]] = field(default_factory=set)
    indirect: set[tuple[str, str]] = field(default_factory=set)
    whole: set[str] = field(default_factory=set)
    unknown: bool = False

    def pairs(self) -> set[tuple[str | None, str, str]]:
        """All pairs as an answer has them: what is direct is not told as indirect, too."""
        return (
            {(*pair, DIRECT) for pair in self.direct}
            | {(*pair, INDIRECT) for pair in self.indirect - self.direct}
            | {(start, WHOLE, WHOLE) for start in self.whole}
        )


@dataclass
class Run:
    """A run: when it started, whether it failed, and what it related to what."""

    run: str
    start_ms: int
    failed: bool
    sources: set[Name]
    outputs: set[Name]
    related: dict[Ends, Related] = field(default_factory=dict)

    def between(self, source: Name | None, output: Name) -> Related:
        return self.related.setdefault((source, output), Related())


@dataclass
class Facet:
    """What one output was made from; `fields` has those too that nothing was taken for."""

    fields: set[str] = field(default_factory=set)
    direct: set[Edge] = field(default_factory=set)
    indirect: set[Edge] = field(default_factory=set)
    whole: set[tuple[Name, str]] = field(default_factory=set)

    def taken(self) -> set[Name]:
        """The inputs of which a field was taken."""
        return {edge[0] for edge in (*self.direct, *self.indirect, *self.whole)}


def runs(told: Iterable[Event]) -> list[Run]:
    """All runs that the events tell of."""
    return [_run(run, of_run) for run, of_run in by_run(told).items()]


def merged(of: Iterable[Run]) -> dict[Ends, Related]:
    """What several runs say together."""
    found: dict[Ends, Related] = {}
    for run in of:
        for ends, related in run.related.items():
            sum_ = found.setdefault(ends, Related())
            sum_.direct |= related.direct
            sum_.indirect |= related.indirect
            sum_.whole |= related.whole
            sum_.unknown |= related.unknown
    return found


def time_ms(event: Event) -> int:
    return round(datetime.fromisoformat(event["eventTime"]).timestamp() * 1000)


def name_of(dataset: dict[str, Any]) -> Name:
    name = dataset["name"]
    change = dataset.get("facets", {}).get("lifecycleStateChange", {})
    if change.get("lifecycleStateChange") == "DROP":
        name = re.sub(r"(/[^/]+)\1/", r"\1/", name)
    return dataset["namespace"], name


def _run(run: str, told: Sequence[Event]) -> Run:
    told = sorted(told, key=time_ms)
    starts = [time_ms(event) for event in told if event["eventType"] == "START"]
    lists: dict[str, set[Name]] = {"inputs": set(), "outputs": set()}
    facets: dict[Name, Facet] = {}
    for event in told:
        said: dict[Name, Facet] = {}
        for which, dataset in datasets(event):
            lists[which].add(name_of(dataset))
            change = dataset.get("facets", {}).get("lifecycleStateChange", {})
            if change.get("previousIdentifier"):
                lists["inputs"].add(name_of(change["previousIdentifier"]))
            facet = _facet(dataset) if which == "outputs" else None
            if facet is not None:
                said[name_of(dataset)] = facet
        facets |= said
    kinds = {event["eventType"] for event in told}
    found = Run(
        run,
        min(starts or map(time_ms, told)),
        bool(kinds & {"FAIL", "ABORT"}),
        lists["inputs"] | {name for facet in facets.values() for name in facet.taken()},
        lists["outputs"],
    )
    _relate(found, facets)
    return found


def _relate(run: Run, facets: dict[Name, Facet]) -> None:
    taken = {name for facet in facets.values() for name in facet.taken()}
    for output in run.outputs:
        facet = facets.get(output, Facet())
        for source, start, end in facet.direct:
            run.between(source, output).direct.add((start, end))
        for source, start, end in facet.indirect:
            run.between(source, output).indirect.add((start, end))
        for source, start in facet.whole:
            run.between(source, output).whole.add(start)
        for name in facet.fields - {end for _, _, end in facet.direct}:
            run.between(None, output).direct.add((None, name))
        silent = not facet.fields and not facet.whole
        for source in run.sources if silent else run.sources - taken:
            run.between(source, output).unknown = True


def _facet(dataset: dict[str, Any]) -> Facet | None:
    facets = dataset.get("facets", {})
    change = facets.get("lifecycleStateChange", {})
    if "columnLineage" in facets:
        return _column_lineage(facets["columnLineage"])
    if change.get("lifecycleStateChange") == "RENAME" and "schema" in facets:
        was = name_of(change["previousIdentifier"])
        names = {column["name"] for column in facets["schema"]["fields"]}
        return Facet(names, direct={(was, name, name) for name in names})
    return None


def _column_lineage(said: dict[str, Any]) -> Facet:
    found = Facet(set(said["fields"]))
    shaping: list[set[tuple[Name, str, str]]] = []
    for name, column in said["fields"].items():
        rows: set[tuple[Name, str, str]] = set()
        for taken in column["inputFields"]:
            source = taken["namespace"], taken["name"]
            for transformation in taken["transformations"]:
                if transformation["type"] == "DIRECT":
                    found.direct.add((source, taken["field"], name))
                elif transformation["subtype"] in OF_ROWS:
                    rows.add((source, taken["field"], transformation["subtype"]))
                else:
                    found.indirect.add((source, taken["field"], name))
        shaping.append(rows)
    everywhere: set[tuple[Name, str, str]] = set()
    if "dataset" not in said and len(shaping) > 1:
        everywhere = set.intersection(*shaping)
    for name, rows in zip(said["fields"], shaping, strict=True):
        found.indirect |= {(source, start, name) for source, start, _ in rows - everywhere}
    found.whole = {(source, start) for source, start, _ in everywhere}
    found.whole |= {
        ((taken["namespace"], taken["name"]), taken["field"]) for taken in said.get("dataset", ())
    }
    return found
