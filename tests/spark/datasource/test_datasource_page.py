"""The page on the data source shows the tables, options and working examples."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from fll_hbase.cli import main
from fll_hbase.model.datasets import Dataset
from fll_hbase.model.window import START_LIMIT_MS, Direction, Window
from fll_hbase.sample import documents
from fll_hbase.sources.native.cached_reader import CachedDocumentReader
from fll_hbase.spark.datasource.reader_options import OPTIONS
from fll_hbase.spark.datasource.schemas import SCHEMAS
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import open_table

DOCS = Path(__file__).resolve().parents[3] / "docs" / "operate" / "jobs"
PAGE = (DOCS / "datasource.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


def test_every_column_is_documented_with_its_type() -> None:
    tables = re.findall(
        r"^`(\w+)`: .*?\n\n\| column \|.*?\n\|[-|]+\n(.*?)\n\n", PAGE, re.DOTALL | re.MULTILINE
    )
    assert {
        table: ", ".join(f"{name} {type_}" for name, type_ in re.findall(r"^\| `(\w+)` \| (\w+)", rows, re.M))
        for table, rows in tables
    } == {table.value: ddl for table, ddl in SCHEMAS.items()}


def test_every_option_is_documented() -> None:
    rows = PAGE.partition("| option | meaning |")[2].partition("\n\n")[0]
    assert tuple(re.findall(r"^\| `(\w+)` \|", rows, re.M)) == OPTIONS


def test_every_option_of_the_export_is_documented() -> None:
    page = (DOCS / "export.md").read_text(encoding="utf-8")
    command, *_ = re.findall(r"^\$ fll spark (export .*)$", page, re.M)
    jobs = main.all_commands()["spark"].all_commands()
    options, shared = (
        {option for parameter in jobs[name].params for option in parameter.opts}
        for name in ("export", "check")
    )
    assert set(re.findall(r"--[\w-]+", command)) <= options
    documented = set(re.findall(r"`(--[\w-]+)`", page))
    assert documented == {option for option in options - shared if option.startswith("--")}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A folder with a store of the last documents of the sample, and a run that finished."""
    store, reader = LineageStore(open_table(f"sqlite:///{tmp_path}/lineage.db")), CachedDocumentReader()
    lines = [json.dumps(document).encode() for document in documents(1_760_000_000_000)][-150:]
    store.record([reader.read(line, namespace=None).recorded for line in lines])
    store.close()
    (tmp_path / "finished").mkdir()
    document = {"program": "reporter", "run": "streamed-1", "started": 1_760_000_000_001}
    (tmp_path / "finished" / "one.json").write_text(json.dumps(document))
    return tmp_path


def test_the_examples_run(spark: SparkSession, home: Path) -> None:
    assert len(EXAMPLES) == 4
    variables: dict[str, Any] = {"spark": spark}
    for example in EXAMPLES:
        code = example.replace("sqlite:///", f"sqlite:///{home}/")
        code = code.replace('"finished"', f'"{home}/finished"').replace(
            '"scripts-checkpoint"', f'"{home}/checkpoint"'
        )
        exec(compile(code, "datasource.md", "exec"), variables)
    leaks = {tuple(row) for row in variables["leaks"].collect()}
    assert {field for field, *_ in leaks} == {"phone"}
    store = LineageStore(open_table(f"sqlite:///{home}/lineage.db"))
    report = store.lineage(
        Dataset("bank", "customers_report"),
        Window(0, START_LIMIT_MS),
        directions=[Direction.BACKWARD],
        level=2,
    )
    ends = {(entry.relation.source, entry.relation.destination) for entry in report.entries}
    assert {(source.name, destination.name) for source, destination in ends if source and destination} == {
        ("CustomersCopy", "customers_report"),
        ("Customers", "CustomersCopy"),
    }
    assert store.run("nightly-1").committed.run.program == "copier"
    assert store.run("streamed-1").committed.run.application == "crm"
