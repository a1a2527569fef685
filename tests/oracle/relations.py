"""Dataset relations of one run: field pairs, drops, generated fields, unknowns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache

from tests.oracle import readings
from tests.oracle.content import (
    Content,
    EndPoint,
    Input,
    Json,
    Node,
    Operation,
    operations_of_type,
    outputs_of,
)


@dataclass(frozen=True, slots=True)
class Step:
    """One transform taking one node into another."""

    start: Node
    stop: Node
    operation: str
    indirect: bool


@dataclass(frozen=True, slots=True)
class Pair:
    """A source field and what became of it; `stop` None is dropped, `start` None is generated."""

    start: str | None
    stop: str | None
    dataset: bool = False

    def json(self, indirect: bool) -> Json:
        answer: Json = {"from": self.start, "to": self.stop}
        if indirect:
            answer["influence"] = "indirect"
        if self.dataset:
            answer["scope"] = "dataset"
        return answer


@dataclass(frozen=True, slots=True)
class Claim:
    """One pair between two end points, or (without a pair) that they relate in an unknown way."""

    source: EndPoint | None
    destination: EndPoint | None
    pair: Pair | None
    indirect: bool = False


def steps_of(content: Content, indirect: bool = True) -> list[Step]:
    """Every transform's coupling of every input with every output; without `indirect`, direct ones alone."""
    return [
        Step(item.node, (transform.name, output), transform.name, item.indirect)
        for transform in operations_of_type(content, "TRANSFORM")
        for item in transform.inputs
        for output in outputs_of(content, transform)
        if not item.indirect or (indirect and not is_direct_too(transform, item))
    ]


def is_direct_too(operation: Operation, item: Input) -> bool:
    """Whether an operation takes the same field directly as well: then it is no *only* indirect one."""
    return not readings.BOTH_INFLUENCES_SHOWN and any(
        other.node == item.node and not other.indirect for other in operation.inputs
    )


def reached(steps: Iterable[Step], starts: Iterable[Node]) -> set[Node]:
    """The nodes that some way leads to, the starts themselves included."""
    visited, steps = set(starts), list(steps)
    while True:
        more = {step.stop for step in steps if step.start in visited} - visited
        if not more:
            return visited
        visited |= more


@cache
def claims(content: Content) -> frozenset[Claim]:
    """Everything one run says between end points."""
    claimed = set(_pairs(content)) | set(_drops(content))
    claimed = {claim for claim in claimed if not _is_direct(claim, claimed)}
    return frozenset(claimed.union(_generated(content, claimed), _unknown(content, claimed)))


def _is_direct(claim: Claim, claimed: set[Claim]) -> bool:
    direct = Claim(claim.source, claim.destination, claim.pair, False)
    return claim.indirect and direct in claimed


def _ways(content: Content) -> Iterator[tuple[EndPoint, str, Node, bool]]:
    """(source, its field, a node behind which it stands, whether only indirectly)."""
    for read in operations_of_type(content, "READ"):
        for field in outputs_of(content, read):
            start = (read.name, field)
            directly = reached(steps_of(content, indirect=False), [start])
            for node in reached(steps_of(content), [start]):
                yield read.end_point, field, node, node not in directly


def _pairs(content: Content) -> Iterator[Claim]:
    for source, field, node, indirect in _ways(content):
        for write in operations_of_type(content, "WRITE"):
            for item in write.inputs:
                if item.node == node and item.indirect:
                    yield Claim(source, write.end_point, Pair(field, "*", dataset=True), True)
                elif item.node == node:
                    yield Claim(source, write.end_point, Pair(field, item.name), indirect)


def is_drop(content: Content, operation: Operation) -> bool:
    """A transform that makes nothing, unlisted outputs that others take included."""
    return operation.type == "TRANSFORM" and not outputs_of(content, operation)


def _drops(content: Content) -> Iterator[Claim]:
    for source, field, node, indirect in _ways(content):
        for drop in operations_of_type(content, "TRANSFORM"):
            for item in drop.inputs:
                if is_drop(content, drop) and item.node == node:
                    yield Claim(source, None, Pair(field, None), indirect or item.indirect)


def _generated(content: Content, claimed: set[Claim]) -> Iterator[Claim]:
    """Destination fields that no source field leads into directly."""
    for write in operations_of_type(content, "WRITE"):
        for field in {item.name for item in write.inputs if not item.indirect}:
            into = [c for c in claimed if c.destination == write.end_point and not c.indirect]
            if not any(c.pair and c.pair.stop == field and not c.pair.dataset for c in into):
                yield Claim(None, write.end_point, Pair(None, field))


def _unknown(content: Content, claimed: set[Claim]) -> Iterator[Claim]:
    """Where a READ has no fields or a WRITE no inputs, and the run has no pair between the two."""
    related = {(claim.source, claim.destination) for claim in claimed}
    for read in operations_of_type(content, "READ"):
        for write in operations_of_type(content, "WRITE"):
            bare = not outputs_of(content, read) or not write.inputs
            if bare and (read.end_point, write.end_point) not in related:
                yield Claim(read.end_point, write.end_point, None)
