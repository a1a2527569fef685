"""Urns and end points, field paths and names: each says the other again, whatever the characters."""

from __future__ import annotations

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from fll_hbase.model.datasets import Dataset
from fll_hbase.sources.datahub import schema_paths, urns
from fll_hbase.sources.datahub.urns import FieldUrn, JobUrn

_PIECES = st.sampled_from(
    [",", "(", ")", "␟", "%", "25", "2C", "28", "%2C", "%252C", "%E2%90%9F", ":", "/", ".", "é", "🙂", "a"]
)
texts = st.lists(_PIECES, min_size=1, max_size=8).map("".join) | st.text(
    st.characters(exclude_categories=["Cs"]), min_size=1, max_size=10
)
encoded = texts.map(urns.encode)
"""Every text that may stand in a urn as DataHub writes them: nothing reserved in it."""

environments = st.sampled_from(["PROD", "DEV", "prod", "NON_PROD"])
platforms = encoded.filter(lambda platform: not platform.startswith("urn:"))


@pytest.mark.parametrize(
    ("urn", "namespace", "name"),
    [
        ("urn:li:dataset:(urn:li:dataPlatform:hive,db.table,PROD)", "hive", "db.table"),
        ("urn:li:dataset:(urn:li:dataPlatform:hive,db.table,DEV)", "hive:DEV", "db.table"),
        ("urn:li:dataset:(urn:li:dataPlatform:hive,west.db.table,PROD)", "hive", "west.db.table"),
        ("urn:li:dataset:(urn:li:dataPlatform:s3,bucket/a%2Cb %281%29.csv,PROD)", "s3", "bucket/a,b (1).csv"),
        ("urn:li:dataset:(urn:li:dataPlatform:s3,größe 🙂,QA)", "s3:QA", "größe 🙂"),
        ("urn:li:dataset:(urn:li:dataPlatform:a:b,c,PROD)", "a:b:PROD", "c"),
        ("urn:li:dataset:(urn:li:dataPlatform:s3,50%25,PROD)", "s3", "50%25"),
        ("urn:li:dataset:(urn:li:dataPlatform:s3,50%252C,PROD)", "s3", "50%2C"),
        ("urn:li:chart:(looker,a)", "urn:li:chart", "(looker,a)"),
    ],
)
def test_urns_as_datahub_writes_them(urn: str, namespace: str, name: str) -> None:
    assert urns.parse_dataset(urn) == Dataset(namespace, name)
    assert urns.dataset_urn(Dataset(namespace, name)) == urn


@pytest.mark.parametrize(
    ("namespace", "expected"),
    [
        ("hive", ("hive", "PROD")),
        ("hive:DEV", ("hive", "DEV")),
        ("urn:li:chart", ("urn:li:chart", "PROD")),
    ],
)
def test_platforms_of_namespaces(namespace: str, expected: tuple[str, str]) -> None:
    assert urns.platform_and_environment(namespace) == expected


@given(platforms, encoded, environments)
@example("hive", "a%2Cb", "PROD")
@example("a:PROD", "b", "PROD")
def test_every_urn_comes_back(platform: str, name: str, environment: str) -> None:
    urn = f"urn:li:dataset:(urn:li:dataPlatform:{platform},{name},{environment})"
    assert urns.dataset_urn(urns.parse_dataset(urn)) == urn


@given(texts, texts)
@example("hive:DEV", "a,b")
@example("urn:li:chart", "(looker,a)")
def test_every_end_point_comes_back(namespace: str, name: str) -> None:
    assume(not namespace.endswith(":PROD") and not namespace.startswith(":"))
    assume(not namespace.startswith("urn:") or namespace == "urn:li:chart")
    assert urns.parse_dataset(urns.dataset_urn(Dataset(namespace, name))) == Dataset(namespace, name)


@given(st.lists(st.tuples(platforms, encoded, environments), min_size=2, max_size=2, unique=True))
def test_no_two_urns_are_one_end_point(several: list[tuple[str, str, str]]) -> None:
    names = {
        urns.parse_dataset("urn:li:dataset:(urn:li:dataPlatform:{},{},{})".format(*item)) for item in several
    }
    assert len(names) == 2


@given(texts)
def test_parts_of_urns_come_back(text: str) -> None:
    assert urns.decode(urns.encode(text)) == text
    assert not set(",()␟") & set(urns.encode(text))


@given(texts.filter(lambda text: not text.endswith(":PROD")), texts, texts)
def test_fields_come_back(platform: str, name: str, path: str) -> None:
    assume(not platform.startswith((":", "urn:")))
    owner = FieldUrn(Dataset(platform, name), path)
    urn = f"urn:li:schemaField:({urns.dataset_urn(owner.dataset)},{urns.encode(path)})"
    assert urns.parse_field(urn) == owner


@pytest.mark.parametrize("name", ["f(x)", "a,b", "a(b,c)d"])
def test_names_that_none_encoded_are_read_and_reported_as_they_should_be(name: str) -> None:
    urn = f"urn:li:dataset:(urn:li:dataPlatform:hive,{name},PROD)"
    assert urns.parse_dataset(urn) == Dataset("hive", name)
    assert urns.dataset_urn(Dataset("hive", name)) == urn.replace(name, urns.encode(name))
    field = f"urn:li:schemaField:({urn},decimal(10,2))"
    assert urns.parse_field(field) == FieldUrn(Dataset("hive", name), "decimal(10,2)")


@pytest.mark.parametrize(
    "urn",
    [
        "",
        "hive.db.table",
        "urn:li:dataset:x",
        "urn:li:dataset:(urn:li:dataPlatform:hive,db.table)",
        "urn:li:dataset:(hive,db.table,PROD)",
        "urn:li:dataset:(urn:li:dataPlatform:,db.table,PROD)",
        "urn:li:dataset:(urn:li:dataPlatform:hive,,PROD)",
        "urn:li:dataset:(urn:li:dataPlatform:hive,db.table,PR OD)",
        "urn:li:dataset:(urn:li:dataPlatform:urn:li:x,db.table,PROD)",
        "urn:li:chart:",
    ],
)
def test_what_is_no_urn_is_reported(urn: str) -> None:
    with pytest.raises(ValueError, match="is not an urn"):
        urns.parse_dataset(urn)
    with pytest.raises(ValueError, match="is not an urn"):
        urns.parse_field(f"urn:li:schemaField:({urn},a)")
    with pytest.raises(ValueError, match="is not an urn"):
        urns.parse_job(urn)


@pytest.mark.parametrize("urn", ["urn:li:schemaField:(urn:li:chart:x,)", "urn:li:schemaField:(a", "x"])
def test_what_is_no_field_is_reported(urn: str) -> None:
    with pytest.raises(ValueError, match="is not an urn of a field"):
        urns.parse_field(urn)


def test_jobs() -> None:
    urn = "urn:li:dataJob:(urn:li:dataFlow:(airflow,night%2Cly,%s),load %281%29)"
    assert urns.parse_job(urn.replace("%s", "PROD")) == JobUrn("airflow", "night,ly", "load (1)")
    assert urns.parse_job(urn.replace("%s", "east")) == JobUrn("airflow:east", "night,ly", "load (1)")


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("a", "a"),
        ("a.b", "a/b"),
        ("[version=2.0].[type=string].a", "a"),
        ("[version=2.0].[type=struct].[type=array].a.[type=string].b", "a/b"),
        ("[version=2.0].[type=com.shop.Order].[type=string].unit.price", "unit.price"),
        ("[version=2.0].[key=True].[type=Key].[type=long].id", "[key]/id"),
        ("[version=2.0].[type=union].[type=A].a.[type=string].f", "a/f"),
        ("[version=2.0].[type=Order].[type=array].lines.[type=Line]", "lines"),
        ("[version=2.0].[type=string]", "[version=2.0].[type=string]"),
        ("[version=2.0].[key=True].[type=string]", "[version=2.0].[key=True].[type=string]"),
    ],
)
def test_field_paths(path: str, name: str) -> None:
    assert schema_paths.field_name(path) == name
    assert schema_paths.field_name(schema_paths.field_path(name)) == name


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("a/b", "a.b"),
        ("a", "a"),
        ("unit.price", "[version=2.0].[type=unknown].unit.price"),
        ("a/b.c", "[version=2.0].[type=unknown].a.[type=unknown].b.c"),
        ("[key]/id", "[version=2.0].[key=True].[type=unknown].id"),
    ],
)
def test_paths_of_names_are_as_plain_as_can_be(name: str, path: str) -> None:
    assert schema_paths.field_path(name) == path


@given(texts | st.lists(st.sampled_from(["a", "/", ".", "[key]", "b", ".."]), min_size=1).map("".join))
@example("[key]")
@example("/")
@example("a//b.c/")
@example("[version=2.0].[type=string]")
def test_every_name_comes_back(name: str) -> None:
    assume("[type=" not in name or name == "[version=2.0].[type=string]")
    assert schema_paths.field_name(schema_paths.field_path(name)) == name


names = st.lists(st.text("ab.- é", min_size=1, max_size=5), min_size=1, max_size=4)
tokens = st.lists(st.sampled_from(["[type=struct]", "[type=array]", "[type=a.B]"]), min_size=1, max_size=3)


@given(names, st.data())
def test_version_two_loses_no_name(names: list[str], data: st.DataObject) -> None:
    steps = [f"{'.'.join(data.draw(tokens))}.{name}" for name in names]
    assert schema_paths.field_name(".".join([schema_paths.VERSION, *steps])) == "/".join(names)
