"""Impact: what a change of SQL, of a pipeline or of a field changes, and what is downstream of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from fll_hbase.client.local.local_client import LocalClient
from fll_hbase.ingest.document_batches import batch_documents
from fll_hbase.ingest.ndjson import InputLine
from fll_hbase.model.access import Grant, Principal, Role
from fll_hbase.model.datasets import Dataset, DatasetField
from fll_hbase.model.lineage import build_lineage
from fll_hbase.model.operations import Field, InputField, Read, Write
from fll_hbase.queries.impact.change_impact import ImpactAnswer, Inputs
from fll_hbase.queries.impact.proposed_programs import DOCUMENTS_MAX
from fll_hbase.runtime.errors import InvalidQuery, NotFound, UnreadableDocument
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.store.rights.store_view import StoreView
from fll_hbase.tables import open_table
from tests.support.work import count_calls

NOW_MS = 1_790_000_000_000
STAGE = (
    "INSERT INTO stage (id, email, amount) SELECT id, lower(email), amount * 2 FROM raw WHERE status = 'a'"
)
MART = "INSERT INTO mart (customer, total) SELECT email, sum(amount) FROM stage GROUP BY email"


def sql_document(
    program: str, sql: str, *, run: str = "new", hours: int = 1, **members: Any
) -> dict[str, Any]:
    """Return the document of a run that started some hours ago."""
    start_ms = NOW_MS - hours * 3_600_000
    head = {"application": "etl", "program": program, "type": "sql", "run": run, "startTime": start_ms}
    return {"run": head, "sql": sql, "dialect": "postgres", **members}


def record(client: LocalClient, *documents: dict[str, Any]) -> None:
    lines = (InputLine(number, msgspec.json.encode(item)) for number, item in enumerate(documents, 1))
    for batch in batch_documents(lines, namespace="shop", documents_max=100):
        for result in client.record(batch):
            assert not isinstance(result, Exception), result


def client_of(store: LineageStore) -> LocalClient:
    return LocalClient(store, clock=lambda: NOW_MS)


@pytest.fixture
def store() -> Iterator[LineageStore]:
    """A stage and a mart that is made from it, each with two runs."""
    store = LineageStore(open_table("sqlite:///:memory:"), clock=lambda: NOW_MS)
    older = sql_document("stage", "INSERT INTO stage (id, old) SELECT id, x FROM raw", run="s0", hours=50)
    stage = sql_document("stage", STAGE, run="s1", hours=26)
    record(client_of(store), older, stage, sql_document("mart", MART, run="m1", hours=25))
    yield store
    store.close()


def impact_of(store: LineageStore, sql: str, *, program: str = "stage", **options: Any) -> ImpactAnswer:
    documents = (sql_document(program, sql),)
    return client_of(store).impact(namespace="shop", documents=documents, **options).body


def facts(body: ImpactAnswer) -> list[tuple[str, str, str]]:
    """Return kind, field and new name of each change."""
    return [(item.kind, str(item.field), item.to) for item in body.changes]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("lower(email)", "lower(email)", []),
        (", lower(email)", "", [("removed", "shop/stage.email", "")]),
        ("amount * 2", "amount + id", [("derived", "shop/stage.amount", "")]),
        ("WHERE", "WHERE amount > id AND", [("rows", "shop/stage.*", "")]),
        ("'a'", "'b'", [("literals", "shop/stage.*", "")]),
        ("FROM raw", "FROM (SELECT * FROM raw) AS raw", []),
    ],
)
def test_changes_of_a_statement(
    store: LineageStore, old: str, new: str, expected: list[tuple[str, str, str]]
) -> None:
    sql = STAGE.replace(old, new, 1)
    if not new:
        sql = sql.replace(", email", "", 1)
    if "SELECT *" in new:
        sql = STAGE.replace("FROM raw", "FROM (SELECT id, email, amount, status FROM raw) AS raw")
    body = impact_of(store, sql)
    assert facts(body) == expected
    (program,) = body.programs
    assert (program.status, program.last_run, program.changes) == ("compared", "s1", len(expected))


@pytest.mark.parametrize(
    ("old", "new", "changes"),
    [
        ("r JOIN s ON r.i = s.i", "r LEFT OUTER JOIN s ON r.i = s.i", True),
        ("r LEFT JOIN s ON r.i = s.i", "r RIGHT JOIN s ON r.i = s.i", True),
        ("r LEFT JOIN s ON r.i = s.i", "s LEFT JOIN r ON r.i = s.i", True),
        ("r LEFT JOIN s ON r.i = s.i", "r left outer join s ON r.i = s.i", False),
        ("r FULL JOIN s ON r.i = s.i", "s FULL JOIN r ON r.i = s.i", False),
        ("r JOIN s ON r.i = s.i", "r INNER JOIN s ON r.i = s.i", False),
        ("r INTERSECT SELECT r.a FROM r", "r EXCEPT SELECT r.a FROM r", True),
        ("r EXCEPT SELECT r.a FROM r", "r EXCEPT SELECT r.a FROM r", False),
    ],
)
def test_another_join_changes_all_rows(store: LineageStore, old: str, new: str, changes: bool) -> None:
    record(client_of(store), sql_document("j", f"INSERT INTO j (a) SELECT r.a FROM {old}", run="j1"))
    body = impact_of(store, f"INSERT INTO j (a) SELECT r.a FROM {new}", program="j")
    assert facts(body) == [("rows", "shop/j.*", "")] * changes


def test_a_field_is_renamed_if_one_new_field_is_made_equally(store: LineageStore) -> None:
    renamed = impact_of(store, STAGE.replace("id, email", "id, mail", 1))
    assert facts(renamed) == [("renamed", "shop/stage.email", "mail")]
    downstream = renamed.changes[0].downstream
    assert downstream is not None
    assert [(str(item), item.influence) for item in downstream.fields] == [
        ("shop/mart.*", "indirect"),
        ("shop/mart.customer", "direct"),
    ]
    assert [(item.program, item.last_run) for item in downstream.programs] == [("mart", "m1")]


def test_two_candidates_are_no_rename(store: LineageStore) -> None:
    sql = STAGE.replace("id, email", "id, mail, post", 1).replace(
        "lower(email)", "lower(email), lower(email)"
    )
    assert facts(impact_of(store, sql)) == [
        ("removed", "shop/stage.email", ""),
        ("added", "shop/stage.mail", ""),
        ("added", "shop/stage.post", ""),
    ]


def test_constants_are_no_rename(store: LineageStore) -> None:
    record(
        client_of(store), sql_document("flags", "INSERT INTO flags (id, a) SELECT id, 1 FROM raw", run="f1")
    )
    body = impact_of(store, "INSERT INTO flags (id, b) SELECT id, 1 FROM raw", program="flags")
    assert facts(body) == [("removed", "shop/flags.a", ""), ("added", "shop/flags.b", "")]


def test_rows_reach_every_field_downstream(store: LineageStore) -> None:
    (change,) = impact_of(store, STAGE.replace("WHERE", "WHERE id > amount AND", 1)).changes
    assert change.downstream is not None
    assert {str(item) for item in change.downstream.fields} == {
        "shop/mart.*",
        "shop/mart.customer",
        "shop/mart.total",
    }
    assert change.old is not None
    assert [str(item) for item in change.old.inputs] == ["shop/raw.status"]


def test_only_the_last_run_counts_and_failed_runs_do_not(store: LineageStore) -> None:
    # `old` was written by the run before the last one.
    assert facts(impact_of(store, STAGE)) == []


def test_an_unrecorded_program_is_not_unchanged(store: LineageStore) -> None:
    body = impact_of(store, STAGE, program="another")
    (program,) = body.programs
    assert (facts(body), program.status, program.last_run) == ([], "unrecorded", None)
    assert impact_of(store, STAGE, start="now-2h").programs[0].status == "unrecorded"


def test_another_destination_removes_the_former(store: LineageStore) -> None:
    body = impact_of(store, STAGE.replace("stage", "stage2", 1))
    assert [item for item in facts(body) if item[0] == "removed"] == [
        ("removed", "shop/stage.amount", ""),
        ("removed", "shop/stage.email", ""),
        ("removed", "shop/stage.id", ""),
    ]
    assert body.programs[0].last_run == "s1"


def test_unknown_columns_are_unknown_not_removed(store: LineageStore) -> None:
    body = impact_of(store, "INSERT INTO stage SELECT * FROM elsewhere")
    assert facts(body) == [("unknown", "shop/stage.*", "")]
    assert body.programs[0].status == "unknown"


def test_a_single_field(store: LineageStore) -> None:
    field = {"namespace": "shop", "name": "stage", "field": "amount"}
    client = client_of(store)
    (dropped,) = client.impact(fields=({**field, "change": "drop"},)).body.changes
    assert (dropped.kind, dropped.program) == ("removed", None)
    assert dropped.downstream is not None
    assert [str(item) for item in dropped.downstream.fields] == ["shop/mart.total"]
    (renamed,) = client.impact(fields=({**field, "change": "rename", "to": "sum"},)).body.changes
    assert (renamed.kind, renamed.to, renamed.downstream) == ("renamed", "sum", dropped.downstream)
    (retyped,) = client.impact(fields=({**field, "change": "type", "to": "text"},)).body.changes
    assert retyped.kind == "retyped"
    assert retyped.new is not None
    assert retyped.new.type == "text"


def test_a_field_that_nothing_reads(store: LineageStore) -> None:
    field = {"namespace": "shop", "name": "mart", "field": "total", "change": "drop"}
    (change,) = client_of(store).impact(fields=(field,)).body.changes
    assert change.downstream is not None
    assert (change.downstream.fields, change.downstream.programs) == ((), ())


@pytest.mark.parametrize(
    ("field", "error", "text"),
    [
        ({"field": "nope", "change": "drop"}, NotFound, "nope"),
        ({"field": "id", "change": "rename", "to": "email"}, InvalidQuery, "already"),
        ({"field": "id", "change": "rename"}, UnreadableDocument, "the new name"),
        ({"field": "id", "change": "drop", "to": "x"}, UnreadableDocument, "is only for"),
        ({"field": "id", "change": "explode"}, UnreadableDocument, "must be one of"),
        ({"field": "id", "change": "drop", "why": 1}, UnreadableDocument, "unknown member"),
        ({"change": "drop"}, UnreadableDocument, "missing"),
    ],
)
def test_wrong_changes_of_a_field(
    store: LineageStore, field: dict[str, Any], error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        client_of(store).impact(fields=({"namespace": "shop", "name": "stage", **field},))


def test_every_error_of_the_documents_is_named(store: LineageStore) -> None:
    broken = sql_document("stage", "SELEC nonsense FROM (")
    nameless = {"run": {}, "sql": STAGE}
    event = {"eventTime": "2026-11-01T00:00:00Z", "eventType": "COMPLETE", "producer": "https://x.org"}
    event |= {
        "run": {"runId": "0190b7a6-0000-7000-8000-000000000000"},
        "job": {"namespace": "n", "name": "j"},
    }
    with pytest.raises(UnreadableDocument) as raised:
        client_of(store).impact(namespace="shop", documents=(broken, nameless, event))
    assert {error.path.split(".")[1] for error in raised.value.errors} == {"0", "1", "2"}


def test_errors_that_are_not_listed_are_counted(store: LineageStore) -> None:
    document = {**sql_document("stage", STAGE), "operations": [{"type": "X"}] * 1_500}
    del document["sql"]
    with pytest.raises(UnreadableDocument) as raised:
        client_of(store).impact(namespace="shop", documents=(document,))
    assert sum(error.count for error in raised.value.errors) == 3_000


@pytest.mark.parametrize("options", [{}, {"documents": ({},) * (DOCUMENTS_MAX + 1)}, {"documents": (1,)}])
def test_no_change_and_too_many(store: LineageStore, options: dict[str, Any]) -> None:
    with pytest.raises(UnreadableDocument):
        client_of(store).impact(**options)


@pytest.mark.parametrize("value", [10**30, float("nan"), "\ud800", {1}, None, [[]]])
def test_any_value_is_an_error_with_its_path(store: LineageStore, value: Any) -> None:
    for member in ("sql", "run", "operations", "manifest", "config"):
        with pytest.raises(UnreadableDocument) as raised:
            client_of(store).impact(namespace="shop", documents=({member: value},))
        assert all(error.path.startswith("documents.0") for error in raised.value.errors)


def test_nothing_is_stored(store: LineageStore) -> None:
    rows = list(store.table.scan(b"", b"\xff" * 8))
    impact_of(store, "INSERT INTO brand_new (id) SELECT id FROM raw", program="brand_new")
    assert list(store.table.scan(b"", b"\xff" * 8)) == rows


def test_a_reader_sees_only_what_it_may_read(store: LineageStore) -> None:
    other = sql_document("secret", "INSERT INTO secret.hidden.t (x) SELECT email FROM stage", run="h1")
    record(client_of(store), {**other, "namespace": "shop"})
    bank = sql_document("take", "INSERT INTO taken (x) SELECT email FROM stage", run="t1")
    bank["datasetNamespace"] = "bank"
    record(client_of(store), bank)
    principal = Principal("reader", (Grant(Role.READER, "shop"),))
    body = impact_of(StoreView(store, principal), STAGE.replace("lower(email)", "email"))
    assert "bank" not in msgspec.json.encode(body).decode()
    assert facts(body) == [("derived", "shop/stage.email", "")]


def test_readers_of_a_renamed_field_are_not_changed(store: LineageStore) -> None:
    stage = sql_document("stage", STAGE.replace("id, email", "id, mail", 1))
    mart = sql_document("mart", MART.replace("SELECT email", "SELECT mail").replace("BY email", "BY mail"))
    body = client_of(store).impact(namespace="shop", documents=(stage, mart)).body
    # The text of the clause differs, and the text of the copied column does not count.
    assert facts(body) == [("renamed", "shop/stage.email", "mail"), ("rows", "shop/mart.*", "")]


def test_two_documents_of_one_program_are_refused(store: LineageStore) -> None:
    parts = ("INSERT INTO stage (id) SELECT id FROM raw", "INSERT INTO stage (email) SELECT email FROM raw")
    documents = tuple(sql_document("stage", sql, run=f"n{number}") for number, sql in enumerate(parts))
    with pytest.raises(UnreadableDocument) as raised:
        client_of(store).impact(namespace="shop", documents=documents)
    assert [(item.path, item.detail) for item in raised.value.errors] == [
        ("documents.1", "describes 'stage' of application 'etl' in namespace 'shop' again")
    ]


def test_an_event_is_refused_with_its_path(store: LineageStore) -> None:
    event = {
        "eventType": "START",
        "eventTime": "2026-11-01T00:00:00Z",
        "producer": "https://producer",
        "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
        "run": {"runId": "0191a1d0-0000-7000-8000-000000000000"},
        "job": {"namespace": "n", "name": "etl.stage"},
    }
    with pytest.raises(UnreadableDocument, match="a run that has happened") as raised:
        client_of(store).impact(namespace="shop", documents=(event,))
    assert [item.path for item in raised.value.errors] == ["documents.0"]


def copy_document(program: str, source: str, destination: str, *, run: str = "new") -> dict[str, Any]:
    """Return the document of a run that copies the field x of one dataset, `namespace/name`, to another."""
    (source_namespace, source_name), (namespace, name) = source.split("/"), destination.split("/")
    head = {
        "application": "etl",
        "program": program,
        "type": "x",
        "run": run,
        "startTime": NOW_MS - 3_600_000,
    }
    datasets = ({"namespace": source_namespace, "name": source_name}, {"namespace": namespace, "name": name})
    copied = {"inputs": [{"origin": "r", "name": "x"}], "outputs": ["x"]}
    operations = [
        {"type": "READ", "name": "r", "source": datasets[0], "outputs": ["x"]},
        {"type": "TRANSFORM", "name": "c", "description": "COPY", **copied},
        {"type": "WRITE", "name": "w", "destination": datasets[1], "inputs": [{"origin": "c", "name": "x"}]},
    ]
    return {"run": head, "operations": operations}


@pytest.mark.parametrize(
    ("source", "destination", "expected"),
    [
        ("secret/from", "shop/taken", []),
        # Which hidden dataset it reads cannot be compared.
        ("secret/other", "shop/taken", []),
        ("shop/raw", "shop/taken", [("derived", "shop/taken.x", "")]),
        ("secret/from", "secret/taken", [("removed", "shop/taken.x", "")]),
        ("secret/from", "shop/moved", [("removed", "shop/taken.x", ""), ("added", "shop/moved.x", "")]),
    ],
)
def test_a_program_with_a_hidden_source_is_unknown(
    store: LineageStore, source: str, destination: str, expected: list[tuple[str, str, str]]
) -> None:
    record(client_of(store), copy_document("take", "secret/from", "shop/taken", run="t1"))
    view = StoreView(store, Principal("reader", (Grant(Role.READER, "shop"),)))
    documents = (copy_document("take", source, destination),)
    body = client_of(view).impact(namespace="shop", documents=documents).body
    assert facts(body) == expected
    (program,) = body.programs
    assert (program.status, program.last_run) == ("unknown", "t1")
    assert "secret" not in msgspec.json.encode(body).decode()


def test_inputs_of_all_changed_fields_are_read_together(store: LineageStore) -> None:
    def calls(count: int) -> int:
        raw, fields = Dataset("shop", "raw"), tuple(Field(f"c{number}") for number in range(count))
        inputs = tuple(InputField("r", field.name) for field in fields)
        operations = (Read("r", "", raw, "", fields), Write("w", "", Dataset("shop", "wide"), "", inputs))
        field_map = build_lineage(operations).field_map
        changed = [DatasetField(Dataset("shop", "wide"), field.name) for field in fields]

        def read() -> None:
            listed = Inputs()
            for field in changed:
                listed.add(field_map, field)
            assert [listed.first(field_map, field) for field in changed] == [
                [DatasetField(raw, field.name)] for field in changed
            ]

        return count_calls(read)

    assert calls(400) < 5 * calls(100)
