"""Flows that violate a policy equal a brute-force oracle over paths of runs."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from fll_hbase.model.datasets import DatasetField, DatasetMetadata, Field
from fll_hbase.model.flow_policy import FlowPolicy
from fll_hbase.model.tags import TagNote
from fll_hbase.model.window import Direction, Window
from fll_hbase.runtime.config import Settings
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.store.query_parameters import EDGE_CONTENTS_MAX, FlowQuery, ReachQuery
from fll_hbase.store.results import FlowReport
from fll_hbase.tables import open_table
from tests.support import reach_oracle
from tests.support.masking_runs import MaskingRun, masking_runs, policies
from tests.support.reach_histories import (
    DATASETS,
    FIELDS,
    LEVEL_MAX,
    NOON_MS,
    chain_field,
    copy_chain,
    starts,
)
from tests.support.reach_oracle import Edge, Run

windows = st.tuples(starts, starts).map(lambda ends: Window(min(ends), max(ends) + 1))
flow_queries = st.builds(FlowQuery, policies, windows, causal=st.booleans(), failed=st.booleans())


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
            failed=query.failed,
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
            and query.failed >= run.failed
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
