"""Loads into a real HBase record the rows of the online path, over HTTP and for every format.

Each load has a new table: the Spark workers remember which rows of a table they have just put, so a table
that is emptied under them stays without these.
"""

from __future__ import annotations

from contextlib import closing
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from pyspark.sql import SparkSession

from api import create_app
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import open_table
from tests.support.engines import Hbase
from tests.support.load_inputs import (
    Loads,
    documents_of_namespace,
    encode_lines,
    histories,
    plain,
    rows_of_one_call,
    write_files,
)
from tests.support.profiles import COSTLY
from tests.support.stream_process import rows

EXAMPLES = {"max_examples": COSTLY, "phases": [Phase.generate], "suppress_health_check": list(HealthCheck)}


@settings(**EXAMPLES)
@given(history=histories)
def test_a_history_makes_the_rows_of_one_call_and_none_the_second_time(
    history: list[Any], spark: SparkSession, hbase: Hbase, tmp_path_factory: pytest.TempPathFactory
) -> None:
    home = tmp_path_factory.mktemp("history")
    loads, lines = Loads(spark, home, hbase.fresh()), encode_lines(history)
    write_files(home / "in", lines)
    expected = rows_of_one_call(lines)
    assert loads.load(home / "in").counts.read == len(lines)
    assert loads.rows() == expected
    assert loads.load(home / "in").counts.replaced == 0
    assert loads.rows() == expected


@settings(**EXAMPLES)
@given(documents=documents_of_namespace)
def test_a_load_makes_the_rows_of_a_batch_over_http(
    documents: list[Any], spark: SparkSession, hbase: Hbase, tmp_path_factory: pytest.TempPathFactory
) -> None:
    home = tmp_path_factory.mktemp("documents")
    loads, lines = Loads(spark, home, hbase.fresh()), encode_lines(documents)
    write_files(home / "in", lines)
    sent = hbase.emptied()
    with closing(LineageStore(open_table(sent))) as store:
        answer = (
            create_app(store)
            .test_client()
            .post(
                "/v3/namespaces/ns/lineage/batch?replace=true",
                data=plain(lines),
                content_type="application/x-ndjson",
            )
        )
    results = [line for line in answer.data.splitlines() if b'"recorded":' in line]
    assert len(results) == len(lines)
    assert loads.load(home / "in", namespace="ns").counts.rejected == 0
    assert loads.rows() == rows(sent)
