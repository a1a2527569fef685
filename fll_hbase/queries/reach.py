"""Field reach: where the values of a field come from or go to, over many hops."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypeAlias

import msgspec

from fll_hbase.model.datasets import Dataset, DatasetField
from fll_hbase.model.window import Direction
from fll_hbase.queries import name_json, reach_formats
from fll_hbase.queries.names import (
    RUN_NAMESPACE,
    DatasetName,
    FieldName,
    Influence,
    dataset_name,
    field_name,
)
from fll_hbase.queries.parameters import About, AnyDirection, FlowDirection
from fll_hbase.queries.query import (
    INDIRECT_HELP,
    Answer,
    Body,
    FieldQuery,
    FirstReads,
    WindowBody,
    WindowedWithFailed,
    directions,
    flow_word,
)
from fll_hbase.queries.tables import TableShape
from fll_hbase.runtime import deadline
from fll_hbase.runtime.errors import DeadlineExceeded, NotFound
from fll_hbase.store import results
from fll_hbase.store.query_parameters import ReachQuery

if TYPE_CHECKING:
    from fll_hbase.store.lineage_store import LineageStore

ReachByDirection: TypeAlias = Mapping[Direction, results.Reach]
"""The fields and edges within reach of one field, by direction."""

_IN_ORDER = msgspec.Meta(
    description="True if the order of the runs in the window allows a value to pass this edge;"
    " absent if the request ran out of time before this was computed"
)


class ReachNode(FieldName, frozen=True, kw_only=True, gc=False):
    """A field within reach, with the smallest number of hops to it.

    `type` is the latest type in the catalogue, "" if it has none. `dropped` is true if, in some run, a
    transform without outputs takes the field. `direction` is set only with `direction=both`.
    """

    hops: int
    type: str = ""
    dropped: bool = False
    in_order: Annotated[bool | None, _IN_ORDER] = None
    direction: AnyDirection | None = None


class ReachEdge(Body, frozen=True, kw_only=True, gc=False):
    """A field that leads to another, with the runs in which it does; starts are in milliseconds since 1970.

    The members about runs are absent if the runs were not counted. `failed` is true if all of them failed.
    With `direction=both` an edge is listed once for each of its directions.
    """

    source: FieldName = msgspec.field(name="from")
    destination: FieldName = msgspec.field(name="to")
    influence: Influence
    in_order: Annotated[bool | None, _IN_ORDER] = None
    runs: int | None = None
    first_start: int | None = None
    last_start: int | None = None
    last_run: str | None = None
    last_run_namespace: Annotated[str | None, RUN_NAMESPACE] = None
    failed: bool = False
    direction: FlowDirection | None = None


class UnknownRelation(Body, frozen=True, kw_only=True):
    """Two datasets: some run read one and wrote the other, but it is unknown how their fields relate."""

    source: DatasetName
    destination: DatasetName
    direction: FlowDirection | None = None


class ReachAnswer(WindowBody, frozen=True, kw_only=True):
    """The fields within reach of one field, and the edges between them, in the direction of the data."""

    nodes: tuple[ReachNode, ...]
    edges: tuple[ReachEdge, ...]
    truncated: bool
    unknown: tuple[UnknownRelation, ...] = ()
    truncated_by: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Reach(WindowedWithFailed, FieldQuery[ReachAnswer]):
    """Return the fields that lead to a field, that it leads to, or both, over many hops, with their edges.

    `level` bounds the hops. Without `indirect`, filters, joins and the like are not followed; `failed` also
    follows failed and aborted runs. `causal` keeps only fields and edges that the order of the runs allows.
    With `direction=both`, each node and edge has its own `direction`. An edge to field `*` influences the
    whole dataset, and so every field of it; a query may also start at `*`. Counting runs reads all of them,
    so an answer without `counts` is faster. `Accept` selects JSON, `text/csv` (a line for each edge),
    `application/graphml+xml` or `text/vnd.mermaid`.

    >>> answer = client.reach("bank", "DailyTransactions", "UID", direction="forward", causal=True)
    >>> sorted({edge["toName"] for edge in answer})[:3]
    ['CampaignAudience', 'CustomerAccounts', 'FraudFeatures']
    """

    path: ClassVar[str] = "/v3/namespaces/{namespace}/endpoints/{name}/fields/{field}/reach"
    result: ClassVar[str] = "Nodes by hops and name, edges by name"
    formats: ClassVar[Mapping[str, Callable[[Any], str]]] = MappingProxyType(reach_formats.FORMATS)
    # The other formats cannot express limits.
    limits_in_headers: ClassVar[bool] = True
    table: ClassVar[TableShape] = reach_formats.TABLE

    level: Annotated[
        int | None, About("Maximum number of hops (default: `FLL_LEVEL_MAX` of the server)", minimum=1)
    ] = None
    direction: Literal["backward", "forward", "both"] = "backward"
    indirect: Annotated[bool, About(INDIRECT_HELP)] = True
    causal: Annotated[bool, About("Follow an edge only if the upstream run started first")] = False
    counts: Annotated[bool, About("Count the runs of each edge, which reads all of them")] = True

    def answer(self, store: LineageStore, *, now_ms: int) -> Answer[ReachAnswer]:
        """Return the fields. Raises InvalidQuery, NotFound for an unknown field, and errors of the store."""
        window = self.window(now_ms)
        retained_from_ms = store.retained_from_ms(self.dataset, window)
        walk = ReachQuery(
            self.dataset_field,
            window,
            level=self.level,
            causal=self.causal,
            indirect=self.indirect,
            counts=self.counts,
        )
        body = read_reach(store, walk, directions(self.direction))
        reached = (Dataset(node.namespace, node.name) for node in body.nodes if not node.hidden)
        retained_from_ms = store.retained_with_ms(reached, window, retained_from_ms)
        return Answer(body, window, retained_from_ms, body.truncated_by)

    def first_reads(self, *, now_ms: int) -> FirstReads:
        """Return the windows of the dataset in the directions of the query."""
        return FirstReads(times=self.window_queries(self.dataset, self.direction, now_ms=now_ms))


def read_reach(store: LineageStore, walk: ReachQuery, directions: Sequence[Direction]) -> ReachAnswer:
    """Return the fields within reach of a field in each of the directions.

    Each direction is walked separately, with its own limits and an equal part of the time. If the time runs
    out, the answer has what was read until then. If no direction was read, raises the error of the last one:
    DeadlineExceeded, or NotFound for a field that was never recorded. Raises any other error of the store at
    once.
    """
    truncated_by: set[str] = set()
    by_direction = _read(store, walk, directions, truncated_by)
    types: dict[DatasetField, str] = {}
    try:
        deadline.check()
        types = store.catalogue.types({field for reach in by_direction.values() for field in reach.hops})
    except DeadlineExceeded:
        truncated_by.add(deadline.limit())
    return reach_answer(by_direction, types=types, truncated_by=truncated_by)


def _read(
    store: LineageStore, walk: ReachQuery, directions: Sequence[Direction], truncated_by: set[str]
) -> dict[Direction, results.Reach]:
    """Return the reach in each direction, and add the limit to `truncated_by` if the time ran out.

    A direction that was not read in time, or in which the field is unknown, has only the start field. Raises
    the error of the last direction if none was read.
    """
    reached: dict[Direction, results.Reach] = {}
    errors: list[DeadlineExceeded | NotFound] = []
    for number, direction in enumerate(directions):
        try:
            with deadline.shared(1 / (len(directions) - number)):
                reached[direction] = store.reach(replace(walk, direction=direction))
        except DeadlineExceeded as error:
            # The other direction may have less to read.
            truncated_by.add(deadline.limit())
            errors.append(error)
        except NotFound as error:
            # Backward any name is a field where the dataset as a whole is influenced.
            errors.append(error)
    if not reached:
        raise errors[-1]
    # In the order of `directions`. A direction without an answer has only the start field.
    alone = results.Reach({walk.field: 0}, (), in_order=frozenset([walk.field]))
    return {direction: reached.get(direction, alone) for direction in directions}


def reach_answer(
    by_direction: ReachByDirection,
    *,
    types: Mapping[DatasetField, str] = MappingProxyType({}),
    truncated_by: Collection[str] = (),
) -> ReachAnswer:
    """Return the fields within reach, sorted by hops and name, and the edges, sorted by their ends.

    Both say whether they are in order, unless the time ended before that was known. With two directions a
    field is listed once, with its smaller number of hops, and an edge once for each direction.
    """
    limits = {*truncated_by, *(limit for reach in by_direction.values() for limit in reach.truncated_by)}
    return ReachAnswer(
        nodes=tuple(_nodes(by_direction, types)),
        edges=tuple(_edges(by_direction)),
        truncated=bool(limits),
        unknown=tuple(_unknown(by_direction)),
        truncated_by=tuple(sorted(limits)),
    )


def _nodes(by_direction: ReachByDirection, types: Mapping[DatasetField, str]) -> Iterator[ReachNode]:
    """Yield the reached fields by hops and name, each once with its smallest number of hops."""
    hops: dict[DatasetField, int] = {}
    for reach in by_direction.values():
        hops |= {field: min(count, hops.get(field, count)) for field, count in reach.hops.items()}
    for field in sorted(hops, key=lambda field: (hops[field], field)):
        reached = {direction: reach for direction, reach in by_direction.items() if field in reach.hops}
        in_order = [reach.in_order for reach in reached.values()]
        yield ReachNode(
            **name_json.field(field),
            hops=hops[field],
            type=types.get(field, ""),
            dropped=any(field in reach.dropped for reach in by_direction.values()),
            # A field is in order if either direction allows it.
            in_order=None if None in in_order else any(fields and field in fields for fields in in_order),
            direction=_direction(by_direction, list(reached)),
        )


def _direction(by_direction: ReachByDirection, reached: Sequence[Direction]) -> AnyDirection | None:
    """Return the directions of an item as a word, or None if the answer has only one direction."""
    if len(by_direction) == 1:
        return None
    return "both" if len(reached) > 1 else flow_word(reached[0])


def _edges(by_direction: ReachByDirection) -> list[ReachEdge]:
    """Return the edges in the form of an answer: in their order, of two directions sorted by their ends."""
    # Cached: few distinct fields are the ends of many edges.
    names = functools.cache(field_name)
    items = [(direction, item) for direction, reach in by_direction.items() for item in reach.edges]
    if len(by_direction) == 1:
        return [_edge(item, None, names) for _, item in items]
    items.sort(key=lambda pair: (pair[1].source, pair[1].destination, pair[0].value))
    return [_edge(item, flow_word(direction), names) for direction, item in items]


def _edge(
    item: results.ReachEdge, direction: FlowDirection | None, names: Callable[[DatasetField], FieldName]
) -> ReachEdge:
    """Return an edge in the form of an answer, without the members about runs if they were not counted."""
    return ReachEdge(
        source=names(item.source),
        destination=names(item.destination),
        influence="direct" if item.direct else "indirect",
        in_order=item.in_order,
        direction=direction,
        **span_members(item.span),
    )


def span_members(span: results.RunSpan | None) -> dict[str, Any]:
    """Return the members about runs by attribute, or {} for None: the runs were not counted."""
    if span is None:
        return {}
    return {
        "runs": span.runs,
        "first_start": span.first_start_ms,
        "last_start": span.last_start_ms,
        "last_run": span.last_run.run,
        "last_run_namespace": span.last_run.namespace or None,
        "failed": span.failed == span.runs,
    }


def _unknown(by_direction: ReachByDirection) -> Iterator[UnknownRelation]:
    """Yield the unknown relations of all directions, with the direction only if there are two."""
    for direction, reach in by_direction.items():
        word = None if len(by_direction) == 1 else flow_word(direction)
        yield from unknown_relations(reach.unknown, word)


def unknown_relations(
    pairs: Iterable[tuple[Dataset, Dataset]], direction: FlowDirection | None = None
) -> Iterator[UnknownRelation]:
    """Yield pairs of datasets whose fields relate in an unknown way, each with this direction."""
    for source, destination in pairs:
        yield UnknownRelation(
            source=dataset_name(source), destination=dataset_name(destination), direction=direction
        )
