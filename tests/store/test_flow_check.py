"""Checks of flow policies report each violation once, at a cost that follows contents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import count
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fll_hbase.keys import layout
from fll_hbase.model.datasets import Dataset, DatasetField, DatasetMetadata, Field
from fll_hbase.model.flow_policy import FlowPolicy
from fll_hbase.model.tags import TagNote
from fll_hbase.model.window import Window
from fll_hbase.runtime.clock import now_ms
from fll_hbase.runtime.config import Settings
from fll_hbase.runtime.errors import CorruptRow
from fll_hbase.store.flow_check import SOURCES_PER_WALK, FlowCheck, FlowChecker
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.store.maintenance.audit.findings import Kind
from fll_hbase.store.query_parameters import FlowQuery
from fll_hbase.store.results import Flow
from fll_hbase.store.tags import TagStore
from fll_hbase.tables import Put, open_table
from tests.support.audit_runner import findings
from tests.support.masking_runs import MaskingRun, masking_runs, policies
from tests.support.reach_histories import DATASETS, FIELDS, NOON_MS, chain_field
from tests.support.reach_oracle import Edge
from tests.support.sealing import seal_all
from tests.support.table_calls import CountingTable

POLICY = FlowPolicy("p", "PII", "ns/level3", "", "value", False, "", 0)
EVERYTHING = Window(0, 2**62)


def new_store(**settings: Any) -> LineageStore:
    """A store with the datasets of the tests. Checks have no grace period, so that they look at little."""
    store = LineageStore(open_table("sqlite:///:memory:"), Settings(**settings))
    chain = [DatasetMetadata(chain_field(level).dataset, fields=(Field("f"),)) for level in range(6)]
    datasets = (DatasetMetadata(dataset, fields=(Field("x"), Field("y"))) for dataset in DATASETS)
    store.put_metadata([*datasets, *chain])
    return store


class Delivered:
    """The violations that checks delivered, which end with an error after `left` of them."""

    def __init__(self) -> None:
        self.flows: list[Flow] = []
        self.ids: list[str] = []
        self.left = count()

    def __call__(self, event_id: str, flow: Flow) -> None:
        if next(self.left, None) is None:
            raise ConnectionError("the receiver is away")
        self.ids.append(event_id)
        self.flows.append(flow)

    def pairs(self) -> list[tuple[DatasetField, DatasetField]]:
        return [(flow.source, flow.destination) for flow in self.flows]


def check(store: LineageStore, policy: FlowPolicy, delivered: Delivered, **options: Any) -> FlowCheck:
    return FlowChecker(store.components, store.table, grace_ms=0).check(policy, delivered, **options)


def step(level: int, name: str = "1") -> MaskingRun:
    """A run that copies `level.f` to the next level."""
    edge = Edge(chain_field(level), chain_field(level + 1), True)
    return MaskingRun(f"{level}{name}", NOON_MS - level, (edge,))


def record(store: LineageStore, *runs: MaskingRun) -> None:
    for run in runs:
        store.record([run.recorded()])


@given(
    steps=st.lists(st.one_of(masking_runs, st.sampled_from(FIELDS), st.none()), min_size=1, max_size=9),
    policy=policies,
)
def test_checks_report_what_the_report_has_each_once(
    steps: Sequence[MaskingRun | DatasetField | None], policy: FlowPolicy
) -> None:
    store, delivered = new_store(), Delivered()
    for number, item in enumerate((*steps, None)):
        if isinstance(item, MaskingRun):
            # Each run has its own id, since a replaced run takes violations back.
            record(store, replace(item, name=f"{number}"))
        elif isinstance(item, DatasetField):
            store.tags.put(item, "PII", TagNote())
        else:
            result = check(store, policy, delivered)
            report = store.flow_report(FlowQuery(policy, replace(EVERYTHING, failed=True), causal=False))
            assert sorted(delivered.pairs()) == [(flow.source, flow.destination) for flow in report.flows]
            assert not result.truncated_by
    assert len({*delivered.ids}) == len(delivered.ids)
    store.close()


def after_a_look() -> tuple[LineageStore, Delivered]:
    """A tagged field that is copied to level2, from where another run copies to level3 later."""
    store, delivered = new_store(), Delivered()
    store.tags.put(chain_field(0), "PII", TagNote())
    record(store, step(0), step(1))
    assert check(store, POLICY, delivered).reported == 0
    return store, delivered


@pytest.mark.parametrize("missing", [0, 1, 2])
def test_a_new_content_completes_a_path_of_old_ones(missing: int) -> None:
    store, delivered = new_store(), Delivered()
    store.tags.put(chain_field(0), "PII", TagNote())
    record(store, *(step(level) for level in range(3) if level != missing))
    check(store, POLICY, delivered)
    assert delivered.flows == []
    record(store, step(missing))
    result = check(store, POLICY, delivered)
    # Contents that were put in the millisecond of the last look count again.
    assert result.contents in (1, 2, 3)
    assert replace(result, contents=1) == FlowCheck(POLICY, 1, 1, 1, ())
    assert delivered.pairs() == [(chain_field(0), chain_field(3))]
    assert len(delivered.flows[0].path) == 4


def test_a_new_tag_on_an_old_field_is_a_violation_without_new_contents() -> None:
    store, delivered = after_a_look()
    record(store, step(2))
    check(store, POLICY, delivered)
    assert len(delivered.flows) == 1
    store.tags.put(chain_field(1), "PII", TagNote())
    assert check(store, POLICY, delivered).reported == 1
    assert delivered.pairs()[1] == (chain_field(1), chain_field(3))


def test_another_policy_of_the_name_is_checked_against_everything() -> None:
    store, delivered = after_a_look()
    changed = replace(POLICY, into="ns/level2", at_ms=now_ms())
    assert check(store, changed, delivered).reported == 1
    assert check(store, changed, delivered).reported == 0


def test_a_new_name_of_a_dataset_joins_paths_without_contents() -> None:
    store, delivered = after_a_look()
    other = Dataset("other", "level2")
    metadata = DatasetMetadata(other, fields=(Field("f"),))
    store.put_metadata([metadata])
    edge = Edge(DatasetField(other, "f"), chain_field(3), True)
    record(store, MaskingRun("9", NOON_MS, (edge,)))
    assert check(store, POLICY, delivered).reported == 0
    ends = (chain_field(2).dataset, other)
    puts = [Put(layout.alias_row(a), layout.alias_column(b), b"") for a, b in (ends, ends[::-1])]
    store.table.write([puts])
    assert check(store, POLICY, delivered).reported == 1


def test_a_run_of_an_old_content_alone_is_no_new_violation() -> None:
    store, delivered = after_a_look()
    record(store, step(2))
    check(store, POLICY, delivered)
    record(store, step(2, "2"), step(0, "2"))
    assert check(store, POLICY, delivered).reported == 0
    assert len(delivered.flows) == 1


def test_since_skips_nothing_but_what_was_before_the_first_look() -> None:
    store, delivered = new_store(), Delivered()
    store.tags.put(chain_field(0), "PII", TagNote())
    record(store, step(0), step(1), step(2))
    assert check(store, POLICY, delivered, since_ms=now_ms() + 1_000).reported == 0
    # An earlier time looks again; a later one than the last look does not skip anything.
    assert check(store, POLICY, delivered, since_ms=1).reported == 1
    assert check(store, POLICY, delivered, since_ms=now_ms() + 10_000).reported == 0


def test_what_was_not_delivered_is_delivered_by_the_next_check() -> None:
    store, delivered = new_store(), Delivered()
    store.tags.put(chain_field(0), "PII", TagNote())
    record(store, *(step(level) for level in range(4)))
    policy = replace(POLICY, into="*")
    delivered.left = iter(range(2))  # type: ignore[assignment]
    with pytest.raises(ConnectionError):
        check(store, policy, delivered)
    assert len(delivered.flows) == 2
    delivered.left = count()
    assert check(store, policy, delivered).reported == 2
    assert len({*delivered.pairs()}) == len(delivered.pairs()) == 4


def test_a_check_that_a_limit_cut_looks_again() -> None:
    store, delivered = new_store(connections_max=2), Delivered()
    store.tags.put(chain_field(0), "PII", TagNote())
    record(store, *(step(level) for level in range(4)))
    for _ in range(2):
        assert check(store, POLICY, delivered).truncated_by == ("connections_max=2",)
    settings = replace(store.settings, connections_max=100)
    larger = LineageStore(store.table, settings)
    assert check(larger, POLICY, delivered).reported == 1


def after_many_sources(level: int, **settings: Any) -> LineageStore:
    """A store with an old tag on level0, and a content that reads two walks of fields before `level`."""
    store = new_store(**settings)
    TagStore(store.table, store.catalogue, clock=lambda: 1).put(chain_field(0), "PII", TagNote())
    columns = (DatasetField(DATASETS[0], f"column{number}") for number in range(2 * SOURCES_PER_WALK))
    edges = [Edge(column, DatasetField(DATASETS[1], "x"), True) for column in columns]
    record(store, *(step(number) for number in range(level)))
    edges.append(Edge(chain_field(level), chain_field(level + 1), True))
    record(store, MaskingRun("9", NOON_MS, tuple(edges)))
    return store


def test_a_violation_behind_more_sources_than_one_walk_takes() -> None:
    store, delivered = after_many_sources(0), Delivered()
    assert check(store, replace(POLICY, into="ns/level1"), delivered, since_ms=2).reported == 1
    assert delivered.pairs() == [(chain_field(0), chain_field(1))]


def test_a_cut_of_a_later_walk_is_named() -> None:
    store = after_many_sources(3, connections_max=2)
    result = check(store, replace(POLICY, into="ns/level4"), Delivered(), since_ms=2)
    assert result.truncated_by == ("connections_max=2",)


def test_a_damaged_state_is_an_error_and_a_finding() -> None:
    store, delivered = after_a_look()
    assert findings(store.table) == []
    row = layout.flow_state_row("p")
    for column, value in ((layout.LAST_LOOK, b'{"at":-1}'), (layout.REPORTED + b"zz", b"")):
        store.table.write([[Put(row, column, value)]])
        with pytest.raises(CorruptRow, match="flow:p"):
            check(store, POLICY, delivered)
        assert [(item.kind, item.row) for item in findings(store.table)] == [(Kind.UNREADABLE, row)]


def reads_of_check(contents: int, runs_of_each: int) -> tuple[int, int]:
    """Return the number of calls, and of rows and ranges, of a check with so many new contents."""
    store, delivered = new_store(), Delivered()
    store.tags.put(chain_field(0), "PII", TagNote())
    check(store, POLICY, delivered)
    edges = [Edge(chain_field(0), DatasetField(chain_field(3).dataset, "f"), True)]
    for number in range(contents):
        others = [Edge(chain_field(0), DatasetField(Dataset("ns", "a"), f"column{number}"), True)]
        for run in range(runs_of_each):
            record(store, MaskingRun(f"{number * 1_000 + run}", NOON_MS + run, (*edges, *others)))
    # Days are sealed hours after their last run; until then, their runs are read one by one.
    seal_all(store.table)
    table = CountingTable(store.table)
    counted = LineageStore(table, store.settings)  # type: ignore[arg-type]
    assert (
        FlowChecker(counted.components, store.table, grace_ms=0).check(POLICY, delivered).contents == contents
    )
    assert len(delivered.flows) == 1
    return table.calls.total(), table.items.total()


def test_the_cost_follows_contents_and_not_runs() -> None:
    assert reads_of_check(10, 8) == reads_of_check(10, 2)


def test_the_cost_grows_with_the_contents() -> None:
    small, large = reads_of_check(20, 1), reads_of_check(40, 1)
    assert large[0] <= 2 * small[0]
    assert large[1] <= 3 * small[1]


@pytest.mark.long
def test_the_calls_for_a_thousand_new_contents() -> None:
    calls, items = reads_of_check(1_000, 1)
    assert calls <= 400
    assert items <= 20_000
