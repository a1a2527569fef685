"""Random histories and queries of field reach."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any

from hypothesis import strategies as st

from fll_hbase.model.datasets import WHOLE_DATASET, Dataset, DatasetField, DatasetMetadata
from fll_hbase.model.window import DAY_MS, Direction, Window
from fll_hbase.runtime.config import Settings
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.store.query_parameters import ReachQuery
from fll_hbase.tables import open_table
from tests.support.reach_oracle import Edge, Run

DATASETS = [Dataset("ns", name) for name in "abcd"]
NAMES = ("x", "y")
FIELDS = [DatasetField(dataset, name) for dataset in DATASETS for name in NAMES]
ENDS = [*FIELDS, *(DatasetField(dataset, WHOLE_DATASET) for dataset in DATASETS)]
NOON_MS = 100 * DAY_MS + DAY_MS // 2
LEVEL_MAX = 4

edges = st.builds(
    lambda source, destination, direct: Edge(source, destination, direct and destination in FIELDS),
    st.sampled_from(FIELDS),
    st.sampled_from(ENDS),
    st.booleans(),
)
# Starts on two days, and equal ones.
starts = st.sampled_from([NOON_MS, NOON_MS + 1, NOON_MS + 2, NOON_MS + DAY_MS, NOON_MS + DAY_MS + 1])
runs = st.builds(
    Run,
    # So few that runs replace one another.
    st.sampled_from(["1", "2", "3", "4", "5"]),
    starts,
    st.lists(edges, min_size=1, max_size=4, unique_by=lambda edge: edge[:2]).map(tuple),
    st.sampled_from([False, False, False, True]),
)
histories = st.lists(runs, min_size=1, max_size=7)
windows = st.builds(
    lambda start_ms, stop_ms, failed: Window(min(start_ms, stop_ms), max(start_ms, stop_ms) + 1, failed),
    starts,
    starts,
    st.booleans(),
)
queries = st.builds(
    ReachQuery,
    st.sampled_from(ENDS),
    windows,
    direction=st.sampled_from(Direction),
    level=st.integers(1, LEVEL_MAX),
    causal=st.booleans(),
    indirect=st.booleans(),
)


@contextmanager
def store_of(history: Sequence[Run], **limits: Any) -> Iterator[LineageStore]:
    with closing(LineageStore(open_table("sqlite:///:memory:"), Settings(**limits))) as store:
        for run in history:
            store.record([run.recorded()])
        # Known to the store even if no run has them.
        store.put_metadata(DatasetMetadata(dataset) for dataset in DATASETS)
        yield store


def copy_chain(depth: int) -> list[Run]:
    """`level0.f` is copied to `level1.f`, and so on."""
    return [
        Run(f"run{level}", NOON_MS + level, (Edge(chain_field(level), chain_field(level + 1), True),))
        for level in range(depth)
    ]


def chain_field(level: int) -> DatasetField:
    return DatasetField(Dataset("ns", f"level{level}"), "f")
