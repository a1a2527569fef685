"""Files are known by their names, and those that have no documents are named for what they are."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from tests.support.commands import complaint, fll, printed

RUN = "--namespace NS --application A --program P"
CAPTURE = "`fll capture run` records what it does in Spark"
NAMES = ("--namespace", "shop", "--application", "a", "--program", "p")
SCRIPT = b"CREATE TABLE totals AS SELECT net + tax AS total FROM orders"


def test_a_script_is_known_by_its_name(tmp_path: Path) -> None:
    store = ("--store", f"sqlite:///{tmp_path}/store.db")
    Path("nightly.SQL").write_bytes(SCRIPT)
    line = complaint("record", "nightly.SQL", "--namespace", "shop", code=2)
    assert line.startswith("fll record: nightly.SQL is SQL, which needs --application, --program too.")
    assert fll("record", "nightly.SQL", *NAMES, "--dialect", "hive", *store).exit_code == 0
    assert "shop/orders.net" in printed(
        "field", "shop/totals.total", "--view", "simple", "--end", "now+1d", *store
    )
    line = complaint("record", "nightly.SQL", *NAMES, "--argument", "a=1", code=2)
    assert "--argument: only with --pipeline" in line


@pytest.mark.parametrize(
    ("file", "content", "advice"),
    [
        ("x.csv", b"a,b\n1,2\n", "x.csv is data: record the run that writes it, or see the options for rows"),
        (
            "x.parquet",
            b"PAR1\0\1",
            "x.parquet is data: record the run that writes it, or see the options for rows",
        ),
        (
            "job.py",
            b"import pyspark\n",
            "job.py is a program: `fll capture run` records what it does in Spark",
        ),
        ("x.yml", b"a: 1\n", "x.yml is not JSON: FILE has documents, events or proposals as JSON"),
        ("x.zip", b"PK\3\4", "x.zip is packed: unpack it first (gzip alone is read without unpacking)"),
        (
            "a.sql.gz",
            gzip.compress(SCRIPT, mtime=0),
            f"a.sql.gz is packed: unpack it, then fll record --sql a.sql {RUN}",
        ),
        ("the job", SCRIPT, f"the job may be SQL: fll record --sql 'the job' {RUN}"),
        ("p.json", b'{"config": {}}', f"p.json is a pipeline config: fll record --pipeline p.json {RUN}"),
        (
            "manifest.json",
            b'{"metadata": {"dbt_schema_version": "v12"}}',
            "manifest.json is an artifact of dbt: fll record --dbt . --namespace NS",
        ),
    ],
)
def test_a_file_without_documents_is_named(file: str, content: bytes, advice: str) -> None:
    Path(file).write_bytes(content)
    result = fll("record", file, "--store", "sqlite:///:memory:")
    assert result.exit_code == 1
    assert result.stderr.splitlines()[-1] == f"fll: {advice}"


def test_a_file_with_some_documents_gets_no_advice() -> None:
    Path("x.csv").write_bytes(b'a,b\n{"eventTime": "2026-01-01T00:00:00Z", "job": {"namespace": "a", ')
    assert "fll: " in fll("record", "x.csv", "--store", "sqlite:///:memory:").stderr
    event = b'{"eventTime":"2026-01-01T00:00:00Z","run":{"runId":"r"},"job":{"namespace":"a","name":"b"}}'
    Path("x.csv").write_bytes(b"a,b\n" + event)
    assert "fll: " not in fll("record", "x.csv", "--store", "sqlite:///:memory:").stderr


def test_a_folder_is_named() -> None:
    Path("jaffle/target").mkdir(parents=True)
    assert "'jaffle' is a folder: give one file, or all to `fll spark load`." in complaint(
        "record", "jaffle", code=2
    )
    Path("jaffle/target/manifest.json").touch()
    for folder in ("jaffle", "jaffle/target"):
        line = complaint("record", folder, code=2)
        advice = "`fll record --dbt jaffle/target --namespace NS` records it."
        assert f"'{folder}' is a dbt project: {advice}" in line
