"""Checks of flow policies: violations that are new since the last look, each reported once.

A look considers the contents that writers put since the last one, whatever the number of runs. A writer puts
a content when it is new, and again with its first run after half a grace period, so that every content with a
new run is considered. A new violation needs one of them, a new tag, another policy or a new dataset name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from fll_hbase.keys import layout, ranges
from fll_hbase.model.datasets import Dataset, DatasetField
from fll_hbase.model.flow_policy import ANY, FlowPolicy
from fll_hbase.model.tags import FieldTag
from fll_hbase.model.window import START_LIMIT_MS, Direction, Window
from fll_hbase.runtime.clock import now_ms
from fll_hbase.store.components import Reader, StoreComponents
from fll_hbase.store.query_parameters import FlowQuery, ReachQuery
from fll_hbase.store.read.content_cache import retry_on_missing_content
from fll_hbase.store.read.forbidden_flows import ORIGINS_MAX, FlowCollection, FlowReader
from fll_hbase.store.read.reach import ReachReader
from fll_hbase.store.results import Flow
from fll_hbase.store.rows import flow_states
from fll_hbase.store.tags import TagStore
from fll_hbase.tables import Table

SOURCES_PER_WALK = 500
"""Maximum number of fields at which one walk upstream starts."""

CONTENTS_PER_READ = 200
"""Maximum number of new contents that are in memory together."""

_EVERYTHING = Window(0, START_LIMIT_MS, failed=True)


@dataclass(frozen=True, slots=True)
class FlowCheck:
    """A check of one policy: the number of new contents, tagged fields followed, and violations reported.

    `contents` is None if the check considered everything.
    If `truncated_by` names limits, the next check looks at the same contents again.
    """

    policy: FlowPolicy
    contents: int | None
    followed: int
    reported: int
    truncated_by: tuple[str, ...]


class FlowChecker(Reader):
    """Checks flow policies of a whole store; failed runs count, and the order of the runs does not.

    `table` keeps the last look and the reported violations of each policy.
    A look begins `grace_ms` before the last one: a commit puts its content first, and needs up to half of
    that until its run is visible, or relies on a content that is as old. Clocks differ, too. Raises
    StoreUnavailable and CorruptRow.
    """

    def __init__(
        self, components: StoreComponents, table: Table, *, grace_ms: int, clock: Callable[[], int] = now_ms
    ) -> None:
        super().__init__(components)
        self._state_table = table
        self._grace_ms = grace_ms
        self._clock = clock
        self._flows = FlowReader(components)
        self._reach = ReachReader(components)
        self._tags = TagStore(components.table, components.catalogue)

    def check(
        self, policy: FlowPolicy, deliver: Callable[[str, Flow], None], *, since_ms: int | None = None
    ) -> FlowCheck:
        """Call `deliver` with the id and the flow of each violation that was never reported.

        A violation counts as reported when `deliver` returns, durably. Errors of `deliver` end the check, and
        the next check delivers the rest. The first look considers all contents, or those put since `since_ms`
        (ms since 1970). Later ones consider those since the last look, or since `since_ms` if it is earlier,
        but all contents after a change of the policy or a new name of any dataset.
        """
        key, began_ms = layout.flow_state_row(policy.name), self._clock()
        state = flow_states.decode_state(key, self._state_table.get(key))
        from_ms = self._from_ms(policy, state.look, since_ms)
        contents = list(self._new_contents(from_ms)) if from_ms else []
        truncated_by: set[str] = set()
        followed = reported = 0
        for origins in self._origins(policy, contents, from_ms, truncated_by):
            followed += len(origins)
            for flow in self._violations(policy, origins, state.reported, truncated_by):
                name = flow_states.digest(policy, flow.source, flow.destination)
                deliver(name, flow)
                self._state_table.write([[flow_states.reported_put(policy, name)]])
                reported += 1
        if not truncated_by:
            self._state_table.write([[flow_states.look_put(policy, began_ms)]])
        return FlowCheck(
            policy, len(contents) if from_ms else None, followed, reported, tuple(sorted(truncated_by))
        )

    def _from_ms(self, policy: FlowPolicy, look: flow_states.Look | None, since_ms: int | None) -> int:
        """Return the time (ms) from which puts are new, a grace period before the last look, or 0 for all."""
        if look is None:
            last_ms = since_ms or 0
        elif look.policy_at_ms != policy.at_ms:
            last_ms = 0
        else:
            last_ms = look.at_ms if since_ms is None else min(since_ms, look.at_ms)
        from_ms = max(last_ms - self._grace_ms, 0)
        # A new name of a dataset joins paths without new contents.
        aliases = self._table.scan(*ranges.prefix_range(layout.ALIASES)) if from_ms else ()
        return 0 if any(cell.stamp_ms >= from_ms for _, row in aliases for cell in row.values()) else from_ms

    def _new_contents(self, from_ms: int) -> Iterator[str]:
        """Yield the checksums of contents put since a time, reading one small cell of each content."""
        prefix = layout.CONTENTS
        for key, row in self._table.scan(*ranges.prefix_range(prefix), columns=(layout.VERSION,)):
            if row[layout.VERSION].stamp_ms >= from_ms:
                yield layout.decode_checksum(key[len(prefix) :])

    def _origins(
        self, policy: FlowPolicy, contents: Sequence[str], from_ms: int, truncated_by: set[str]
    ) -> Iterator[list[DatasetField]]:
        """Yield for each page of tagged fields those whose flows may be new: all if `from_ms` is 0."""
        upstream = self._upstream(policy, contents, truncated_by) if contents else set()
        for tags in self._tagged(policy):
            aliases = self._catalogue.aliases({tag.field.dataset for tag in tags})
            yield [
                tag.field
                for tag in tags
                if tag.at_ms >= from_ms or not upstream.isdisjoint(_names(tag.field, aliases))
            ]

    def _tagged(self, policy: FlowPolicy) -> Iterator[tuple[FieldTag, ...]]:
        """Yield the fields with the tag of a policy, page by page."""
        start_after: DatasetField | None = None
        while True:
            page = self._tags.tagged(policy.tag, limit=ORIGINS_MAX, start_after=start_after)
            yield page.tags
            start_after = page.next_after
            if start_after is None:
                return

    @retry_on_missing_content
    def _upstream(
        self, policy: FlowPolicy, contents: Sequence[str], truncated_by: set[str]
    ) -> set[DatasetField]:
        """Return the fields that contents read, and all fields upstream of them in any run; note limits."""
        upstream: set[DatasetField] = set()
        for begin in range(0, len(contents), CONTENTS_PER_READ):
            chunk = contents[begin : begin + CONTENTS_PER_READ]
            self._contents.load(chunk)
            read = (field for checksum in chunk for field in self._contents.field_map(checksum).fields)
            # Lazy, so that a walk leaves out what the walks before it have reached.
            sources = (field for field in dict.fromkeys(read) if field not in upstream)
            while fields := list(islice(sources, SOURCES_PER_WALK)):
                reach = self._reach.fields_within(_walk(policy, fields))
                upstream.update(fields, reach.paths)
                truncated_by.update(reach.truncated_by)
        return upstream

    @retry_on_missing_content
    def _violations(
        self,
        policy: FlowPolicy,
        origins: Sequence[DatasetField],
        reported: frozenset[str],
        truncated_by: set[str],
    ) -> list[Flow]:
        """Return the flows from fields that are not yet reported, with operations; note limits of finding."""
        query = FlowQuery(policy, _EVERYTHING, causal=False)
        collected = FlowCollection()
        self._flows.find(query, origins, collected)
        collected.flows = [
            flow
            for flow in collected.flows
            if flow_states.digest(policy, flow.source, flow.destination) not in reported
        ]
        ends = {(hop.source, hop.destination) for flow in collected.flows for hop in flow.hops}
        collected.edges = {step: edge for step, edge in collected.edges.items() if step in ends}
        truncated_by |= collected.truncated_by
        # Operations only explain a violation: a limit on reading them misses none.
        return self._flows.explained(collected)


def _walk(policy: FlowPolicy, fields: Sequence[DatasetField]) -> ReachQuery:
    """Return the query for everything upstream of fields that counts for a policy, in any run."""
    return ReachQuery(
        fields[0],
        _EVERYTHING,
        Direction.BACKWARD,
        others=tuple(fields[1:]),
        indirect=policy.influence == ANY,
        counts=False,
        unmasked=policy.unless_masked,
    )


def _names(field: DatasetField, aliases: dict[Dataset, list[Dataset]]) -> set[DatasetField]:
    """Return a field under all names of its dataset."""
    return {DatasetField(name, field.name) for name in (field.dataset, *aliases.get(field.dataset, ()))}
