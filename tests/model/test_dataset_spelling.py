"""Names of datasets that captured jobs, OpenLineage and warehouses share."""

from __future__ import annotations

import pytest

from fll_hbase.model.dataset_spelling import path_name

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
}


@pytest.mark.parametrize("path", PATHS)
def test_paths(path: str) -> None:
    assert path_name(path) == PATHS[path]
