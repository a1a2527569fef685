"""`fll table` creates, checks and describes the HBase table."""

from __future__ import annotations

import re
from contextlib import closing

import happybase
import pytest

from fll_hbase.tables import hbase_schema, hbase_url
from tests.support.commands import complaint, fll, printed
from tests.support.engines import Hbase

URL = "hbase://localhost/ns:lineage"


def test_the_statement_for_the_shell() -> None:
    output = printed("table", "ddl", "--store", URL)
    assert output.startswith("create 'ns:lineage',\n  {NAME => 'd', VERSIONS => '1', BLOOMFILTER => 'ROW'")
    for setting in ("FAST_DIFF", "COMPRESSION => 'SNAPPY'", "TTL => 'FOREVER'", "BLOCKCACHE => 'true'"):
        assert output.count(setting) == 2
    splits = re.findall(r"'([^']*)'", output.partition("SPLITS")[2])
    assert splits == sorted(splits) == list(hbase_schema.SPLITS)
    assert len(splits) == 32


def test_compression_is_chosen() -> None:
    assert printed("table", "ddl", "--store", URL, "--compression", "ZSTD").count("'ZSTD'") == 2
    assert "'BROTLI' is not one of" in complaint("table", "ddl", "--compression", "BROTLI", code=2)


@pytest.mark.parametrize(
    "url",
    [
        "sqlite:///x.db",
        "hbase://",
        "hbase://a",
        "hbase:///t",
        "hbase://a:x/t",
        "hbase://a,/t",
        "hbase://a/t/u",
        "hbase://a/t'",
    ],
)
@pytest.mark.parametrize("command", ["create", "describe", "ddl"])
def test_another_url_is_refused(command: str, url: str) -> None:
    output = complaint("table", command, "--store", url, code=2)
    assert url in output
    assert hbase_url.FORM in output


def test_made_once(hbase: Hbase) -> None:
    url = hbase.unused()
    name = hbase_url.parse_url(url).table
    assert f"{name} is created." in printed("table", "create", "--store", url)
    assert f"{name} exists already" in complaint("table", "create", "--store", url, code=1)
    assert f"{name} exists already" in printed("table", "create", "--store", url, "--if-missing")
    output = printed("table", "describe", "--store", url)
    assert re.search(r"^d +1 +forever +ROW +yes +NONE$", output, re.MULTILINE)
    assert re.search(r"^o +1 +forever +ROW +yes +NONE$", output, re.MULTILINE)
    assert ", 0 of them there already." in printed("sample", "--store", url)
    assert "customer_no" in printed(
        "field", "bank", "DailyTransactions", "UID", "--direction", "forward", "--store", url
    )


def test_a_table_that_would_lose_lineage_is_reported_with_its_correction(hbase: Hbase) -> None:
    table_url = hbase_url.parse_url(url := hbase.unused())
    with closing(happybase.Connection(*table_url.gateways[0])) as connection:
        connection.create_table(table_url.table, {"d": {"time_to_live": 60}, "o": {"max_versions": 1}})
    result = fll("table", "describe", "--store", url)
    assert result.exit_code == 1
    assert re.search(r"^d +3 +60 s +NONE +no +NONE$", result.stdout, re.MULTILINE)
    faster, required = result.stderr.splitlines()
    assert faster.endswith(
        f"alter '{table_url.table}', {{NAME => 'd', BLOOMFILTER => 'ROW', BLOCKCACHE => 'true'}},"
        " {NAME => 'o', BLOOMFILTER => 'ROW', BLOCKCACHE => 'true'}"
    )
    assert required.endswith(f"alter '{table_url.table}', {{NAME => 'd', VERSIONS => '1', TTL => 'FOREVER'}}")
    for command in (("sample",), ("find", "x"), ("serve", "--port", "1")):
        assert "VERSIONS => '1', TTL => 'FOREVER'" in complaint(*command, "--store", url, code=2)


def test_none(hbase: Hbase) -> None:
    url = hbase.url("never_made")
    for command in (("table", "describe"), ("find", "x"), ("serve", "--port", "1")):
        assert "create it with `fll table create`" in complaint(*command, "--store", url, code=2)


@pytest.mark.slow
def test_no_gateway() -> None:
    url = "hbase://127.0.0.1:1/t"
    for command in (("table", "create"), ("table", "describe"), ("find", "x"), ("serve", "--port", "1")):
        output = complaint(*command, "--store", url, code=1)
        assert "127.0.0.1:1: [Errno 111] Connection refused" in output
