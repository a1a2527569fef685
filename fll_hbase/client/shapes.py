"""Types of the JSON bodies of answers, as the REST contract has them; times are milliseconds since 1970."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

FlowDirection = Literal["backward", "forward"]
AnyDirection = Literal["both", "backward", "forward"]


class DatasetName(TypedDict):
    """A dataset."""

    namespace: str
    name: str


class FieldName(TypedDict):
    """A field of a dataset."""

    namespace: str
    name: str
    field: str


class ReachNode(FieldName):
    """A field within reach. `inOrder` is missing if the time ended before it was known; see `ReachEdge`."""

    hops: int
    type: NotRequired[str]
    dropped: NotRequired[bool]
    inOrder: NotRequired[bool]
    direction: NotRequired[AnyDirection]


# Not a class, nor below: `from` is a keyword.
ReachEdge = TypedDict(
    "ReachEdge",
    {
        "from": FieldName,
        "to": FieldName,
        "influence": str,
        "inOrder": NotRequired[bool],
        "runs": NotRequired[int],
        "firstStart": NotRequired[int],
        "lastStart": NotRequired[int],
        "lastRun": NotRequired[str],
        "failed": NotRequired[bool],
        "direction": NotRequired[FlowDirection],
    },
)
"""A field that leads to another. `inOrder` is whether the order of the runs allows a value to pass here."""


class UnknownRelation(TypedDict):
    """Two datasets: some run read one and wrote the other, but how their fields relate is not known."""

    source: DatasetName
    destination: DatasetName
    direction: NotRequired[FlowDirection]


class Reach(TypedDict):
    """The fields within reach of a field, and the edges between them."""

    nodes: list[ReachNode]
    edges: list[ReachEdge]
    truncated: bool
    unknown: NotRequired[list[UnknownRelation]]
    truncatedBy: NotRequired[list[str]]
