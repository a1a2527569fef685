"""What does one run say about its end points: field pairs, drops, generated fields, unknowns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache

from . import readings
from .content import Content, EndPoint, Input, Json, Node, Operation, of_type, outputs_of


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
        Step(each.node, (transform.name, output), transform.name, each.indirect)
        for transform in of_type(content, "TRANSFORM")
        for each in transform.inputs
        for output in outputs_of(content, transform)
        if not each.indirect or (indirect and not is_direct_too(transform, each))
    ]


def is_direct_too(operation: Operation, each: Input) -> bool:
    """Whether an operation takes the same field directly as well: then it is no *only* indirect one."""
    return not readings.BOTH_INFLUENCES_SHOWN and any(
        other.node == each.node and not other.indirect for other in operation.inputs
    )


def reached(steps: Iterable[Step], starts: Iterable[Node]) -> set[Node]:
    """The nodes that some way leads to, the starts themselves included."""
    found, steps = set(starts), list(steps)
    while True:
        more = {step.stop for step in steps if step.start in found} - found
        if not more:
            return found
        found |= more


@cache
def claims(content: Content) -> frozenset[Claim]:
    """Everything one run says between end points."""
    said = set(_pairs(content)) | set(_drops(content))
    said = {claim for claim in said if not _said_directly(claim, said)}
    return frozenset(said.union(_generated(content, said), _unknown(content, said)))


def _said_directly(claim: Claim, said: set[Claim]) -> bool:
    direct = Claim(claim.source, claim.destination, claim.pair, False)
    return claim.indirect and direct in said


def _ways(content: Content) -> Iterator[tuple[EndPoint, str, Node, bool]]:
    """(source, its field, a node behind which it stands, whether only indirectly)."""
    for read in of_type(content, "READ"):
        for field in outputs_of(content, read):
            start = (read.name, field)
            directly = reached(steps_of(content, indirect=False), [start])
            for node in reached(steps_of(content), [start]):
                yield read.end_point, field, node, node not in directly


def _pairs(content: Content) -> Iterator[Claim]:
    for source, field, node, indirect in _ways(content):
        for write in of_type(content, "WRITE"):
            for each in write.inputs:
                if each.node == node and each.indirect:
                    yield Claim(source, write.end_point, Pair(field, "*", dataset=True), True)
                elif each.node == node:
                    yield Claim(source, write.end_point, Pair(field, each.name), indirect)


def is_drop(content: Content, operation: Operation) -> bool:
    """A transform that makes nothing, unlisted outputs that others take included."""
    return operation.type == "TRANSFORM" and not outputs_of(content, operation)


def _drops(content: Content) -> Iterator[Claim]:
    for source, field, node, indirect in _ways(content):
        for drop in of_type(content, "TRANSFORM"):
            for each in drop.inputs:
                if is_drop(content, drop) and each.node == node:
                    yield Claim(source, None, Pair(field, None), indirect or each.indirect)


def _generated(content: Content, said: set[Claim]) -> Iterator[Claim]:
    """Destination fields that no source field leads into directly."""
    for write in of_type(content, "WRITE"):
        for field in {each.name for each in write.inputs if not each.indirect}:
            into = [c for c in said if c.destination == write.end_point and not c.indirect]
            if not any(c.pair and c.pair.stop == field and not c.pair.dataset for c in into):
                yield Claim(None, write.end_point, Pair(None, field))


def _unknown(content: Content, said: set[Claim]) -> Iterator[Claim]:
    """Where a READ has no fields or a WRITE no inputs, and the run has no pair between the two."""
    known = {(claim.source, claim.destination) for claim in said}
    for read in of_type(content, "READ"):
        for write in of_type(content, "WRITE"):
            bare = not outputs_of(content, read) or not write.inputs
            if bare and (read.end_point, write.end_point) not in known:
                yield Claim(read.end_point, write.end_point, None)
