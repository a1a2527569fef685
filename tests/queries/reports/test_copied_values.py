"""Copied values: the walk answers as all paths one by one would."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from fll_hbase.model.datasets import Dataset, DatasetField
from fll_hbase.queries.reports.copied_values import COPY, OPERATIONS, UNKNOWN, CopiedValues, Ends

FIELDS = [DatasetField(Dataset("ns", "d"), name) for name in "abcdef"]
START = FIELDS[0]
KINDS = st.sets(st.sampled_from([COPY, OPERATIONS, UNKNOWN]), min_size=1).map(frozenset)
EDGES = st.dictionaries(
    st.tuples(st.sampled_from(FIELDS), st.sampled_from(FIELDS)).filter(lambda ends: ends[0] != ends[1]),
    KINDS,
    max_size=12,
)


def _paths(edges: Mapping[Ends, frozenset[str]], path: list[DatasetField]) -> Iterator[list[DatasetField]]:
    """Yield all paths that begin with one, without circles."""
    yield path
    for near, far in edges:
        if near == path[-1] and far not in path:
            yield from _paths(edges, [*path, far])


def _reachable(edges: Mapping[Ends, frozenset[str]]) -> dict[Ends, frozenset[str]]:
    """Return the edges from fields that are reached, as a walk has them."""
    reached = {path[-1] for path in _paths(edges, [START])}
    return {ends: kinds for ends, kinds in edges.items() if ends[0] in reached}


@given(EDGES, st.booleans())
def test_the_kinds_are_those_of_all_paths(edges: dict[Ends, frozenset[str]], is_complete: bool) -> None:
    edges = _reachable(edges)
    values = CopiedValues(START, edges, is_complete=is_complete)
    edges = {ends: kinds for ends, kinds in edges.items() if ends[1] != START}
    paths: dict[DatasetField, list[list[frozenset[str]]]] = {}
    for path in _paths(edges, [START]):
        paths.setdefault(path[-1], []).append([edges[ends] for ends in pairwise(path)])
    for field, ways in paths.items():
        if field == START:
            continue
        is_copied = any(all(COPY in kinds for kinds in way) for way in ways)
        only = all(
            kinds == {COPY}
            for ends, kinds in edges.items()
            if any(path[-1] == field for path in _paths(edges, [ends[1]]))
        )
        may_be = any(all(kinds & {COPY, UNKNOWN} for kinds in way) for way in ways)
        expected = ("copied" if only and is_complete else "mixed") if is_copied else None
        if not may_be and is_complete:
            expected = "operations"
        assert values.kind(field) == expected


def test_work_is_that_of_a_walk() -> None:
    """Each of 200 levels has four ways to the next: 4 ** 200 paths."""
    levels = [[DatasetField(Dataset("ns", f"d{level}"), name) for name in "ab"] for level in range(200)]
    edges = {
        (near, far): frozenset({COPY}) for upper, lower in pairwise(levels) for near in upper for far in lower
    }
    edges |= {(START, far): frozenset({COPY, OPERATIONS}) for far in levels[0]}
    values = CopiedValues(START, edges, is_complete=True)
    assert {values.kind(field) for field in levels[-1]} == {"mixed"}
