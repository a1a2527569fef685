"""Answers of the contract to every query, by brute force over the recorded documents."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.oracle.content import Content, EndPoint, Json, Operation, read_content
from tests.oracle.derivations import paths_of
from tests.oracle.detailed import Question, detailed_view, parts_of, simple_view
from tests.oracle.high_level import cap_reached, entries_once, walk
from tests.oracle.history import History, Run, members_of, read_document
from tests.oracle.relations import claims

Answer = tuple[int, Any]
NOT_FOUND: Answer = (404, None)


class Oracle:
    """All that was recorded, and the answers; times are epoch milliseconds, start in, end out."""

    def __init__(self, level_max: int = 32) -> None:
        self.history = History()
        self.level_max = level_max

    def record(self, namespace: str, document: Json, checksum: str = "") -> Answer:
        """Status and body of a POST; the checksum is the server's own, from its answer."""
        content, faults, warned = read_document(namespace, document)
        if faults:
            return 422, {"errors": faults}
        run = Run(namespace, members_of(document["run"]), checksum, content)
        outcome = self.history.record(run)
        body: Json = {"checksum": checksum, "run": run.member("run"), "recorded": outcome != "same"}
        body |= {"replaced": True} if outcome == "replaced" else {}
        body |= {"warnings": warned} if warned else {}
        return (201 if outcome == "recorded" else 200), body

    def dry_run(self, namespace: str, document: Json, checksum: str = "") -> Answer:
        """Status and body of `?dryRun=true`, its `operations` as a set of values."""
        content, faults, warned = read_document(namespace, document)
        if faults:
            return 422, {"errors": faults}
        lineage = entries_once(claims(content))
        body = {"operations": _in_any_order(content), "checksum": checksum}
        return 200, {**body, "lineage": lineage, "warnings": warned}

    @staticmethod
    def operations(namespace: str, body: Json) -> set[Operation]:
        """The `operations` of a dry run's answer as the set of values that `dry_run` gives."""
        return _in_any_order(read_content(body, namespace))

    def high_level(
        self,
        namespace: str,
        name: str,
        start_ms: int,
        end_ms: int,
        *,
        level: int = 1,
        direction: str = "both",
        indirect: bool = True,
        failed: bool = False,
    ) -> tuple[int, Any, bool]:
        """Status, body, and whether the cap left something unasked (`Truncated: true`)."""
        end_point = EndPoint(namespace, name)
        if end_point not in self.history.known_endpoints():
            return 404, None, False
        claims_by_run = [claims(run.content) for run in self.history.window(start_ms, end_ms, failed)]
        hops = min(level, self.level_max)
        body = walk(claims_by_run, end_point, hops=hops, direction=direction, indirect=indirect)
        capped = level > self.level_max and cap_reached(claims_by_run, end_point, hops, direction, indirect)
        return 200, body, capped

    def detailed(
        self,
        namespace: str,
        name: str,
        field: str,
        start_ms: int,
        end_ms: int,
        *,
        direction: str = "backward",
        view: str = "detailed",
        indirect: bool = True,
        failed: bool = False,
    ) -> Answer:
        """Status and body of one field's lineage in one level."""
        end_point = EndPoint(namespace, name)
        if field not in self.history.known_endpoints().get(end_point, {}):
            return NOT_FOUND
        question = Question(end_point, field, direction, indirect)
        runs = self.history.window(start_ms, end_ms, failed)
        contents = {run.checksum: run.content for run in reversed(runs)}
        newest = list(dict.fromkeys(run.checksum for run in runs))
        parts = parts_of(question, [(checksum, contents[checksum]) for checksum in newest])
        return 200, (simple_view if view == "simple" else detailed_view)(question, parts)

    def first_design(
        self, namespace: str, name: str, field: str, start_ms: int, end_ms: int, *, failed: bool = False
    ) -> Answer:
        """Status and body of the first design's question."""
        end_point = EndPoint(namespace, name)
        if field not in self.history.known_endpoints().get(end_point, {}):
            return NOT_FOUND
        runs = self.history.window(start_ms, end_ms, failed)
        times = {"startTimeInSeconds": start_ms / 1000, "endTimeInSeconds": end_ms / 1000}
        return 200, {"fieldName": field, **times, "paths": paths_of(runs, end_point, field)}

    def runs(self, namespace: str, name: str, start_ms: int, end_ms: int) -> Answer:
        """Status and body of the runs of an end point, failed ones too."""
        end_point = EndPoint(namespace, name)
        if end_point not in self.history.known_endpoints():
            return NOT_FOUND
        runs = self.history.window(start_ms, end_ms, failed=True)
        return 200, {"runs": [_run(r, end_point) for r in runs if r.reads(end_point) or r.writes(end_point)]}

    def namespaces(self) -> Answer:
        """The namespaces of the end points ever seen."""
        return 200, {"namespaces": sorted({item.namespace for item in self.history.known_endpoints()})}

    def end_points(self, namespace: str, prefix: str = "") -> Answer:
        """The end points of a namespace, without their descriptions (see `description`)."""
        known_endpoints = (item for item in self.history.known_endpoints() if item.namespace == namespace)
        return 200, {
            "endpoints": [item.json() for item in sorted(known_endpoints) if item.name.startswith(prefix)]
        }

    def descriptions(self, namespace: str, name: str) -> set[str]:
        """Every description that some run ever gave an end point: the contract does not say which shows."""
        operations = (operation for run in self.history.ever for operation in run.content)
        return {o.end_point_description for o in operations if o.end_points == (EndPoint(namespace, name),)}

    def fields(self, namespace: str, name: str, prefix: str = "") -> Answer:
        """The fields of an end point; `type` is a list of what may stand there, for the driver to choose."""
        end_point = EndPoint(namespace, name)
        if end_point not in self.history.known_endpoints():
            return NOT_FOUND
        fields = self.history.known_endpoints()[end_point]
        starts = self.history.last_writes(end_point)
        return 200, {
            "fields": [
                _field(fields[item]) | ({"lastWritten": starts[item]} if item in starts else {})
                for item in sorted(fields)
                if item.startswith(prefix)
            ]
        }


def _in_any_order(content: Content) -> set[Operation]:
    """Operations to compare: in any order, their inputs and outputs too."""
    return {replace(o, inputs=_sorted(o.inputs), outputs=_sorted(o.outputs)) for o in content}


def _sorted(items: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(sorted(items, key=str))


def _field(seen: Json) -> Json:
    types = sorted(seen["types"])
    return {
        **{name: seen[name] for name in ("name", "read", "written")},
        **({"type": types} if types else {}),
    }


def _run(run: Run, end_point: EndPoint) -> Json:
    ways = {"backward": run.writes(end_point), "forward": run.reads(end_point)}
    direction = "both" if all(ways.values()) else next(way for way, holds in ways.items() if holds)
    names = ("run", "application", "program", "type", "startTime", "state")
    members = {name: run.member(name) for name in names}
    return {**members, "namespace": run.namespace, "checksum": run.checksum, "direction": direction}
