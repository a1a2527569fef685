"""Answers about reach in both directions are those of each direction together; types are read in batches."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from typing import Any

import msgspec
import pytest
from hypothesis import given

from fll_hbase.model.datasets import Dataset, DatasetField, DatasetMetadata, Field
from fll_hbase.model.window import BOTH, Direction, Window
from fll_hbase.queries import name_json
from fll_hbase.queries.reach import read_reach
from fll_hbase.runtime import deadline
from fll_hbase.runtime.errors import DeadlineExceeded, NotFound
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.store.query_parameters import ReachQuery
from fll_hbase.store.read.catalogue import DATASETS_PER_READ
from fll_hbase.tables import open_table
from tests.support.reach_histories import NOON_MS, chain_field, copy_chain, histories, queries, store_of
from tests.support.reach_oracle import Edge, Run
from tests.support.table_calls import CountingTable, stopped_clock

BACKWARD, FORWARD = Direction.BACKWARD, Direction.FORWARD


def read(store: LineageStore, query: ReachQuery, directions: Sequence[Direction]) -> dict[str, Any]:
    """The JSON of an answer."""
    body: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(read_reach(store, query, directions)))
    return body


@given(history=histories, query=queries)
def test_both_directions_are_each_of_them(history: list[Run], query: ReachQuery) -> None:
    with store_of(history) as store:
        try:
            both = read(store, query, BOTH)
        except NotFound:
            for direction in BOTH:
                with pytest.raises(NotFound):
                    read(store, query, [direction])
            return
        bodies = {direction: one_direction(store, query, direction) for direction in BOTH}
    for direction, body in bodies.items():
        assert part(both["edges"], direction) == body["edges"]
        assert part(both.get("unknown", []), direction) == body.get("unknown", [])
        listed = [name(node) for node in both["nodes"] if node["direction"] in (direction.value, "both")]
        assert sorted(listed) == sorted(map(name, body["nodes"]))
    hops = [{name(node): node["hops"] for node in body["nodes"]} for body in bodies.values()]
    assert {name(node): node["hops"] for node in both["nodes"]} == {
        end: min(counts[end] for counts in hops if end in counts) for end in {**hops[0], **hops[1]}
    }


def one_direction(store: LineageStore, query: ReachQuery, direction: Direction) -> dict[str, Any]:
    try:
        return read(store, query, [direction])
    except NotFound:
        # Backward any name is a field where the dataset as a whole is influenced.
        return {"nodes": [{**name_json.field(query.field), "hops": 0}], "edges": []}


def part(items: list[dict[str, Any]], direction: Direction) -> list[dict[str, Any]]:
    """The items of one direction, without the member that says so."""
    return [
        {member: value for member, value in item.items() if member != "direction"}
        for item in items
        if item["direction"] == direction.value
    ]


def name(node: dict[str, Any]) -> tuple[str, ...]:
    return node["namespace"], node["name"], node["field"]


def test_a_cycle_has_its_edges_on_both_ends() -> None:
    first, other = chain_field(0), chain_field(1)
    history = [Run("1", NOON_MS, (Edge(first, other, True),)), Run("2", NOON_MS, (Edge(other, first, True),))]
    with store_of(history) as store:
        body = read(store, ReachQuery(first, Window(NOON_MS, NOON_MS + 1)), BOTH)
    assert [(node["hops"], node["direction"]) for node in body["nodes"]] == [(0, "both"), (1, "both")]
    assert [edge["direction"] for edge in body["edges"]] == ["backward", "forward"] * 2


def test_each_direction_has_its_own_limits() -> None:
    query = ReachQuery(chain_field(3), Window(NOON_MS, NOON_MS + 6))
    with store_of(copy_chain(6), connections_max=2) as store:
        body = read(store, query, BOTH)
    assert [edge["direction"] for edge in body["edges"]] == ["backward", "backward", "forward", "forward"]
    assert body["truncatedBy"] == ["connections_max=2"]


def test_without_time_it_fails_as_one_direction_does() -> None:
    query = ReachQuery(chain_field(3), Window(NOON_MS, NOON_MS + 6))
    with store_of(copy_chain(6)) as store, deadline.limited(0.0), pytest.raises(DeadlineExceeded):
        read(store, query, BOTH)


class TestTypes:
    FIRST, LAST = chain_field(0), chain_field(3)
    QUERY = ReachQuery(FIRST, Window(NOON_MS, NOON_MS + 3), FORWARD)

    def types(self, store: LineageStore) -> dict[str, str | None]:
        body = read(store, self.QUERY, [FORWARD])
        return {node["name"]: node.get("type") for node in body["nodes"]}

    def test_the_latest_type_of_the_catalogue_where_it_has_one(self) -> None:
        with store_of(copy_chain(3)) as store:
            for type_name in ("int", "long"):
                store.put_metadata([DatasetMetadata(self.LAST.dataset, fields=(Field("f", type_name),))])
            assert self.types(store) == {"level0": None, "level1": None, "level2": None, "level3": "long"}

    def test_a_type_under_another_name_of_the_dataset(self) -> None:
        table = Dataset("ns", "table")
        with store_of(copy_chain(3)) as store:
            store.put_metadata([DatasetMetadata(table, fields=(Field("f", "int"),))])
            store.put_metadata([DatasetMetadata(self.LAST.dataset, aliases=(table,))])
            assert self.types(store)["level3"] == "int"

    def test_it_takes_two_calls_for_so_many_datasets(self) -> None:
        fields = [DatasetField(Dataset("ns", f"d{number}"), "f") for number in range(2 * DATASETS_PER_READ)]
        with closing(open_table("sqlite:///:memory:")) as table:
            store = LineageStore(table)
            store.put_metadata(
                DatasetMetadata(field.dataset, fields=(Field("f", "int"), Field("g", "int")))
                for field in fields
            )
            counting = CountingTable(table)
            catalogue = LineageStore(counting, clock=stopped_clock).catalogue
            assert catalogue.types(fields) == dict.fromkeys(fields, "int")
            assert counting.calls == {"rows": 4}
            # Another field of a dataset that is read already costs no call.
            more = fields[0]._replace(name="g")
            assert catalogue.types([*fields[:9], more])[more] == "int"
            assert counting.calls == {"rows": 6}
