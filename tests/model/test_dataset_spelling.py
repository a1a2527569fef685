"""Names of datasets that captured jobs, OpenLineage and warehouses share."""

from __future__ import annotations

import pytest

from fll_hbase.model.dataset_spelling import file_alias, path_name

PATHS = {
    "/data/orders": ("file", "/data/orders"),
    "file:/data/orders/": ("file", "/data/orders"),
    "file:///data/c s v ü": ("file", "/data/c s v ü"),
    "file:/data/c%20s": ("file", "/data/c s"),
    "/data/orders/day=1/hour=2": ("file", "/data/orders"),
    "/data/orders/day=1/part.parquet": ("file", "/data/orders/day=1/part.parquet"),
    "/": ("file", "/"),
    "/day=1": ("file", "/"),
    "day=1": ("file", "day=1"),
    "/data/=1": ("file", "/data/=1"),
    f"s3://bucket/data{'/d=1' * 900}": ("s3://bucket", "data"),
    "hdfs://nn:8020/data/orders": ("hdfs://nn:8020", "/data/orders"),
    "s3a://bucket/data/orders/": ("s3://bucket", "data/orders"),
    "s3n://bucket/": ("s3://bucket", "/"),
    "gs://bucket/data/day=1": ("gs://bucket", "data"),
    "wasbs://box@account.blob.core.windows.net/data": (
        "wasbs://box@account.blob.core.windows.net",
        "data",
    ),
    "abfss://box@account.dfs.core.windows.net/data": (
        "abfss://box@account.dfs.core.windows.net",
        "/data",
    ),
    "dbfs:/mnt/orders": ("dbfs", "/mnt/orders"),
    "gcs://bucket/data": ("gs://bucket", "data"),
    "azure://account.blob.core.windows.net/box/data/": ("wasbs://box@account.blob.core.windows.net", "data"),
    "azure://account.blob.core.windows.net/box": ("wasbs://box@account.blob.core.windows.net", "/"),
}


@pytest.mark.parametrize("path", PATHS)
def test_paths(path: str) -> None:
    assert path_name(path) == PATHS[path]


@pytest.mark.parametrize("uri", ["S3A://b/a/", "s3://b/a", "gs://b/k=v/a", "dbfs:/mnt/a", "azure://h/box/a"])
def test_the_alias_of_a_uri_is_the_name_of_its_path(uri: str) -> None:
    assert file_alias(uri) == path_name(uri)


OTHERS = ["/data/a", "file:///data/a", "https://h/a.csv", "@stage/a", "s3", "t", "my s3://b/a"]
PARTS = ["s3://b/a/day=1", "s3://b/a/day=1/", "s3://b/*.csv", "s3://b/{a,b}", "s3://b/a[12]"]


@pytest.mark.parametrize("name", [*OTHERS, *PARTS])
def test_a_part_of_a_dataset_and_other_names_have_no_alias(name: str) -> None:
    assert file_alias(name) is None
