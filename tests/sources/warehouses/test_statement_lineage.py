"""Lineage of statements from pairs: independent of their order, and no relation that was not stated."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fll_hbase.model.datasets import Dataset, DatasetField
from fll_hbase.model.operations import Write
from fll_hbase.queries import acknowledgements
from fll_hbase.sources import derived_columns
from fll_hbase.sources.derived_columns import TooManyColumns
from fll_hbase.sources.warehouses.statement_lineage import StatementLineage

SOURCES = [Dataset("n", name) for name in ("a", "b", "c")]
TARGETS = [Dataset("n", name) for name in ("a", "t", "u")]
columns = st.sampled_from(["x", "y"])
reads = st.tuples(st.just("read"), st.sampled_from(SOURCES), st.lists(columns, max_size=1))
writes = st.tuples(st.just("write"), st.sampled_from(TARGETS))
relations = st.tuples(st.just("relate"), st.sampled_from(SOURCES), st.sampled_from(TARGETS))
derivations = st.tuples(
    st.just("derive"),
    st.builds(DatasetField, st.sampled_from(TARGETS), columns),
    st.lists(st.builds(DatasetField, st.sampled_from(SOURCES), columns), max_size=2),
)
statements = st.lists(reads | writes | relations | derivations, max_size=8)


def collect(facts: list[Any]) -> StatementLineage:
    collected = StatementLineage()
    for name, *arguments in facts:
        getattr(collected, name)(*arguments)
    return collected


def name_of(member: dict[str, str] | None) -> str:
    return member["name"] if member else ""


@given(statements, st.randoms())
def test_order_and_repetition_change_nothing(facts: list[Any], random: Any) -> None:
    other = [*facts, *facts]
    random.shuffle(other)
    assert collect(facts).build("INSERT") == collect(other).build("INSERT")


@given(statements)
def test_relations_are_those_that_were_stated(facts: list[Any]) -> None:
    answer = acknowledgements.dry_run(collect(facts).build("INSERT"))["lineage"]
    pairs = {
        (name_of(entry["source"]), pair["from"], name_of(entry["destination"]), pair["to"])
        for entry in answer
        for pair in entry["fieldmap"]
        if entry["source"] and entry["destination"]
    }
    derived = [fact for fact in facts if fact[0] == "derive"]
    assert pairs == {
        (source.dataset.name, source.name, target.dataset.name, target.name)
        for _, target, sources in derived
        for source in sources
    }
    derivable = {(source.dataset, target.dataset) for _, target, sources in derived for source in sources}
    unknown = {
        (name_of(entry["source"]), name_of(entry["destination"])) for entry in answer if entry.get("unknown")
    }
    stated = {(source, target) for name, source, target in (f for f in facts if f[0] == "relate")}
    assert unknown == {(source.name, target.name) for source, target in stated - derivable}


def test_targets_without_columns_cost_no_square() -> None:
    statement = StatementLineage()
    for number in range(5_000):
        statement.read(Dataset("n", f"s{number}"), ["x"])
    for number in range(5_000):
        statement.write_columns(Dataset("n", f"t{number}"), {"y": []})
    info = statement.build("INSERT")
    assert all(item.unknown_origins is None for item in info.operations if isinstance(item, Write))
    statement.relate(Dataset("n", "s1"), Dataset("n", "u"))
    with derived_columns.part(), pytest.raises(TooManyColumns):
        statement.build("INSERT")


def test_a_target_without_columns_is_related_to_all_that_is_read() -> None:
    statement = StatementLineage()
    statement.read(Dataset("n", "a"), ["x"])
    statement.derive(DatasetField(Dataset("n", "t"), "y"), [DatasetField(Dataset("n", "b"), "x")])
    statement.write_columns(Dataset("n", "u"), {"y": []})
    answer = acknowledgements.dry_run(statement.build("INSERT"))["lineage"]
    unknown = {
        (name_of(entry["source"]), name_of(entry["destination"])) for entry in answer if entry.get("unknown")
    }
    assert unknown == {("a", "u"), ("b", "u")}
