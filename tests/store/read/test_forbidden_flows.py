"""Flows that violate a policy equal a brute-force oracle over paths of runs."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import replace
from functools import partial
from itertools import count
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fll_hbase.model.datasets import Dataset, DatasetField, DatasetMetadata, Field
from fll_hbase.model.flow_policy import FlowPolicy
from fll_hbase.model.tags import TagNote
from fll_hbase.model.window import Direction, Window
from fll_hbase.runtime import deadline
from fll_hbase.runtime.config import Settings
from fll_hbase.runtime.errors import DeadlineExceeded
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.store.query_parameters import EDGE_CONTENTS_MAX, FlowQuery, ReachQuery
from fll_hbase.store.results import FlowReport
from fll_hbase.tables import open_table
from tests.support import reach_oracle
from tests.support.cancellation import cancelled_after
from tests.support.masking_runs import MaskingRun, masking_runs, policies
from tests.support.reach_histories import (
    DATASETS,
    FIELDS,
    LEVEL_MAX,
    NOON_MS,
    chain_field,
    copy_chain,
    windows,
)
from tests.support.reach_oracle import Edge, Run

flow_queries = st.builds(FlowQuery, policies, windows, causal=st.booleans())


def store_with(
    history: Sequence[Run], tagged: Sequence[DatasetField], **limits: Any
) -> closing[LineageStore]:
    store = LineageStore(open_table("sqlite:///:memory:"), Settings(**limits))
    for run in history:
        store.record([run.recorded()])
    fields = {
        dataset: tuple(Field(field.name) for field in tagged if field.dataset == dataset)
        for dataset in {*DATASETS, *(field.dataset for field in tagged)}
    }
    store.put_metadata(DatasetMetadata(dataset, fields=listed) for dataset, listed in fields.items())
    for field in tagged:
        store.tags.put(field, "PII", TagNote())
    return closing(store)


def expected_flows(
    history: Sequence[MaskingRun], tagged: Sequence[DatasetField], query: FlowQuery
) -> dict[tuple[DatasetField, DatasetField], dict[str, tuple[int, int, int, bool]]]:
    """Return for each violating pair, by program, its runs, first and last start, and if it is current."""
    policy, runs = query.policy, {run.name: run for run in history}
    seen = {name: run.readable() if policy.unless_masked else run for name, run in runs.items()}
    pairs = {}
    for origin in tagged:
        reach_query = ReachQuery(
            origin,
            query.window,
            Direction.FORWARD,
            causal=query.causal,
            indirect=policy.influence == "any",
        )
        walked = reach_oracle.reach(seen, reach_query, level=LEVEL_MAX)
        for end in {end for _, end in walked.runs} - {origin}:
            if policy.forbids([end.dataset]):
                counted = {
                    run.name for (_, far), passed in walked.runs.items() if far == end for run in passed
                }
                pairs[origin, end] = _programs(runs, counted, end, query)
    return pairs


def _programs(
    runs: dict[str, MaskingRun], counted: set[str], end: DatasetField, query: FlowQuery
) -> dict[str, tuple[int, int, int, bool]]:
    programs = {}
    for program in {runs[name].program for name in counted}:
        runs_of_program = [runs[name] for name in counted if runs[name].program == program]
        writers = [
            run
            for run in runs.values()
            if run.program == program
            and run.start_ms in query.window
            and query.window.failed >= run.failed
            and any(edge.destination.dataset == end.dataset for edge in run.edges)
        ]
        newest = max(writers, key=lambda run: (run.start_ms, run.name))
        checksums = {runs[name].recorded().info.checksum for name in counted}
        starts_ms = [run.start_ms for run in runs_of_program]
        is_current = newest.recorded().info.checksum in checksums
        programs[program] = len(runs_of_program), min(starts_ms), max(starts_ms), is_current
    return programs


def actual_flows(report: FlowReport) -> dict[Any, Any]:
    return {
        (flow.source, flow.destination): {
            program.runs.newest.program: (
                program.runs.runs,
                program.runs.oldest.start_ms,
                program.runs.newest.start_ms,
                program.is_current,
            )
            for program in flow.programs
        }
        for flow in report.flows
    }


@given(
    history=st.lists(masking_runs, min_size=1, max_size=7),
    tagged=st.lists(st.sampled_from(FIELDS), min_size=1, max_size=3, unique=True),
    query=flow_queries,
)
def test_flows_equal_every_path_of_runs(
    history: list[MaskingRun], tagged: list[DatasetField], query: FlowQuery
) -> None:
    with store_with(history, tagged, level_max=LEVEL_MAX) as store:
        report = store.flow_report(query)
    assert actual_flows(report) == expected_flows(history, tagged, query)
    assert set(report.truncated_by) <= {f"level_max={LEVEL_MAX}"}
    assert report.tagged == len(tagged)
    for flow in report.flows:
        assert (flow.path[0], flow.path[-1]) == (flow.source, flow.destination)
        if query.policy.unless_masked:
            assert "masked" not in {hop.kind for hop in flow.hops}


def everything(policy: FlowPolicy) -> FlowQuery:
    return FlowQuery(policy, Window(0, NOON_MS * 2))


POLICY = FlowPolicy("p", "PII", "ns/level3", "", "value", False, "", 0)


def test_a_hash_differs_from_a_copy() -> None:
    steps = [
        MaskingRun(str(level), NOON_MS + level, (Edge(chain_field(level), chain_field(level + 1), True),))
        for level in range(3)
    ]
    steps[1] = replace(steps[1], masked=frozenset({0}))
    with store_with(steps, [chain_field(0)]) as store:
        (flow,) = store.flow_report(everything(POLICY)).flows
        assert [hop.kind for hop in flow.hops] == ["computed", "masked", "computed"]
        assert not store.flow_report(everything(replace(POLICY, unless_masked=True))).flows
        # Another run of the same program passes the value on, so that masking no longer holds.
        store.record([replace(steps[1], name="5", start_ms=NOON_MS + 1, masked=frozenset()).recorded()])
        (flow,) = store.flow_report(everything(POLICY)).flows
        assert [hop.kind for hop in flow.hops] == ["computed", "computed", "computed"]
        assert store.flow_report(everything(replace(POLICY, unless_masked=True))).flows


def test_limits_that_cut_the_report_are_named() -> None:
    with store_with(copy_chain(6), [chain_field(0)], connections_max=2) as store:
        report = store.flow_report(everything(replace(POLICY, into="*")))
    assert len(report.flows) == 2
    assert report.truncated_by == ("connections_max=2",)


def test_masked_is_decided_by_more_contents_than_are_shown() -> None:
    edge = Edge(chain_field(2), chain_field(3), True)
    copied = MaskingRun("0", NOON_MS, (edge,))
    # Each run has a content of its own, by its further edges.
    masked = [
        MaskingRun(
            str(number),
            NOON_MS + number,
            (edge, *(Edge(chain_field(0), chain_field(4 + extra), True) for extra in range(number))),
            masked=frozenset({0}),
        )
        for number in range(1, EDGE_CONTENTS_MAX + 2)
    ]
    with store_with([copied, *masked], [chain_field(2)]) as store:
        (flow,) = store.flow_report(everything(POLICY)).flows
    assert [hop.kind for hop in flow.hops] == ["computed"]


def test_at_the_deadline_it_has_the_flows_found_and_says_nothing_else_about_them() -> None:
    steps = [
        MaskingRun(str(level), NOON_MS + level, (Edge(chain_field(level), chain_field(level + 1), True),))
        for level in range(3)
    ]
    steps[1] = replace(steps[1], masked=frozenset({0}))
    query = everything(replace(POLICY, into="*"))
    with store_with(steps, [chain_field(0)]) as store:
        complete = {flow.destination: flow for flow in store.flow_report(query).flows}
    cuts = set()
    for checks in range(150):
        with (
            store_with(steps, [chain_field(0)]) as store,
            deadline.limited(60, is_cancelled=cancelled_after(checks)),
            suppress(DeadlineExceeded),
        ):
            report = store.flow_report(query)
            has_kinds = has_programs = True
            for flow in report.flows:
                has_programs &= flow.programs == complete[flow.destination].programs
                for hop, full_hop in zip(flow.hops, complete[flow.destination].hops, strict=True):
                    assert hop.kind in ("", full_hop.kind)
                    has_kinds &= hop.kind != ""
            has_flows = len(report.flows) == len(complete)
            is_cut = not (has_flows and has_kinds and has_programs)
            assert report.truncated_by == (("request_seconds=60",) if is_cut else ())
            cuts.add((has_flows, has_kinds, has_programs))
    assert {(True, False, False), (True, True, False), (True, True, True)} <= cuts


def test_a_walk_that_its_share_of_the_time_cuts_still_has_flows(monkeypatch: pytest.MonkeyPatch) -> None:
    # Each look at the clock takes a second.
    monkeypatch.setattr(deadline, "time", SimpleNamespace(monotonic=partial(next, count())))
    query, lengths = everything(replace(POLICY, into="*")), set()
    with store_with(copy_chain(3), [chain_field(0)]) as store:
        for seconds in range(1, 300):
            with deadline.limited(seconds), suppress(DeadlineExceeded):
                report = LineageStore(store.table).flow_report(query)
                lengths.add(len(report.flows))
                assert report.truncated_by or len(report.flows) == 3
    assert lengths == {1, 2, 3}


def test_a_run_that_writes_two_names_of_a_dataset_counts_once() -> None:
    other = DatasetField(Dataset("ns", "other"), "f")
    run = Run("1", NOON_MS, tuple(Edge(chain_field(2), end, True) for end in (chain_field(3), other)))
    with store_with([run], [chain_field(2)]) as store:
        store.put_metadata([DatasetMetadata(other.dataset, aliases=(chain_field(3).dataset,))])
        (flow,) = store.flow_report(everything(POLICY)).flows
    assert [program.runs.runs for program in flow.programs] == [1]
