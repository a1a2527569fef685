"""Which pipelines could there be: configs whose every field is known, and what each field is made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from hypothesis import strategies as st

Json = dict[str, Any]
Fields = dict[str, frozenset[tuple[str, str]]]
"""Per field the source fields it is made of, each with the stage that reads it."""

RUN: Json = {"application": "etl", "type": "spark", "program": "p", "run": "r1", "startTime": 0}
SINK: Json = {"name": "out", "plugin": {"type": "batchsink"}}
NAMES = ("x", "y", "z", "a.b", "s0.x", "p/q")


@dataclass
class Told:
    """What a walk over the stages found, field by field."""

    written: dict[str, Fields] = field(default_factory=dict)
    dropped: set[tuple[str, str]] = field(default_factory=set)


def record(names: Any) -> Json:
    return {"type": "record", "name": "r", "fields": [{"name": name, "type": "string"} for name in names]}


def source(name: str, names: Any) -> Json:
    return {"name": name, "plugin": {"type": "batchsource", "properties": {"schema": record(names)}}}


def document(stages: list[Json], connections: list[tuple[str, str]], **more: Any) -> Json:
    arrows = [{"from": origin, "to": target} for origin, target in connections]
    return {"run": RUN, "config": {"stages": stages, "connections": arrows}, **more}


def chain(*stages: Json, **more: Any) -> Json:
    """Stages one after the other."""
    names = [stage["name"] for stage in stages]
    return document([*stages], [*pairwise(names)], **more)


@st.composite
def known(draw: st.DrawFn) -> tuple[Json, Told]:
    """A pipeline in any order of its stages, and what a walk with sets of source fields finds."""
    told = Told()
    fields: dict[str, Fields] = {}
    stages: list[Json] = []
    connections: list[tuple[str, str]] = []
    for number in range(draw(st.integers(1, 3))):
        names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=4, unique=True))
        stages.append(source(f"s{number}", names))
        fields[f"s{number}"] = {name: frozenset({(f"s{number}", name)}) for name in names}
    for number in range(draw(st.integers(0, 5))):
        some = st.lists(st.sampled_from(sorted(fields)), min_size=1, max_size=3, unique=True)
        before = draw(some)
        stage = {"name": f"t{number}", "plugin": {"type": "action"}}
        joins = len(before) > 1 and draw(st.booleans())
        if joins:
            stage["plugin"] = {"type": "batchjoiner"}
        work = _Work(draw, told, {name: fields[name] for name in before}, joins)
        stage["operations" if joins else "fieldMutations"] = work.steps()
        if draw(st.booleans()):
            stage["outputSchema"] = record(work.kept())
        stages.append(stage)
        connections += [(name, stage["name"]) for name in before]
        fields[stage["name"]] = work.here
    for number in range(draw(st.integers(1, 2))):
        before = draw(st.lists(st.sampled_from(sorted(fields)), min_size=1, max_size=2, unique=True))
        stages.append({"name": f"k{number}", "plugin": {"type": "batchsink"}})
        connections += [(name, f"k{number}") for name in before]
        told.written[f"k{number}"] = merged({name: fields[name] for name in before})
    return document(draw(st.permutations(stages)), draw(st.permutations(connections))), told


def merged(sides: Mapping[str, Fields]) -> Fields:
    found: Fields = {}
    for fields in sides.values():
        for name, made_of in fields.items():
            found[name] = found.get(name, frozenset()) | made_of
    return found


class _Work:
    """What one stage does, drawn step by step with what each step means."""

    def __init__(self, draw: st.DrawFn, told: Told, sides: Mapping[str, Fields], joins: bool) -> None:
        self._draw, self._told, self._sides, self._joins = draw, told, sides, joins
        self.here: Fields = {} if joins else merged(sides)
        self._touched: set[str] = set()

    def steps(self) -> list[Json]:
        least = 1 if self._joins else 0
        numbers = range(self._draw(st.integers(least, 3)))
        return [self._joined(number) if self._joins else self._mutated() for number in numbers]

    def kept(self) -> list[str]:
        """Some of the fields, for a schema; what no step touched is dropped by that."""
        names = self._draw(st.lists(st.sampled_from(sorted(self.here)), unique=True)) if self.here else []
        for name in self.here.keys() - set(names) - self._touched:
            self._told.dropped |= self.here[name]
        self.here = {name: self.here[name] for name in names}
        return names

    def _joined(self, number: int) -> Json:
        """An operation over fields of the stages before, and of those made here."""
        choices = [
            (f"{side}.{name}", fields[name]) for side, fields in self._sides.items() for name in fields
        ]
        choices += [(name, made_of) for name, made_of in self.here.items() if not self._named(name)]
        taken = self._draw(st.lists(st.sampled_from(choices), min_size=1, max_size=3)) if choices else []
        made = self._draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=2, unique=True))
        made_of = frozenset().union(*(each for _, each in taken))
        self.here |= dict.fromkeys(made, made_of)
        self._touched |= {*made}
        return {"name": f"o{number}", "inputs": [name for name, _ in taken], "outputs": made}

    def _named(self, name: str) -> bool:
        return any(name.startswith(f"{side}.") for side in self._sides)

    def _mutated(self) -> Json:
        word = self._draw(st.sampled_from(["rename", "delete", "create", "mix"])) if self.here else "create"
        names = sorted(self.here)
        output = self._draw(st.sampled_from(NAMES))
        taken = self._draw(st.lists(st.sampled_from(names), min_size=1, max_size=2)) if names else []
        if word in ("rename", "delete"):
            taken = taken[:1]
        if word == "create":
            taken = []
        made_of = frozenset().union(*(self.here[name] for name in taken))
        said: Json = {"mutation": word, "inputFields": [*taken]}
        self._touched |= {*taken}
        if word in ("rename", "delete"):
            del self.here[taken[0]]
        if word == "delete":
            self._told.dropped |= made_of
            return said
        self.here[output] = made_of
        self._touched.add(output)
        return {**said, "outputField": {"name": output, "type": "string"}}
