"""Tags and policies in the table: calls they cost, two writers, aliases, audit, repair and retention."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from fll_hbase.keys import layout
from fll_hbase.model.datasets import Dataset, DatasetField, DatasetMetadata, DeclaredTag, Field
from fll_hbase.model.retention_policy import RetentionPolicy
from fll_hbase.model.tags import AgePolicy, FieldTag, TagNote, parse_max_age
from fll_hbase.model.window import DAY_MS
from fll_hbase.runtime.errors import CorruptRow
from fll_hbase.store import tags
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.store.maintenance import garbage_collection
from fll_hbase.store.maintenance.audit.findings import Kind
from fll_hbase.tables import CellKey, Put, Table, open_table
from tests.support.audit_runner import findings, repaired
from tests.support.copy_runs import DESTINATION, copying

PEOPLE = Dataset("ns|1", "people/a b")
OTHER = Dataset("ns|1", "persons")
EMAIL = DatasetField(PEOPLE, "e-mail %")
NOW_MS = 1_700_000_000_000
ANA, BOB = TagNote("ana"), TagNote("bob", "sure")
POLICY = AgePolicy("gdpr", parse_max_age("90d"), "PII", None, "", 0)


@pytest.fixture
def table() -> Table:
    return open_table("sqlite:///:memory:")


@pytest.fixture
def store(table: Table) -> LineageStore:
    """A store whose people has an e-mail and an age, with the alias `persons`."""
    store = LineageStore(table, clock=lambda: NOW_MS)
    store.put_metadata([DatasetMetadata(PEOPLE, (Field("e-mail %"), Field("age")), aliases=(OTHER,))])
    return store


def test_the_time_of_a_tag_is_that_of_the_store(store: LineageStore) -> None:
    assert store.tags.put(EMAIL, "PII", ANA) == (FieldTag(EMAIL, "PII", NOW_MS, ANA), True)
    assert store.tags.put(EMAIL, "PII", ANA)[1] is False


def test_a_tag_of_an_alias_is_one_of_the_dataset(store: LineageStore) -> None:
    by_alias = DatasetField(OTHER, "e-mail %")
    store.put_metadata([DatasetMetadata(OTHER, (Field("e-mail %"),))])
    store.tags.put(by_alias, "PII", ANA)
    for field in (EMAIL, by_alias):
        assert [tag.tag for tag in store.tags.field_tags(field)] == ["PII"]
        assert [tag.tag for tag in store.tags.dataset_tags(field.dataset)] == ["PII"]
    assert store.tags.put(EMAIL, "PII", BOB) == (FieldTag(by_alias, "PII", NOW_MS, BOB), False)
    assert [tag.field for tag in store.tags.tagged("PII", limit=9).tags] == [by_alias]
    store.tags.remove(EMAIL, "PII")
    assert store.tags.field_tags(by_alias) == []


def test_a_tag_in_use_behind_many_removed_ones_is_listed(
    store: LineageStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tags, "CANDIDATES_MAX", 2)
    fields = [f"f{number}" for number in range(6)]
    store.put_metadata([DatasetMetadata(PEOPLE, tags=tuple(DeclaredTag(name, "PII", "") for name in fields))])
    for name in fields[:-1]:
        store.tags.remove(DatasetField(PEOPLE, name), "PII")
    assert list(store.tags.tags()) == ["PII"]
    store.tags.remove(DatasetField(PEOPLE, fields[-1]), "PII")
    assert list(store.tags.tags()) == []


def test_two_writers_leave_one_of_their_tags_and_its_index(store: LineageStore, table: Table) -> None:
    def work(number: int) -> None:
        for step in range(20):
            tag = f"tag {step % 3}"
            store.tags.put(EMAIL, tag, (ANA, BOB)[number % 2])
            if (step + number) % 4 == 0:
                table.write([[Put(layout.tags_row(EMAIL), layout.tag_column(tag), b"")]])

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    tags = store.tags.field_tags(EMAIL)
    assert {tag.note for tag in tags} <= {ANA, BOB}
    assert list(store.tags.tags()) == [tag.tag for tag in tags]
    assert findings(table) == []


class CountedTable:
    """A table that counts the calls of reads and writes."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self.calls = 0

    def __getattr__(self, name: str) -> object:
        if name in ("get", "rows", "scan", "scan_many", "write"):
            self.calls += 1
        return getattr(self._table, name)


@pytest.mark.slow
@pytest.mark.parametrize("count", [1_000, pytest.param(5_000, marks=pytest.mark.long)])
@pytest.mark.parametrize("shape", ["many tags of one field", "one tag of many fields"])
def test_thousands_of_tags_cost_calls_by_the_hundred(shape: str, count: int) -> None:
    counted = CountedTable(open_table("sqlite:///:memory:"))
    store = LineageStore(counted, clock=lambda: NOW_MS)  # type: ignore[arg-type]
    names = [f"{number:04}" for number in range(count)]
    many_tags = shape.startswith("many tags")
    tags = tuple(DeclaredTag("f" if many_tags else name, name if many_tags else "PII", "x") for name in names)
    store.put_metadata([DatasetMetadata(PEOPLE, tags=tags)])
    assert counted.calls < count // 100
    counted.calls = 0
    assert len(list(store.tags.dataset_tags(PEOPLE))) == count
    assert counted.calls < count // 25
    counted.calls = 0
    page = store.tags.tagged(tags[0].tag, limit=100)
    assert len(page.tags) == (1 if many_tags else 100)
    assert counted.calls < 100
    counted.calls = 0
    assert len(list(store.tags.tags())) == (count if many_tags else 1)
    # One or two seeks for each tag, as for namespaces.
    assert counted.calls < 2 * count + 50
    counted.calls = 0
    assert store.tags.put(DatasetField(PEOPLE, tags[1].field), tags[1].tag, ANA)[1] is False
    assert counted.calls < 5


def test_metadata_neither_changes_nor_repeats_a_tag(store: LineageStore) -> None:
    store.tags.put(EMAIL, "PII", ANA)
    declared = DatasetMetadata(
        PEOPLE, tags=(DeclaredTag("e-mail %", "PII", "crawler"), DeclaredTag("city", "geo", "crawler"))
    )
    for _ in range(2):
        store.put_metadata([declared])
        assert store.tags.field_tags(EMAIL) == [FieldTag(EMAIL, "PII", NOW_MS, ANA)]
    city = DatasetField(PEOPLE, "city")
    assert store.tags.field_tags(city) == [FieldTag(city, "geo", NOW_MS, TagNote("crawler"))]


def test_retention_of_all_runs_leaves_tags_and_policies(table: Table) -> None:
    store = LineageStore(table)
    store.record([copying("one", start_ms=5)])
    field = DatasetField(DESTINATION, "f")
    store.tags.put(field, "PII", ANA)
    store.policies.put(POLICY)
    policy, until_ms = RetentionPolicy(default_ms=DAY_MS), 4_000_000_000_000
    assert garbage_collection.purge(table, policy, until_ms=until_ms, grace_ms=0).rows == 1
    garbage = garbage_collection.find_garbage(table, policy, until_ms=until_ms)
    garbage_collection.remove(table, garbage, policy, until_ms=until_ms)
    store = LineageStore(table)
    assert not store.catalogue.has_dataset(DESTINATION)
    assert [tag.tag for tag in store.tags.field_tags(field)] == ["PII"]
    assert [tag.tag for tag in store.tags.dataset_tags(DESTINATION)] == ["PII"]
    assert [policy.name for policy in store.policies.policies()] == ["gdpr"]
    assert findings(table) == []
    store.tags.remove(field, "PII")
    assert list(store.tags.tags()) == []


class TestAudit:
    def test_tags_policies_and_removed_ones_are_clean(self, store: LineageStore, table: Table) -> None:
        store.tags.put(EMAIL, "PII", ANA)
        store.tags.put(EMAIL, "old", ANA)
        store.tags.remove(EMAIL, "old")
        store.policies.put(POLICY)
        store.policies.put(AgePolicy("p", parse_max_age("1w"), "", EMAIL, "why", 0))
        store.policies.remove("gdpr")
        assert findings(table) == []

    def test_a_missing_index_row_is_put_again(self, store: LineageStore, table: Table) -> None:
        store.tags.put(EMAIL, "PII", ANA)
        table.delete([CellKey(layout.tag_index_row("PII", EMAIL), layout.TAGGED)], until_ms=2**62)
        assert [finding.kind for finding in findings(table)] == [Kind.MISSING_TAG_INDEX]
        assert repaired(table) == []
        assert [tag.field for tag in store.tags.tagged("PII", limit=9).tags] == [EMAIL]

    @pytest.mark.parametrize(
        ("row", "column", "value"),
        [
            (b"t|ns|people", b"d:t|PII", b""),
            (b"t|ns|people|a b", b"d:t|PII", b""),
            (b"t|ns|people|age", b"d:t|a b", b""),
            (b"t|ns|people|age", b"d:t|PII", b"x"),
            (b"t|ns|people|age", b"d:t|PII", b'{"by":"ana"}'),
            (b"t|ns|people|age", b"d:t|PII", b'{"at":"today"}'),
            (b"t|ns|people|age", b"d:t|PII", b'{"at":1,"by":"\xff"}'),
            (b"g|PII|ns|people", b"d:t", b""),
            (b"g|PII|ns|people|a b", b"d:t", b""),
            (b"g|PII|ns|people|age", b"d:t", b"x"),
            (b"y|a b", b"d:p", b""),
            (b"y|p", b"d:p", b"{}"),
            (b"y|p", b"d:p", b'{"at":1,"maxAge":"never"}'),
            (b"y|p", b"d:p", b'{"at":1,"maxAge":"1d","field":["a"]}'),
        ],
    )
    def test_what_cannot_be_read_is_reported(
        self, table: Table, row: bytes, column: bytes, value: bytes
    ) -> None:
        table.write([[Put(row, column, value)]])
        assert [(finding.kind, finding.row) for finding in findings(table)] == [(Kind.UNREADABLE, row)]

    def test_an_unreadable_tag_is_an_error_of_every_question_about_it(
        self, store: LineageStore, table: Table
    ) -> None:
        table.write([[Put(layout.tags_row(EMAIL), layout.tag_column("PII"), b"x")]])
        with pytest.raises(CorruptRow, match="is not the value of a tag"):
            store.tags.field_tags(EMAIL)
