"""Field lineage of each run, computed from its events in the plainest way.

An oracle: it shares no line with the code it judges. The rules, and where they come from:

- `columnLineage` tells, for a field of an output, its input fields, each with transformations: DIRECT
  (the value) or INDIRECT (which rows, or which branch). The list `dataset` tells what shaped all of the
  output; its entries are indirect even where the agent types them DIRECT.
- An agent that does not write `dataset` repeats filters, joins, groupings and orders in every field: what
  every one of two or more fields has is of the whole output.
- Facets of a run's events add up: of each output the last facet by eventTime holds.
- An output without the facet, or an input that no facet takes a field of, is known to be related, not how.
- A run starts at its START, and a failure is not undone by what follows.
- A file below a directory that is an input is of that input.
- A table renamed has the fields of the one it was. The agent doubles a directory in the path of one dropped.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeAlias

from tests.support.recorded_events import Event, by_run, datasets

Name: TypeAlias = tuple[str, str]
Ends: TypeAlias = tuple[Name | None, Name | None]
Edge: TypeAlias = tuple[Name, str, str]
"""A source field, and the field of an output that was made from it."""

ROW_KINDS = {"FILTER", "JOIN", "GROUP_BY", "SORT"}
WHOLE_DATASET, DIRECT, INDIRECT = "*", "direct", "indirect"


@dataclass
class Related:
    """Field pairs between two datasets."""

    direct: set[tuple[str | None, str]] = field(default_factory=set)
    indirect: set[tuple[str, str]] = field(default_factory=set)
    dataset_fields: set[str] = field(default_factory=set)
    unknown: bool = False

    def pairs(self) -> set[tuple[str | None, str, str]]:
        """All pairs as an answer has them: what is direct is not told as indirect, too."""
        return (
            {(*pair, DIRECT) for pair in self.direct}
            | {(*pair, INDIRECT) for pair in self.indirect - self.direct}
            | {(start, WHOLE_DATASET, WHOLE_DATASET) for start in self.dataset_fields}
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
    """Sources of one output; `fields` includes those without inputs."""

    fields: set[str] = field(default_factory=set)
    direct: set[Edge] = field(default_factory=set)
    indirect: set[Edge] = field(default_factory=set)
    dataset_fields: set[tuple[Name, str]] = field(default_factory=set)

    def inputs(self) -> set[Name]:
        """The inputs of which a field was taken."""
        return {edge[0] for edge in (*self.direct, *self.indirect, *self.dataset_fields)}


def runs(events_given: Iterable[Event]) -> list[Run]:
    """All runs that the events tell of."""
    return [_run(run, run_events_list) for run, run_events_list in by_run(events_given).items()]


def merged(runs_merged: Iterable[Run]) -> dict[Ends, Related]:
    """Merge the lineage of several runs."""
    merged_relations: dict[Ends, Related] = {}
    for run in runs_merged:
        for ends, related in run.related.items():
            relation = merged_relations.setdefault(ends, Related())
            relation.direct |= related.direct
            relation.indirect |= related.indirect
            relation.dataset_fields |= related.dataset_fields
            relation.unknown |= related.unknown
    return merged_relations


def time_ms(event: Event) -> int:
    return round(datetime.fromisoformat(event["eventTime"]).timestamp() * 1000)


def name_of(dataset: dict[str, Any]) -> Name:
    name = dataset["name"]
    change = dataset.get("facets", {}).get("lifecycleStateChange", {})
    if change.get("lifecycleStateChange") == "DROP":
        name = re.sub(r"(/[^/]+)\1/", r"\1/", name)
    return dataset["namespace"], name


def _run(run: str, events_given: Sequence[Event]) -> Run:
    events_given = sorted(events_given, key=time_ms)
    starts = [time_ms(event) for event in events_given if event["eventType"] == "START"]
    lists: dict[str, set[Name]] = {"inputs": set(), "outputs": set()}
    facets: dict[Name, Facet] = {}
    for event in events_given:
        facets_by_name: dict[Name, Facet] = {}
        inputs = {name_of(dataset) for role, dataset in datasets(event) if role == "inputs"}
        for role, dataset in datasets(event):
            lists[role].add(name_of(dataset))
            change = dataset.get("facets", {}).get("lifecycleStateChange", {})
            if change.get("previousIdentifier"):
                lists["inputs"].add(name_of(change["previousIdentifier"]))
            facet = _facet(dataset, inputs) if role == "outputs" else None
            if facet is not None:
                facets_by_name[name_of(dataset)] = facet
        facets |= facets_by_name
    kinds = {event["eventType"] for event in events_given}
    merged_relations = Run(
        run,
        min(starts or map(time_ms, events_given)),
        bool(kinds & {"FAIL", "ABORT"}),
        lists["inputs"] | {name for facet in facets.values() for name in facet.inputs()},
        lists["outputs"],
    )
    _relate(merged_relations, facets)
    return merged_relations


def _relate(run: Run, facets: dict[Name, Facet]) -> None:
    inputs = {name for facet in facets.values() for name in facet.inputs()}
    for output in run.outputs:
        facet = facets.get(output, Facet())
        for source, start, end in facet.direct:
            run.between(source, output).direct.add((start, end))
        for source, start, end in facet.indirect:
            run.between(source, output).indirect.add((start, end))
        for source, start in facet.dataset_fields:
            run.between(source, output).dataset_fields.add(start)
        for name in facet.fields - {end for _, _, end in facet.direct}:
            run.between(None, output).direct.add((None, name))
        silent = not facet.fields and not facet.dataset_fields
        for source in run.sources if silent else run.sources - inputs:
            run.between(source, output).unknown = True


def _facet(dataset: dict[str, Any], inputs: set[Name]) -> Facet | None:
    facets = dataset.get("facets", {})
    change = facets.get("lifecycleStateChange", {})
    if "columnLineage" in facets:
        return _column_lineage(facets["columnLineage"], inputs)
    if change.get("lifecycleStateChange") == "RENAME" and "schema" in facets:
        was = name_of(change["previousIdentifier"])
        names = {column["name"] for column in facets["schema"]["fields"]}
        return Facet(names, direct={(was, name, name) for name in names})
    return None


def _column_lineage(facets_by_name: dict[str, Any], declared: set[Name]) -> Facet:
    def input_of(field_input: dict[str, Any]) -> Name:
        namespace, name = field_input["namespace"], field_input["name"]
        above = [item for item in declared if item[0] == namespace and name.startswith(f"{item[1]}/")]
        return above[0] if len(above) == 1 else (namespace, name)

    merged_relations = Facet(set(facets_by_name["fields"]))
    shaping: list[set[tuple[Name, str, str]]] = []
    for name, column in facets_by_name["fields"].items():
        rows: set[tuple[Name, str, str]] = set()
        for inputs in column["inputFields"]:
            source = input_of(inputs)
            for transformation in inputs["transformations"]:
                if transformation["type"] == "DIRECT":
                    merged_relations.direct.add((source, inputs["field"], name))
                elif transformation["subtype"] in ROW_KINDS:
                    rows.add((source, inputs["field"], transformation["subtype"]))
                else:
                    merged_relations.indirect.add((source, inputs["field"], name))
        shaping.append(rows)
    everywhere: set[tuple[Name, str, str]] = set()
    if "dataset" not in facets_by_name and len(shaping) > 1:
        everywhere = set.intersection(*shaping)
    for name, rows in zip(facets_by_name["fields"], shaping, strict=True):
        merged_relations.indirect |= {(source, start, name) for source, start, _ in rows - everywhere}
    merged_relations.dataset_fields = {(source, start) for source, start, _ in everywhere}
    merged_relations.dataset_fields |= {
        (input_of(inputs), inputs["field"]) for inputs in facets_by_name.get("dataset", ())
    }
    return merged_relations
