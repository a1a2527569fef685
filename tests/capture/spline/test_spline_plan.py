"""URIs of Spline name the datasets that capture and the OpenLineage agent name."""

from __future__ import annotations

import pytest

from fll_hbase.capture.resolver.dataset_names import dataset_names
from fll_hbase.capture.spline.spline_plan import SERVERS, datasets


@pytest.mark.parametrize(
    ("uri", "params", "expected"),
    [
        ("file:/data/out.csv", {}, [("file", "/data/out.csv")]),
        ("/data/out", {}, [("file", "/data/out")]),
        ("s3a://lake/out/day=1", {}, [("s3://lake", "out")]),
        ("hdfs://nn:8020/a", {}, [("hdfs://nn:8020", "/a")]),
        ("kafka:clicks", {SERVERS: "k:9092,l:9092"}, [("kafka://k:9092", "clicks")]),
        ("kafka:clicks", {}, [("kafka", "clicks")]),
        ("cassandra:ks:users", {}, [("cassandra", "ks:users")]),
        ("jdbc:postgresql://db/shop:public.t", {}, [("postgres://db:5432", "shop.public.t")]),
        ("jdbc:mysql://db:3306/shop:t", {}, [("mysql://db:3306", "shop.t")]),
        ("jdbc:oracle:thin:@//db:1521/XE:s.t", {}, [("oracle://db:1521", "XE.S.T")]),
        (
            "jdbc:sqlserver://db:1433;databaseName=shop:dbo.t",
            {},
            [("sqlserver://db:1433", "shop.dbo.t")],
        ),
        (
            "jdbc:postgresql://db/shop:(SELECT a::int FROM public.t JOIN u USING (k)) q",
            {},
            [("postgres://db:5432", "shop.public.t"), ("postgres://db:5432", "shop.u")],
        ),
        ("jdbc:postgresql://db/shop:(no SQL) q", {}, []),
        ("", {}, []),
    ],
)
def test_datasets(uri: str, params: dict[str, str], expected: list[tuple[str, str]]) -> None:
    assert [name[:2] for name in datasets(uri, params)] == expected


@pytest.mark.parametrize("table", ["s.a", '"S"."A"', "xe.s.a"])
def test_a_table_has_the_name_that_capture_gives_it(table: str) -> None:
    url = "jdbc:oracle:thin:@//db:1521/XE"
    assert datasets(f"{url}:{table}", {}) == dataset_names({"kind": "jdbc", "url": url, "name": table})
    assert datasets("gs://bucket/a%20b", {}) == [("gs://bucket", "a b", None)]
