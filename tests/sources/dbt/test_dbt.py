"""Documents of dbt: runs, names, states, warnings and errors."""

from __future__ import annotations

import cProfile
import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fll_hbase.model.datasets import Dataset
from fll_hbase.model.operations import Read, Write
from fll_hbase.model.runs import State
from fll_hbase.runtime.errors import InputError, TooLarge, UnreadableDocument
from fll_hbase.sources import dbt
from fll_hbase.sources.dbt.manifest import unquote_relation
from tests.support.dbt_artifacts import (
    GENERATED_AT_MS,
    OK,
    SNAPSHOT,
    SOURCE,
    A,
    B,
    catalog,
    document,
    edges,
    node,
    read,
    run_results,
)


def errors(document: object) -> list[str]:
    """The errors of a document that is refused."""
    with pytest.raises(UnreadableDocument) as caught:
        read(document)
    return [str(error) for error in caught.value.errors]


def warnings(document: object) -> list[str]:
    """The warnings about a document, apart from that of the catalog it does not have."""
    return [str(warning) for warning in read(document).warnings if not str(warning).startswith("catalog:")]


def test_a_run_of_each_model_upstream_first() -> None:
    parsed = read(document(B, A))
    assert [recorded.run.program for recorded in parsed.runs] == ["model.p.a", "model.p.b"]
    run = parsed.runs[1].run
    assert (run.namespace, run.application, run.type, run.version) == ("ns", "p", "DBT", "")
    assert (run.run, run.start_ms, run.state) == ("i1:model.p.b", GENERATED_AT_MS, State.COMPLETE)
    assert edges(parsed.runs[1]) == {"id": ["s.a.id"], "y": ["s.a.x"]}
    assert parsed.runs[1].info.destinations == (Dataset("postgres://h:1", "s.b"),)


def test_sending_again_is_the_same_runs() -> None:
    given = document(A, B, results=[OK])
    assert read(given).runs == read(json.loads(json.dumps(given))).runs


def test_only_nodes_with_a_result_are_recorded() -> None:
    assert [recorded.run.program for recorded in read(document(A, B, results=[OK])).runs] == ["model.p.b"]


@pytest.mark.parametrize(
    ("status", "state"),
    [
        ("success", State.COMPLETE),
        ("partial success", State.COMPLETE),
        ("error", State.FAIL),
        ("fail", State.FAIL),
    ],
)
def test_states(status: str, state: State) -> None:
    (recorded,) = read(document(A, B, results=[OK | {"status": status, "message": "m"}])).runs
    assert recorded.run.state is state
    assert json.loads(recorded.run.details).get("error") == ("m" if state is State.FAIL else None)


@pytest.mark.parametrize("status", ["skipped", "no-op", "a status of the future"])
def test_nodes_that_were_not_built_are_counted(status: str) -> None:
    given = document(A, B, results=[OK | {"status": status}])
    assert read(given).runs == ()
    assert warnings(given) == [f"runResults: not built, so not recorded: {status} 1"]


def test_a_run_starts_when_it_was_executed() -> None:
    timing = [
        {"name": "compile", "started_at": "2026-01-31T09:00:00Z", "completed_at": "2026-01-31T09:00:01Z"},
        {"name": "execute", "started_at": "2026-01-31T09:00:02.001999Z", "completed_at": None},
    ]
    (recorded,) = read(document(A, B, results=[OK | {"timing": timing}])).runs
    assert recorded.run.start_ms == 1_769_850_002_001
    (recorded,) = read(document(A, B, results=[OK | {"timing": timing[:1]}])).runs
    assert recorded.run.start_ms == 1_769_850_000_000
    (recorded,) = read(document(A, B, results=[OK])).runs
    assert recorded.run.start_ms == GENERATED_AT_MS


@pytest.mark.parametrize("command", ["compile", "generate", "parse", "list", "show"])
def test_results_of_a_command_that_builds_nothing_are_passed_over(command: str) -> None:
    given = document(A, B, runResults=run_results([OK | {"status": "error"}], command=command))
    assert read(given).runs == read(document(A, B)).runs
    assert "builds nothing" in warnings(given)[0]


def test_models_that_were_not_compiled_are_counted() -> None:
    given = document(A, node("c"), node("e", materialized="ephemeral"))
    assert [recorded.run.program for recorded in read(given).runs] == ["model.p.a"]
    assert "manifest.nodes: without compiled code, so not recorded: model 1" in warnings(given)


def test_the_code_of_a_result_goes_before_that_of_the_manifest() -> None:
    """The manifest may be of a later invocation; the run's id and times are those of the results."""
    given = document(A, B, results=[OK | {"compiled_code": 'select x as z from "s"."a"'}])
    given["runResults"]["metadata"]["invocation_id"] = "i2"
    (recorded,) = read(given).runs
    assert (recorded.run.run, edges(recorded)) == ("i2:model.p.b", {"z": ["s.a.x"]})
    assert "manifest.metadata.invocation_id: differs" in warnings(given)[0]


def test_columns_of_the_catalog() -> None:
    columns = catalog(a={"ID": "integer", "X": "text"}, b={"id": "integer", "Y": "text"})
    star = node("b", 'select *, x as y from "s"."a"', depends_on=("model.p.a",))
    parsed = read(document(A, star, catalog=columns))
    assert edges(parsed.runs[1]) == {"id": ["s.a.ID"], "X": ["s.a.X"], "Y": ["s.a.X"]}
    assert [(str(schema.dataset), schema.fields[1].type) for schema in parsed.metadata] == [
        ("postgres://h:1/s.a", "text"),
        ("postgres://h:1/s.b", "text"),
    ]


def test_columns_of_a_model_are_known_downstream_without_a_catalog() -> None:
    star = node("b", 'select *, 1 as one from "s"."a"', depends_on=("model.p.a",))
    last = node("c", 'select * from "s"."b"', depends_on=("model.p.b",))
    given = document(last, star, A)
    assert edges(read(given).runs[2]) == {"id": ["s.b.id"], "x": ["s.b.x"], "one": ["s.b.one"]}
    assert warnings(given) == []


def test_columns_that_the_store_knows() -> None:
    given = document(node("b", "select t.* from raw.t"))
    parsed = read(given, **{"raw.t": ["k"]})
    assert edges(parsed.runs[0]) == {"k": ["raw.t.k"]}


def test_columns_of_a_contract_are_all_there_are() -> None:
    columns = {name: {"name": name, "data_type": "int"} for name in ("id", "x")}
    closed = node("a", "select * from raw.t", columns=columns, config={"contract": {"enforced": True}})
    assert edges(read(document(closed, node("b", 'select * from "s"."a"'))).runs[1]) == {
        "id": ["s.a.id"],
        "x": ["s.a.x"],
    }


def test_ephemeral_models_are_passed_through() -> None:
    ephemeral = node("e", "select id from raw.t", materialized="ephemeral", relation_name=None)
    code = "with __dbt__cte__e as (select id from raw.t) select id from __dbt__cte__e"
    parsed = read(document(ephemeral, node("b", code, depends_on=("model.p.e",))))
    assert [edges(recorded) for recorded in parsed.runs] == [{"id": ["raw.t.id"]}]


def test_a_source_goes_by_its_name_and_its_identifier() -> None:
    given = document(node("b", 'select id from "D"."raw"."T_2026"'))
    given["manifest"]["sources"] = {"source.p.raw.t": SOURCE}
    parsed = read(given)
    assert edges(parsed.runs[0]) == {"id": ["d.raw.t.id"]}
    (schema,) = parsed.metadata
    assert schema.dataset.name == "d.raw.t"
    assert [alias.name for alias in schema.aliases] == ["d.raw.t_2026"]


def test_a_seed_is_generated() -> None:
    given = document(node("f", type="seed", original_file_path="seeds/f.csv"))
    parsed = dbt.read(given, namespace="ns", columns=lambda _: ["k", "v"], now_ms=0)
    assert edges(parsed.runs[0]) == {"k": [""], "v": [""]}
    assert parsed.runs[0].info.operations[-1].description == "dbt seed seeds/f.csv"
    assert [type(operation) for operation in read(given).runs[0].info.operations] == [Write]


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        (
            {"strategy": "timestamp", "unique_key": "k", "updated_at": "u"},
            {
                "dbt_scd_id": ["raw.t.k", "raw.t.u"],
                "dbt_updated_at": ["raw.t.u"],
                "dbt_valid_from": ["raw.t.u"],
                "dbt_valid_to": ["raw.t.u"],
            },
        ),
        (
            {
                "strategy": "check",
                "unique_key": ["k", "v"],
                "check_cols": "all",
                "hard_deletes": "new_record",
            },
            {
                "dbt_scd_id": ["raw.t.k", "raw.t.v"],
                "dbt_updated_at": [""],
                "dbt_valid_from": [""],
                "dbt_valid_to": [""],
                "dbt_is_deleted": [""],
            },
        ),
        (
            {
                "strategy": "timestamp",
                "unique_key": "k || '-' || v",
                "updated_at": "u",
                "snapshot_meta_column_names": {"dbt_scd_id": "version", "dbt_valid_to": None},
            },
            {
                "version": ["raw.t.k", "raw.t.u", "raw.t.v"],
                "dbt_updated_at": ["raw.t.u"],
                "dbt_valid_from": ["raw.t.u"],
                "dbt_valid_to": ["raw.t.u"],
            },
        ),
        ({"strategy": "timestamp", "unique_key": ") no key (", "updated_at": "u"}, {}),
    ],
)
def test_snapshots_have_columns_of_their_own(config: dict[str, Any], expected: dict[str, list[str]]) -> None:
    parsed = read(document(node("h", SNAPSHOT, type="snapshot", config=config)))
    assert edges(parsed.runs[0]) == {name: [f"raw.t.{name}"] for name in "kvu"} | expected
    assert any("left out" in str(warning) for warning in parsed.warnings) is not bool(expected)


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("select from where", "line 1 column"),
        ("select 1; select 2", "must be one query, is SELECT, SELECT"),
        ("drop table x", "must be one query, is DROP"),
        ("-- nothing", "must be one query, is nothing"),
        ("(" * 2_000, "nested too deeply"),
    ],
)
def test_sql_that_cannot_be_read_costs_its_own_columns_alone(code: str, reason: str) -> None:
    ephemeral = node("e", "x", materialized="ephemeral", depends_on=("model.p.a", "model.p.gone"))
    given = document(A, ephemeral, node("b", code, depends_on=("model.p.e", "model.p.a")))
    parsed = read(given)
    assert edges(parsed.runs[0]) == {"id": ["raw.t.id"], "x": ["raw.t.x"]}
    operations = parsed.runs[1].info.operations
    assert [(type(operation), operation.name) for operation in operations] == [
        (Read, "read s.a"),
        (Write, "write s.b"),
    ]
    (warning,) = warnings(given)
    assert warning.startswith("manifest.nodes.model.p.b.compiled_code: ")
    assert reason in warning


def test_a_model_in_python_has_no_columns() -> None:
    given = document(
        A, node("b", "def model(dbt, session): ...", language="python", depends_on=("model.p.a",))
    )
    (recorded,) = (recorded for recorded in read(given).runs if recorded.run.program == "model.p.b")
    assert [source.name for source in recorded.info.sources] == ["s.a"]
    assert "sql" not in json.loads(recorded.run.details)
    assert "is Python" in warnings(given)[0]


def test_a_run_keeps_its_sql() -> None:
    (recorded,) = read(document(A)).runs
    assert json.loads(recorded.run.details) == {
        "dbtVersion": "1.11.0",
        "materialization": "table",
        "sql": "select id, x from raw.t",
    }


def test_everything_else_is_counted() -> None:
    given = document(A, node("n", type="test"), node("m", type="test"), node("o", type="operation"))
    given["manifest"] |= {"exposures": {"exposure.p.e": {}}, "saved_queries": {"saved_query.p.q": {}}}
    expected = "exposure 1, operation 1, saved query 1, test 2"
    assert warnings(given) == [f"manifest: ignored, so not recorded: {expected}"]


@pytest.mark.slow
def test_warnings_are_bounded() -> None:
    parsed = read(document(*(node(f"m{number}", "no sql") for number in range(1_200))))
    assert len(parsed.warnings) == 1_001
    assert str(parsed.warnings[-1]) == "201 more are not listed; correct these first"
    assert len(parsed.runs) == 1_200


def test_no_warning_gives_the_advice_of_sql_documents() -> None:
    codes = ["select * from t", "select a from t join u using (k)", "select x.* from t x union select 1"]
    given = document(*(node(f"m{number}", code) for number, code in enumerate(codes)))
    assert warnings(given)
    assert not [warning for warning in warnings(given) if "`schema`" in warning]


def test_the_namespace_of_datasets() -> None:
    given = document(A)
    del given["datasetNamespace"]
    assert "datasetNamespace: missing" in warnings(given)[0]
    assert read(given).runs[0].info.destinations == (Dataset("ns", "s.a"),)
    given["manifest"]["metadata"]["adapter_type"] = "bigquery"
    assert warnings(given) == []
    assert read(given).runs[0].info.destinations == (Dataset("bigquery", "s.a"),)


def test_an_adapter_without_a_dialect() -> None:
    given = document(A)
    given["manifest"]["metadata"]["adapter_type"] = "cobol"
    assert warnings(given) == [
        "manifest.metadata.adapter_type: 'cobol' has no dialect here: the SQL is read as standard SQL"
    ]
    assert edges(read(given).runs[0]) == {"id": ["raw.t.id"], "x": ["raw.t.x"]}


@pytest.mark.parametrize(
    ("relation", "name"),
    [
        ('"shop"."main"."a b"', "shop.main.a b"),
        ('"a""b"."c"', 'a"b.c'),
        ("`p-1`.`d`.`t`", "p-1.d.t"),
        ("`p-1.d.t`", "p-1.d.t"),
        ("[d].[dbo].[t]", "d.dbo.t"),
        ("[d].[dbo].[a[b]", "d.dbo.a[b"),
        ("DB.S.T", "DB.S.T"),
        ("", ""),
        ('"', ""),
    ],
)
def test_relations_without_their_quotes(relation: str, name: str) -> None:
    assert unquote_relation(relation) == name


def broken(path: str, value: object) -> dict[str, Any]:
    """A document with one member of another value; None takes it away."""
    given = document(A, B, results=[OK], catalog=catalog(a={"id": "int"}))
    *parents, last = path.split("/")
    holder: Any = given
    for parent in parents:
        holder = holder[int(parent) if isinstance(holder, list) else parent]
    if value is None:
        del holder[last]
    else:
        holder[last] = value
    return given


SCHEMAS = "https://schemas.getdbt.com/dbt"


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        ("manifest", None, "manifest: must be an object, is null"),
        ("manifest", [], "manifest: must be an object, is an array"),
        ("manifest/metadata", None, "manifest.metadata: must be an object, is null"),
        ("manifest/metadata", {}, "manifest.metadata.dbt_schema_version: missing"),
        ("catalog/metadata", {}, "catalog.metadata.dbt_schema_version: missing"),
        ("runResults", {}, "runResults.metadata: must be an object, is null"),
        ("runResults", {}, "runResults.results: missing"),
        ("manifest/metadata/adapter_type", None, "manifest.metadata.adapter_type: no adapter is known"),
        (
            "manifest/metadata/generated_at",
            "soon",
            "manifest.metadata.generated_at: 'soon' is not a time such as",
        ),
        (
            "manifest/metadata/generated_at",
            "1969-01-01",
            "manifest.metadata.generated_at: '1969-01-01' is before",
        ),
        (
            "manifest/metadata/dbt_schema_version",
            f"{SCHEMAS}/catalog/v1.json",
            "is not the schema of a dbt manifest",
        ),
        (
            "manifest/metadata/dbt_schema_version",
            f"{SCHEMAS}/manifest/v8.json",
            "v8 is too old: v9 is the oldest",
        ),
        ("manifest/metadata/dbt_schema_version", "?", "'?' is not the schema of a dbt manifest"),
        ("manifest/nodes", None, "manifest.nodes: must be an object, is null"),
        ("manifest/nodes/model.p.a/alias", None, "manifest.nodes.model.p.a.alias: missing"),
        (
            "manifest/nodes/model.p.a/resource_type",
            1,
            "manifest.nodes.model.p.a.resource_type: must be a string",
        ),
        (
            "manifest/nodes/model.p.a/compiled_code",
            1,
            "manifest.nodes.model.p.a.compiled_code: must be a string",
        ),
        ("manifest/nodes/model.p.a", 1, "manifest.nodes.model.p.a: must be an object, is a number"),
        (
            "manifest/nodes/model.p.a/alias",
            "x" * 5_000,
            "manifest.nodes.model.p.a: is longer than 4096 bytes",
        ),
        (
            "manifest/nodes/model.p.a/depends_on",
            {"nodes": [1]},
            "manifest.nodes.model.p.a.depends_on.nodes.0: must",
        ),
        ("manifest/nodes/model.p.a/columns", {"c": {}}, "manifest.nodes.model.p.a.columns.c.name: missing"),
        (
            "manifest/nodes/model.p.a/depends_on",
            {"nodes": ["model.p.b"]},
            "manifest.nodes: some depend on one another in a cycle",
        ),
        (
            "manifest/nodes/model.p.a/depends_on",
            {"nodes": ["model.p.a"]},
            "manifest.nodes: some depend on one another in a cycle",
        ),
        ("catalog/nodes", [1], "catalog.nodes: must be an object"),
        (
            "catalog/nodes/model.p.a/columns",
            {"c": {"name": ""}},
            "catalog.nodes.model.p.a.columns.c.name: must not",
        ),
        ("runResults/results", None, "runResults.results: missing"),
        ("runResults/results", [{}], "runResults.results.0.unique_id: missing"),
        ("runResults/results", [1], "runResults.results.0: must be an object"),
        ("runResults/results", [OK, OK], "'model.p.b' has a result already: runResults.results.0"),
        (
            "runResults/results",
            [OK | {"unique_id": "model.p.z"}],
            "'model.p.z' is not a readable node of the manifest",
        ),
        ("runResults/metadata/invocation_id", None, "runResults.metadata.invocation_id: must not be empty"),
        ("datasetNamespace", 1, "datasetNamespace: must be a string, is a number"),
        ("namespace", "other", "namespace: must be 'ns', as in the URL, or be left out"),
    ],
)
def test_what_is_wrong_is_named_with_its_path(path: str, value: object, expected: str) -> None:
    try:
        details = read(broken(path, value)).warnings
    except UnreadableDocument as error:
        details = error.errors
    assert any(expected in str(detail) for detail in details), details


def test_every_error_is_named_at_once() -> None:
    given = broken("manifest/metadata", None)
    given["runResults"]["metadata"] = 1
    assert len(errors(given)) == 2


def test_a_newer_schema_is_read_like_the_newest() -> None:
    given = broken("manifest/metadata/dbt_schema_version", f"{SCHEMAS}/manifest/v20.json")
    assert len(read(given).runs) == 1
    assert "v20 is newer than v12, and read like v12" in warnings(given)[0]


def test_a_document_of_its_own_namespace() -> None:
    def read_alone(document: object) -> dbt.ParsedArtifacts:
        return dbt.read(document, namespace=None, columns=lambda _: None, now_ms=0)

    assert read_alone(document(A, namespace="mine")).runs[0].run.namespace == "mine"
    with pytest.raises(UnreadableDocument, match="namespace: missing"):
        read_alone(document(A))


def test_a_target_folder(tmp_path: Path) -> None:
    given = document(A, B, results=[OK])
    given["manifest"]["macros"] = {"macro.dbt.x": {"macro_sql": "x" * 1_000}}
    given["manifest"]["nodes"]["model.p.a"]["raw_code"] = "x"
    (tmp_path / "manifest.json").write_text(json.dumps(given["manifest"]))
    (tmp_path / "run_results.json").write_text(json.dumps(given["runResults"]))
    folder_document = dbt.read_target(tmp_path)
    assert set(folder_document) == {"manifest", "runResults"}
    assert "macros" not in folder_document["manifest"]
    assert read(folder_document | {"datasetNamespace": "postgres://h:1"}) == read(given)


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("catalog.json", b"{}", "manifest.json: No such file or directory: give the target folder"),
        ("manifest.json", b"{", "manifest.json: not JSON"),
        ("manifest.json", gzip.compress(b"{}", mtime=0), "manifest.json: not UTF-8"),
    ],
)
def test_a_folder_that_is_no_target(tmp_path: Path, name: str, content: bytes, expected: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=expected):
        dbt.read_target(tmp_path)


def test_a_folder_of_anything(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text('[{"nodes": 1}]')
    assert errors(dbt.read_target(tmp_path)) == ["manifest: must be an object, is an array"]
    with pytest.raises(TooLarge, match="larger than 5 bytes"):
        dbt.read_target(tmp_path, bytes_max=5)


def project(models: int) -> dict[str, Any]:
    """A project of layers of ten models, each of three of the layer before, without a catalog."""
    nodes = []
    for number in range(models):
        parents = [f"m{max(number - 10 - step, 0)}" for step in range(3)] if number >= 10 else []
        tables = [f'"s"."{parent}"' for parent in parents] or ['"raw"."t"']
        columns = ", ".join(f"t0.c{n} + 1 as c{n}" for n in range(20))
        joins = " ".join(
            f"left join {table} as t{n} on t{n}.c0 = t0.c0" for n, table in enumerate(tables[1:], 1)
        )
        code = f"with x as (select {columns} from {tables[0]} as t0 {joins} where t0.c1 > 0) select * from x"
        nodes.append(node(f"m{number}", code, depends_on=tuple(f"model.p.{parent}" for parent in parents)))
    return document(*nodes)


def count_calls(work: Callable[[], object]) -> int:
    """Count the Python calls of `work`: its cost, whatever else the machine does."""
    profile = cProfile.Profile()
    profile.runcall(work)
    return sum(entry.callcount for entry in profile.getstats())


@pytest.mark.slow
def test_cost_grows_with_the_number_of_models() -> None:
    """Four times as many models cost at most five times as many calls."""
    calls = {}
    for models in (20, 80):
        given = project(models)
        assert len(read(given).runs) == models
        calls[models] = count_calls(lambda given=given: read(given))
    assert calls[80] < 5 * calls[20]


def chained_project(models: int) -> dict[str, Any]:
    """A chain of ephemeral models behind 50 models whose SQL cannot be parsed."""
    chain = [
        node(
            f"e{number}",
            "x",
            materialized="ephemeral",
            depends_on=(f"model.p.e{number + 1}", f"model.p.t{number}"),
        )
        for number in range(models)
    ]
    tables = [node(f"t{number}", "select 1 as one") for number in range(models)]
    blind = [node(f"b{number}", "no sql", depends_on=("model.p.e0",)) for number in range(50)]
    return document(*chain, *tables, *blind)


@pytest.mark.long
def test_a_chain_of_ephemeral_models_is_followed_within_bounds() -> None:
    """Beyond the bound on sources a longer chain costs no more than its own length."""
    calls = {}
    for models in (1_000, 2_000):
        given = chained_project(models)
        assert max(len(recorded.info.sources) for recorded in read(given).runs) == 499
        calls[models] = count_calls(lambda given=given: read(given))
    assert calls[2_000] < 2.5 * calls[1_000]


@pytest.mark.parametrize(
    ("adapter", "members", "dataset"),
    [
        ("bigquery", {"database": "my-shop", "relation_name": "`my-shop`.`s`.`a`"}, "my-shop.s.a"),
        ("snowflake", {"database": "shop", "relation_name": "SHOP.S.A"}, "shop.s.a"),
        ("databricks", {"database": "main", "relation_name": "`main`.`s`.`a`"}, "main.s.a"),
        ("spark", {"database": None, "relation_name": "s.a"}, "s.a"),
        ("sqlserver", {"database": "shop", "relation_name": '"shop"."s"."a"'}, "shop.s.a"),
        ("clickhouse", {"database": "", "relation_name": "`s`.`a`"}, "s.a"),
        (
            "athena",
            {"database": "awsdatacatalog", "relation_name": '"awsdatacatalog"."s"."a"'},
            "awsdatacatalog.s.a",
        ),
        ("redshift", {"database": "dev", "relation_name": '"dev"."s"."a"'}, "dev.s.a"),
        ("trino", {"database": "hive", "relation_name": '"hive"."s"."a"'}, "hive.s.a"),
    ],
)
def test_relations_of_adapters_are_found_in_their_sql(
    adapter: str, members: dict[str, Any], dataset: str
) -> None:
    """Written and read under one name, in whatever case and with whatever quotes the adapter writes it."""
    above = node("a", "select id from raw.t", **members)
    below = node("b", f"select ID from {members['relation_name']} as x", depends_on=("model.p.a",))
    given = document(above, below)
    given["manifest"]["metadata"]["adapter_type"] = adapter
    upstream, downstream = read(given).runs
    assert [end.name for end in upstream.info.destinations] == [dataset]
    assert [end.name for end in downstream.info.sources] == [dataset]
    assert list(edges(downstream).values()) == [[f"{dataset}.id"]]
