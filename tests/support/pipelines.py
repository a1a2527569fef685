"""Strategies for pipeline configs whose fields are all known, with their expected lineage."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from hypothesis import strategies as st

Json = dict[str, Any]
Fields = dict[str, frozenset[tuple[str, str]]]
"""Source fields by field name, each with the name of the stage that reads it."""

RUN: Json = {"application": "etl", "type": "spark", "program": "p", "run": "r1", "startTime": 10**12}
SINK: Json = {"name": "out", "plugin": {"type": "batchsink"}}
NAMES = ("x", "y", "z", "a.b", "s0.x", "p/q")


@dataclass
class ExpectedLineage:
    """Lineage found by a walk over the stages: fields written by sink, and source fields dropped."""

    written: dict[str, Fields] = field(default_factory=dict)
    dropped: set[tuple[str, str]] = field(default_factory=set)


def record(names: Any) -> Json:
    return {"type": "record", "name": "r", "fields": [{"name": name, "type": "string"} for name in names]}


def source(name: str, names: Any) -> Json:
    return {"name": name, "plugin": {"type": "batchsource", "properties": {"schema": record(names)}}}


def document(stages: list[Json], connections: list[tuple[str, str]], **members: Any) -> Json:
    arrows = [{"from": origin, "to": target} for origin, target in connections]
    return {"run": RUN, "config": {"stages": stages, "connections": arrows}, **members}


def chain(*stages: Json, **members: Any) -> Json:
    """A document with stages connected one after the other."""
    names = [stage["name"] for stage in stages]
    return document([*stages], [*pairwise(names)], **members)


@st.composite
def known_pipelines(draw: st.DrawFn) -> tuple[Json, ExpectedLineage]:
    """A pipeline with its stages in any order, and the lineage that a walk over them finds."""
    expected = ExpectedLineage()
    fields: dict[str, Fields] = {}
    stages: list[Json] = []
    connections: list[tuple[str, str]] = []
    for number in range(draw(st.integers(1, 3))):
        names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=4, unique=True))
        stages.append(source(f"s{number}", names))
        fields[f"s{number}"] = {name: frozenset({(f"s{number}", name)}) for name in names}
    for number in range(draw(st.integers(0, 5))):
        preceding = draw(st.lists(st.sampled_from(sorted(fields)), min_size=1, max_size=3, unique=True))
        stage = {"name": f"t{number}", "plugin": {"type": "action"}}
        joins = len(preceding) > 1 and draw(st.booleans())
        if joins:
            stage["plugin"] = {"type": "batchjoiner"}
        work = _StageWork(draw, expected, {name: fields[name] for name in preceding}, joins)
        stage["operations" if joins else "fieldMutations"] = work.steps()
        if draw(st.booleans()):
            stage["outputSchema"] = record(work.select_fields())
        stages.append(stage)
        connections += [(name, stage["name"]) for name in preceding]
        fields[stage["name"]] = work.fields
    for number in range(draw(st.integers(1, 2))):
        preceding = draw(st.lists(st.sampled_from(sorted(fields)), min_size=1, max_size=2, unique=True))
        stages.append({"name": f"k{number}", "plugin": {"type": "batchsink"}})
        connections += [(name, f"k{number}") for name in preceding]
        expected.written[f"k{number}"] = merge({name: fields[name] for name in preceding})
    return document(draw(st.permutations(stages)), draw(st.permutations(connections))), expected


def merge(stages: Mapping[str, Fields]) -> Fields:
    merged: Fields = {}
    for fields in stages.values():
        for name, origins in fields.items():
            merged[name] = merged.get(name, frozenset()) | origins
    return merged


class _StageWork:
    """Operations of one stage, drawn one after the other with their effect on `fields`."""

    def __init__(
        self, draw: st.DrawFn, expected: ExpectedLineage, stages: Mapping[str, Fields], joins: bool
    ) -> None:
        self._draw, self._expected, self._stages, self._joins = draw, expected, stages, joins
        self.fields: Fields = {} if joins else merge(stages)
        self._touched: set[str] = set()

    def steps(self) -> list[Json]:
        numbers = range(self._draw(st.integers(1 if self._joins else 0, 3)))
        return [self._join(number) if self._joins else self._mutate() for number in numbers]

    def select_fields(self) -> list[str]:
        """Select the fields of an output schema; others that no operation touched are dropped by it."""
        names = self._draw(st.lists(st.sampled_from(sorted(self.fields)), unique=True)) if self.fields else []
        for name in self.fields.keys() - set(names) - self._touched:
            self._expected.dropped |= self.fields[name]
        self.fields = {name: self.fields[name] for name in names}
        return names

    def _join(self, number: int) -> Json:
        """Draw an operation over fields of the preceding stages and outputs of this one."""
        choices = [
            (f"{stage}.{name}", fields[name]) for stage, fields in self._stages.items() for name in fields
        ]
        choices += [
            (name, origins) for name, origins in self.fields.items() if not self._begins_with_stage(name)
        ]
        inputs = self._draw(st.lists(st.sampled_from(choices), min_size=1, max_size=3)) if choices else []
        outputs = self._draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=2, unique=True))
        origins = frozenset().union(*(origins for _, origins in inputs))
        self.fields |= dict.fromkeys(outputs, origins)
        self._touched |= {*outputs}
        return {"name": f"o{number}", "inputs": [name for name, _ in inputs], "outputs": outputs}

    def _begins_with_stage(self, name: str) -> bool:
        return any(name.startswith(f"{stage}.") for stage in self._stages)

    def _mutate(self) -> Json:
        mutation = (
            self._draw(st.sampled_from(["rename", "delete", "create", "mix"])) if self.fields else "create"
        )
        names = sorted(self.fields)
        output = self._draw(st.sampled_from(NAMES))
        inputs = self._draw(st.lists(st.sampled_from(names), min_size=1, max_size=2)) if names else []
        if mutation in ("rename", "delete"):
            inputs = inputs[:1]
        if mutation == "create":
            inputs = []
        origins = frozenset().union(*(self.fields[name] for name in inputs))
        document: Json = {"mutation": mutation, "inputFields": [*inputs]}
        self._touched |= {*inputs}
        if mutation in ("rename", "delete"):
            del self.fields[inputs[0]]
        if mutation == "delete":
            self._expected.dropped |= origins
            return document
        self.fields[output] = origins
        self._touched.add(output)
        return {**document, "outputField": {"name": output, "type": "string"}}
