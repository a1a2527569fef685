"""Flows that violate a policy: forbidden fields that a value of a field with the tag reaches."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, pairwise

from fll_hbase.model.datasets import Dataset, DatasetField
from fll_hbase.model.flow_policy import ANY, FlowPolicy
from fll_hbase.model.hop_operations import Hop
from fll_hbase.model.masking import HIDDEN, is_hidden
from fll_hbase.model.runs import ProgramId, ProgramRun
from fll_hbase.model.window import Direction
from fll_hbase.runtime import deadline
from fll_hbase.runtime.clock import now_ms
from fll_hbase.store.components import Reader, StoreComponents
from fll_hbase.store.query_parameters import EDGE_CONTENTS_MAX, FlowQuery, ReachQuery, WindowQuery
from fll_hbase.store.read.hop_reader import HOPS_MAX, Ends, HopReader
from fll_hbase.store.read.horizons import HorizonReader
from fll_hbase.store.read.reach import ReachReader
from fll_hbase.store.results import Flow, FlowHop, FlowProgram, FlowReport, ProgramRuns, Reach, ReachEdge
from fll_hbase.store.tags import TagStore

BATCH_RUNS = 500
"""Maximum number of runs read in one call."""

ORIGINS_MAX = 1_000
"""Maximum number of fields with the tag that a report follows."""

NAMES_MAX = 1_000
"""Maximum number of namespaces, and of datasets, that are compared with the patterns of a policy."""

COPIED, COMPUTED, MASKED, INFLUENCE = "copied", "computed", "masked", "influence"
"""Kinds of hops, see `FlowHop`."""

_WALK_SHARE = 0.5
"""The share of a request's time for following fields; the rest is for operations and runs."""

_REACH_SHARE = 0.9
"""The share of that time for the walk from one field; the rest is for reading aliases."""

Contents = dict[str, int]
"""The contents of the edges into the end of a flow, each with a start (ms) from which its runs count."""


@dataclass(slots=True)
class FlowCollection:
    """Flows with the edges of their paths, and the limits that cut them.

    `contents` has one item per flow, in the same order. `datasets` are all that the tagged fields reach.
    """

    flows: list[Flow] = field(default_factory=list)
    contents: list[Contents] = field(default_factory=list)
    edges: dict[Ends, ReachEdge] = field(default_factory=dict)
    unknown: set[tuple[Dataset, Dataset]] = field(default_factory=set)
    datasets: set[Dataset] = field(default_factory=set)
    truncated_by: set[str] = field(default_factory=set)


class FlowReader(Reader):
    """Finds flows that violate policies. Threads may share it. Raises StoreUnavailable and CorruptRow."""

    def __init__(self, components: StoreComponents) -> None:
        super().__init__(components)
        self._tags = TagStore(components.table, components.catalogue)
        self._reach = ReachReader(components)
        self._hops = HopReader(components)
        self._unmasked_graph = components.unmasked_graph
        self._horizon_reader = HorizonReader(components, clock=now_ms)

    def flow_report(self, query: FlowQuery) -> FlowReport:
        """Return each forbidden field that a field with the policy's tag reaches, with the programs.

        `truncated_by` names the limits, and the deadline, that cut the report. Raises DeadlineExceeded if it
        passes before a field is followed and all horizons are read.
        """
        collected = FlowCollection()
        origins = self.tagged(query.policy, collected.truncated_by)
        with deadline.shared(_WALK_SHARE):
            self.find(query, origins, collected)
        # Read before the operations, because a report that the deadline cuts needs them, too.
        horizons = self._horizon_reader.load(collected.datasets | {origin.dataset for origin in origins})
        flows = self.explained(collected)
        programs = self._programs(query, flows, collected)
        flows = [replace(flow, programs=programs[number]) for number, flow in enumerate(flows)]
        return FlowReport(
            query.policy,
            len(origins),
            tuple(flows),
            tuple(sorted(collected.unknown)),
            max(horizons.values(), default=0),
            tuple(sorted(collected.truncated_by)),
            # Other reports do not say that a policy is kept.
            not (flows or collected.truncated_by or collected.unknown) and self.forbids_none(query.policy),
        )

    def forbids_none(self, policy: FlowPolicy) -> bool:
        """Return whether a policy forbids no recorded dataset; False with NAMES_MAX names to compare."""
        namespaces = list(islice(self._catalogue.namespaces(), NAMES_MAX))
        listed = (
            dataset.dataset
            for namespace in filter(policy.may_forbid, namespaces)
            for dataset in self._catalogue.datasets(namespace)
        )
        datasets = list(islice(listed, NAMES_MAX))
        is_all = max(len(namespaces), len(datasets)) < NAMES_MAX
        return is_all and not any(policy.forbids((dataset,)) for dataset in datasets)

    def tagged(self, policy: FlowPolicy, truncated_by: set[str]) -> list[DatasetField]:
        """Return the fields with the tag of a policy, at most ORIGINS_MAX; note if there may be more."""
        page = self._tags.tagged(policy.tag, limit=ORIGINS_MAX)
        if page.next_after is not None:
            truncated_by.add(f"origins_max={ORIGINS_MAX}")
        return [tag.field for tag in page.tags]

    def find(self, query: FlowQuery, origins: Iterable[DatasetField], collected: FlowCollection) -> None:
        """Add the flows from each of the fields, in their order, sorted by destination, until the deadline.

        Raises DeadlineExceeded only before the first field is followed; later it notes the limit.
        """
        for origin, reach, forbidden in deadline.until_over(
            self._reached(query, origins, collected.truncated_by), truncated_by=collected.truncated_by
        ):
            collected.truncated_by |= set(reach.truncated_by)
            collected.unknown |= set(reach.unknown)
            collected.datasets |= {end.dataset for end in reach.hops}
            self._add(origin, reach, forbidden, collected)

    def _reached(
        self, query: FlowQuery, origins: Iterable[DatasetField], truncated_by: set[str]
    ) -> Iterator[tuple[DatasetField, Reach, set[Dataset]]]:
        """Yield each field with its reach, and the forbidden datasets in it. Raises DeadlineExceeded."""
        policy = query.policy
        for origin in origins:
            deadline.check()
            reach_query = ReachQuery(
                origin,
                query.window,
                Direction.FORWARD,
                causal=query.causal,
                indirect=policy.influence == ANY,
                unmasked=policy.unless_masked,
                contents_max=sys.maxsize,
            )
            with deadline.shared(_REACH_SHARE):
                reach = self._reach.fields_within(reach_query)
            yield origin, reach, self._forbidden(policy, {end.dataset for end in reach.paths}, truncated_by)

    def _add(
        self, origin: DatasetField, reach: Reach, forbidden: Collection[Dataset], collected: FlowCollection
    ) -> None:
        """Add the flows of one field by destination, up to `connections_max` flows in all; note a cut."""
        edges = {(edge.source, edge.destination): edge for edge in reach.edges}
        into: dict[DatasetField, list[ReachEdge]] = defaultdict(list)
        for edge in reach.edges:
            into[edge.destination].append(edge)
        for end in sorted(end for end in reach.paths if end.dataset in forbidden and end in into):
            if end == origin:
                continue
            if len(collected.flows) == self._settings.connections_max:
                collected.truncated_by.add(f"connections_max={len(collected.flows)}")
                return
            path = tuple(reach.paths[end].fields())
            ends = list(pairwise(path))
            hops = tuple(FlowHop(*step, _influence(edges.get(step))) for step in ends)
            collected.edges |= {step: edges[step] for step in ends if step in edges}
            collected.flows.append(Flow(origin, end, reach.hops[end], path, hops))
            collected.contents.append(_contents(into[end]))

    def _forbidden(
        self, policy: FlowPolicy, datasets: Collection[Dataset], truncated_by: set[str]
    ) -> set[Dataset]:
        """Return the datasets that a policy forbids by any name; note if any dataset is hidden."""
        visible = {dataset for dataset in datasets if not is_hidden(dataset)}
        if len(visible) < len(datasets):
            truncated_by.add(HIDDEN)
        aliases = self._catalogue.aliases(visible)
        return {name for name in visible if policy.forbids((name, *aliases.get(name, ())))}

    def explained(self, collected: FlowCollection) -> list[Flow]:
        """Return the flows with kinds and operations of their hops, and note the limits that cut these."""
        edges = [
            edge._replace(checksums=edge.checksums[:EDGE_CONTENTS_MAX]) for edge in collected.edges.values()
        ]
        ways = self._hops.hops(edges, collected.truncated_by)
        computed = [
            collected.edges[edge.source, edge.destination]
            for edge in edges
            if edge.direct and not _is_copied(ways.get(edge[:2], ()))
        ]
        decided = self._masked(computed[:HOPS_MAX])
        masked = dict(deadline.until_over(decided, truncated_by=collected.truncated_by, needs_first=False))
        return [
            replace(flow, hops=tuple(_explained(hop, ways, masked) for hop in flow.hops))
            for flow in collected.flows
        ]

    def _masked(self, edges: Sequence[ReachEdge]) -> Iterator[tuple[Ends, bool]]:
        """Yield the ends of each direct edge, and whether its contents all mask the value.

        Raises DeadlineExceeded.
        """
        datasets = {end.dataset for edge in edges for end in edge[:2]}
        aliases = self._catalogue.aliases(datasets)
        self._unmasked_graph.load(
            checksum for edge in edges for checksum in edge.checksums[:EDGE_CONTENTS_MAX]
        )
        for edge in edges:
            sources, ends = (
                {DatasetField(name, end.name) for name in (end.dataset, *aliases.get(end.dataset, ()))}
                for end in edge[:2]
            )
            is_readable = any(
                far.field in ends
                for checksum in edge.checksums
                for source in sources
                for _, steps in self._unmasked_graph.steps(
                    checksum, Direction.FORWARD, source.dataset, [self._unmasked_graph.node(source)]
                )
                for far in steps.direct
            )
            yield (edge.source, edge.destination), not is_readable

    def _programs(
        self, query: FlowQuery, flows: Sequence[Flow], collected: FlowCollection
    ) -> list[tuple[FlowProgram, ...]]:
        """Return the programs of each flow, reading the runs of each reached dataset once; note a cut."""
        by_dataset: dict[Dataset, dict[int, Contents]] = defaultdict(dict)
        for number, flow in enumerate(flows):
            by_dataset[flow.destination.dataset][number] = collected.contents[number]
        programs: list[tuple[FlowProgram, ...]] = [()] * len(flows)
        for dataset, contents in sorted(by_dataset.items()):
            counts = _ProgramCounts(contents)
            runs = self._runs(query, dataset)
            for run, checksum in deadline.until_over(
                runs, truncated_by=collected.truncated_by, needs_first=False
            ):
                counts.add(run, checksum)
            for number in contents:
                programs[number] = counts.programs(number)
        return programs

    def _runs(self, query: FlowQuery, dataset: Dataset) -> Iterator[tuple[ProgramRun, str]]:
        """Yield each run that wrote a dataset under any name, with its checksum. Raises DeadlineExceeded."""
        writers = WindowQuery(Direction.BACKWARD, dataset, query.window)
        names = self._catalogue.names(dataset)
        for run in self._windows.runs_of_names(writers, names, batch_size=BATCH_RUNS):
            deadline.check()
            yield run.run, run.checksum


class _ProgramCounts:
    """The programs of the flows into one dataset under construction; flows are given by their numbers."""

    def __init__(self, contents: Mapping[int, Contents]) -> None:
        self._contents = contents
        self._by_content: dict[str, list[int]] = defaultdict(list)
        for number, listed in contents.items():
            for checksum in listed:
                self._by_content[checksum].append(number)
        self._newest: dict[ProgramId, tuple[ProgramRun, str]] = {}
        # The number of runs, the oldest and the newest one.
        self._spans: dict[int, dict[ProgramId, ProgramRuns]] = defaultdict(dict)

    def add(self, run: ProgramRun, checksum: str) -> None:
        """Count a run that wrote the dataset with a content; runs of each name come newest first."""
        program = run.program_id
        last = self._newest.get(program)
        if last is None or _start_and_id(last[0]) < _start_and_id(run):
            self._newest[program] = run, checksum
        for number in self._by_content.get(checksum, ()):
            if run.start_ms >= self._contents[number][checksum]:
                self._spans[number][program] = _with_run(self._spans[number].get(program), run)

    def programs(self, number: int) -> tuple[FlowProgram, ...]:
        """Return the programs of a flow by name."""
        return tuple(
            FlowProgram(runs, self._newest[program][1] in self._contents[number])
            for program, runs in sorted(self._spans[number].items())
        )


def _with_run(runs: ProgramRuns | None, run: ProgramRun) -> ProgramRuns:
    """Return the runs of a program with one more run; `runs` is None for the first."""
    if runs is None:
        return ProgramRuns(1, run, run)
    return ProgramRuns(
        runs.runs + 1,
        min(runs.oldest, run, key=_start_and_id),
        max(runs.newest, run, key=_start_and_id),
    )


def _start_and_id(run: ProgramRun) -> tuple[int, str]:
    """Return the sort key of runs: start, then id."""
    return run.start_ms, run.run


def _influence(edge: ReachEdge | None) -> str:
    """Return the kind of a hop before its operations are read; a hop into a whole dataset has no edge."""
    return "" if edge is not None and edge.direct else INFLUENCE


def _is_copied(ways: Iterable[Hop]) -> bool:
    """Return whether any of the ways copies the value."""
    return any(way.is_copied for way in ways)


def _explained(hop: FlowHop, ways: Mapping[Ends, Sequence[Hop]], masked: Mapping[Ends, bool]) -> FlowHop:
    """Return a hop with its ways and their kind, which is unknown for a hop that is not in `masked`.

    A hop that copies the value, or only influences, needs no look at its contents.
    """
    ends = hop.source, hop.destination
    listed = tuple(ways.get(ends, ()))
    if hop.kind or not listed:
        return replace(hop, ways=listed)
    if _is_copied(listed):
        return replace(hop, kind=COPIED, ways=listed)
    is_masked = masked.get(ends)
    kind = "" if is_masked is None else MASKED if is_masked else COMPUTED
    return replace(hop, kind=kind, ways=listed)


def _contents(edges: Iterable[ReachEdge]) -> Contents:
    """Return by content the earliest `first_start_ms` of the edges with it, 0 for an edge without a span."""
    contents: Contents = {}
    for edge in edges:
        start_ms = edge.span.first_start_ms if edge.span else 0
        for checksum in edge.checksums:
            contents[checksum] = min(start_ms, contents.get(checksum, start_ms))
    return contents
