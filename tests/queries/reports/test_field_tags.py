"""Tags of the fields of a report: under all names, in batches, until the deadline, without damaged rows."""

from __future__ import annotations

from collections.abc import Collection

import pytest

from fll_hbase.keys import layout
from fll_hbase.model.datasets import Dataset, DatasetField, DatasetMetadata, Field
from fll_hbase.model.masking import HIDDEN_NAMESPACE
from fll_hbase.model.tags import FieldTag, TagNote
from fll_hbase.queries.reports import field_tags
from fll_hbase.queries.reports.field_tags import read_tags, subject_field
from fll_hbase.runtime import damage, deadline
from fll_hbase.runtime.errors import DeadlineExceeded
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import Put, Table, open_table
from tests.support.table_calls import CountingTable

ALIAS = Dataset("ns", "people_v1")
FIELDS = [DatasetField(Dataset("ns", "people"), f"f{number}") for number in range(5)]


@pytest.fixture
def table() -> Table:
    return open_table("sqlite:///:memory:")


@pytest.fixture
def store(table: Table) -> LineageStore:
    """A dataset of five fields under two names; its first three fields have tags."""
    store = LineageStore(table)
    fields = tuple(Field(field.name) for field in FIELDS)
    store.put_metadata(
        [
            DatasetMetadata(FIELDS[0].dataset, fields, description="all people", aliases=(ALIAS,)),
            DatasetMetadata(ALIAS, fields),
        ]
    )
    for tag in ("secret", "PII"):
        store.tags.put(FIELDS[0], tag, TagNote())
    store.tags.put(DatasetField(ALIAS, "f1"), "PII", TagNote())
    store.tags.put(FIELDS[2], "gone", TagNote())
    store.tags.remove(FIELDS[2], "gone")
    return store


EXPECTED = {FIELDS[0]: ("PII", "secret"), FIELDS[1]: ("PII",)}


def test_sorted_names_under_all_names_of_a_dataset(store: LineageStore) -> None:
    truncated_by: set[str] = set()
    assert read_tags(store, FIELDS, truncated_by) == EXPECTED
    assert read_tags(store, [], truncated_by) == {}
    assert truncated_by == set()


def test_two_calls_for_each_batch(store: LineageStore, table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    for size, batches in ((500, 1), (2, 3)):
        monkeypatch.setattr(field_tags, "BATCH_FIELDS", size)
        counting = CountingTable(table)
        assert read_tags(LineageStore(counting), FIELDS, set()) == EXPECTED  # type: ignore[arg-type]
        assert counting.calls == {"rows": 2 * batches}


def test_hidden_fields_are_not_read(table: Table) -> None:
    counting = CountingTable(table)
    hidden = DatasetField(Dataset(HIDDEN_NAMESPACE, "hidden 1"), "*")
    assert read_tags(LineageStore(counting), [hidden], set()) == {}  # type: ignore[arg-type]
    assert not counting.calls


def test_a_damaged_row_is_left_out_and_noted(store: LineageStore, table: Table) -> None:
    table.write([[Put(layout.tags_row(FIELDS[0]), layout.tag_column("PII"), b"\xffno tag")]])
    with damage.noting() as damaged:
        assert read_tags(store, FIELDS, set()) == {FIELDS[1]: ("PII",)}
    assert len(damaged) == 1


def test_a_damaged_description_is_left_out_and_noted(store: LineageStore, table: Table) -> None:
    truncated_by: set[str] = set()
    subject = subject_field(store, FIELDS[0], EXPECTED, truncated_by)
    assert (subject.tags, subject.dataset_description) == (("PII", "secret"), "all people")
    key = layout.dataset_row(FIELDS[0].dataset)
    column = next(name for name in table.get(key) if name.startswith(layout.DESCRIPTION))
    table.write([[Put(key, column, b"\xff")]])
    with damage.noting() as damaged:
        assert subject_field(store, FIELDS[0], {}, truncated_by).dataset_description == ""
    assert [str(error).split(":")[0] for error in damaged] == [key.decode()]
    assert truncated_by == set()


def test_at_the_deadline_it_returns_what_was_read(
    store: LineageStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(field_tags, "BATCH_FIELDS", 1)
    truncated_by: set[str] = set()
    read = store.tags.listed_tags_of_all_names

    def until_the_second(fields: Collection[DatasetField]) -> dict[DatasetField, list[FieldTag]]:
        if FIELDS[1] in fields:
            raise DeadlineExceeded("the time is over")
        return read(fields)

    monkeypatch.setattr(store.tags, "listed_tags_of_all_names", until_the_second)
    with deadline.limited(600):
        assert read_tags(store, FIELDS, truncated_by) == {FIELDS[0]: ("PII", "secret")}
    assert truncated_by == {"request_seconds=600"}


def test_nothing_is_read_after_the_deadline(store: LineageStore) -> None:
    truncated_by: set[str] = set()
    with deadline.limited(1e-9):
        assert read_tags(store, FIELDS, truncated_by) == {}
    assert truncated_by == {"request_seconds=1e-09"}


def test_no_description_after_the_deadline(store: LineageStore, monkeypatch: pytest.MonkeyPatch) -> None:
    def description(_: Dataset) -> str:
        raise DeadlineExceeded("the time is over")

    monkeypatch.setattr(store.catalogue, "description", description)
    truncated_by: set[str] = set()
    with deadline.limited(600):
        assert subject_field(store, FIELDS[0], EXPECTED, truncated_by).dataset_description == ""
    assert truncated_by == {"request_seconds=600"}
