"""Files of an export have about the size that was asked for, and only files of ours are replaced."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet
import pytest
from pyspark.sql import SparkSession

from fll_hbase.keys import layout
from fll_hbase.model import lineage
from fll_hbase.model.runs import ProgramRun, RecordedRun
from fll_hbase.model.window import DAY_MS
from fll_hbase.runtime.config import Settings
from fll_hbase.runtime.errors import ConfigurationError
from fll_hbase.spark.datasource.partitions import KeyRangePartition
from fll_hbase.spark.datasource.reader_options import DatasetFilter
from fll_hbase.spark.exports.export_files import Format
from fll_hbase.spark.exports.table_frames import latest_horizon, split_at_salts
from fll_hbase.spark.jobs.export import ExportSpec, export
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import Put, open_table
from tests.support.strategies import FEW_END_POINTS, chain

RUNS = 3_000
FIRST_DAY_MS = 20_000 * DAY_MS
BUSY_DAY, QUIET_DAY = "2024-10-04", "2024-10-05"


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The URL of a store of one busy day, and a day of one run."""
    url = f"sqlite:///{tmp_path_factory.mktemp('days')}/lineage.db"
    info = lineage.build_lineage(chain(2))
    starts = [FIRST_DAY_MS + number * (DAY_MS // RUNS) for number in range(RUNS)]
    runs = [
        RecordedRun(ProgramRun("ns", "app", "1", "spark", "p", f"run-{start:x}", start), info)
        for start in [*starts, FIRST_DAY_MS + DAY_MS]
    ]
    store = LineageStore(open_table(url))
    store.record(runs)
    store.close()
    return url


def parts(folder: Path) -> list[Path]:
    return sorted(folder.rglob("part-*"))


def test_a_busy_day_is_spread_over_tasks(spark: SparkSession, url: str, tmp_path: Path) -> None:
    settings = Settings(store=url)
    export(spark, ExportSpec(settings), f"{tmp_path}/large", form=Format.PARQUET)
    export(spark, ExportSpec(settings, file_bytes=2_000), f"{tmp_path}/small", form=Format.PARQUET)
    for table in ("runs", "edges"):
        days = {folder.name: len(parts(folder)) for folder in (tmp_path / "large" / table).glob("day=*")}
        assert days == {f"day={BUSY_DAY}": 1, f"day={QUIET_DAY}": 1}
        days = {folder.name: len(parts(folder)) for folder in (tmp_path / "small" / table).glob("day=*")}
        assert days[f"day={BUSY_DAY}"] > 4
        assert days[f"day={QUIET_DAY}"] == 1
        rows = []
        for file in parts(tmp_path / "small" / table):
            file_rows = pyarrow.parquet.ParquetFile(file).read(["start_ms", "run"]).to_pylist()
            keys = [(row["start_ms"], row["run"]) for row in file_rows]
            assert keys == sorted(keys)
            rows += keys
        assert len(rows) == len(set(rows)) == RUNS + 1


def test_text_files_have_a_size(spark: SparkSession, url: str, tmp_path: Path) -> None:
    spec = ExportSpec(Settings(store=url), file_bytes=100 * 256)
    export(spark, spec, f"{tmp_path}/out", form=Format.CSV)
    lines = [len(file.read_text().splitlines()) for file in parts(tmp_path / "out/runs")]
    assert sum(lines) == RUNS + 1 + len(lines)
    assert max(lines) == 101


def test_run_rows_are_split_where_regions_are_few() -> None:
    region = [KeyRangePartition((b"r|", b"r|80|")), KeyRangePartition((b"r|80|", b"r}"))]
    split = split_at_salts(region, parts=16)
    assert len(split) == 16
    assert [part.key_range[0] for part in split[1:]] == [part.key_range[1] for part in split[:-1]]
    assert (split[0].key_range[0], split[-1].key_range[1]) == (b"r|", b"r}")
    assert split_at_salts(region, parts=2) == region
    catalogue = [KeyRangePartition((b"e|", b"e}"))]
    assert split_at_salts(catalogue, parts=16) == catalogue


def test_workers_find_the_latest_horizon(spark: SparkSession, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/lineage.db"
    table, dataset = open_table(url), FEW_END_POINTS[0]
    settings, datasets = Settings(store=url), DatasetFilter(dataset.namespace)
    assert latest_horizon(spark, settings, datasets) == 0
    row = layout.dataset_row(dataset)
    table.write([[Put(row, layout.horizon_column(time_ms), b"") for time_ms in (5, 1_000, 999)]])
    table.close()
    assert latest_horizon(spark, settings, datasets) == 1_000
    assert latest_horizon(spark, settings, DatasetFilter("other")) == 0


def snapshot(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("names", [["runs/part-0.parquet"], ["events/_delta_log/0.json"], [".hidden"]])
def test_files_of_others_are_never_replaced(
    spark: SparkSession, url: str, tmp_path: Path, names: list[str]
) -> None:
    """Names as an export has them, too: a marker decides, not the name."""
    out = tmp_path / "out"
    for name in names:
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        (out / name).write_text("theirs")
    earlier = snapshot(tmp_path)
    for overwrite in (False, True):
        with pytest.raises(ConfigurationError, match=str(out)):
            export(spark, ExportSpec(Settings(store=url)), str(out), form=Format.CSV, overwrite=overwrite)
    assert snapshot(tmp_path) == earlier


def test_the_last_export_stays_until_the_next_is_complete(
    spark: SparkSession, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, spec = tmp_path / "out", ExportSpec(Settings(store=url))
    export(spark, spec, str(out), form=Format.OPENLINEAGE)
    (manifest,) = (json.loads(path.read_text()) for path in out.glob("export.json"))
    assert manifest["rows"] == {"events": RUNS + 3}
    assert manifest["files"] == {"events": len(parts(out / "events"))}
    assert manifest["store"] == url
    earlier = {name: text for name, text in snapshot(out).items() if name.startswith("events/")}
    with pytest.raises(ConfigurationError, match="--overwrite"):
        export(spark, spec, str(out), form=Format.CSV)
    with monkeypatch.context() as patched:
        patched.setattr("fll_hbase.spark.jobs.export.run_edges", interrupt)
        with pytest.raises(KeyboardInterrupt):
            export(spark, spec, str(out), form=Format.CSV, overwrite=True)
    assert {name: text for name, text in snapshot(out).items() if name.startswith("events/")} == earlier
    export(spark, spec, str(out), form=Format.CSV, overwrite=True)
    visible = sorted(path.name for path in out.iterdir() if path.name[0] not in "._")
    assert visible == ["catalogue", "edges", "export.json", "runs"]
    (out / "runs/theirs.csv").write_text("theirs")
    with pytest.raises(ConfigurationError, match=r"theirs\.csv"):
        export(spark, spec, str(out), form=Format.CSV, overwrite=True)


def interrupt(*_: object, **__: object) -> None:
    raise KeyboardInterrupt
