"""Loads record the rows of the online path, and account for every line."""

from __future__ import annotations

import base64
import gzip
import json
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import SparkSession

from api import create_app
from api.routes import blueprint
from fll_hbase import sample
from fll_hbase.runtime.errors import ConfigurationError
from fll_hbase.spark.jobs.load import PARQUET
from fll_hbase.spark.lines import rejects
from fll_hbase.spark.lines.reject_limit import RejectLimit
from fll_hbase.spark.lines.rejects import FIRST_BYTES
from fll_hbase.spark.lines.worker_ingest import EQUAL_FAULTS
from fll_hbase.spark.stats import LineCounts
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import open_table
from tests.support import datahub_messages
from tests.support.commands import END_MS, fll, serving
from tests.support.golden_cases import read_cases
from tests.support.load_inputs import (
    Loads,
    encode_lines,
    histories,
    plain,
    rows_of_one_call,
    write_files,
    write_parquet,
)
from tests.support.profiles import COSTLY
from tests.support.recorded_events import events
from tests.support.small_documents import AWKWARD, document
from tests.support.stream_process import documents, record_online, rows, rows_of

EVENTS = Path(__file__).parents[2] / "cases" / "openlineage" / "events.ndjson.gz"
BATCH_ROWS = "spark.sql.execution.arrow.maxRecordsPerBatch"
BLOCK_BYTES = "spark.sql.files.maxPartitionBytes"


@pytest.fixture
def loads(spark: SparkSession, tmp_path: Path) -> Loads:
    return Loads(spark, tmp_path)


@pytest.fixture
def small_batches(spark: SparkSession) -> Any:
    """Workers get batches of three lines, which split runs everywhere."""
    rows = spark.conf.get(BATCH_ROWS)
    spark.conf.set(BATCH_ROWS, "3")
    yield
    spark.conf.set(BATCH_ROWS, rows)


@settings(max_examples=COSTLY, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
@given(history=histories)
def test_a_history_makes_the_rows_of_one_call_and_none_the_second_time(
    history: list[Any], spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, small_batches: None
) -> None:
    home = tmp_path_factory.mktemp("history")
    loads, lines = Loads(spark, home), encode_lines(history)
    files = write_files(home / "in", lines)
    once = rows_of_one_call(lines)
    first = loads.load(*files)
    assert (first.counts.read, first.counts.rejected) == (len(lines), 0)
    assert loads.rows() == once
    again = loads.load(f"{home}/in/[1-5]*").counts
    assert (again.read, again.rejected, again.replaced) == (len(lines), 0, 0)
    assert loads.rows() == once


@pytest.mark.parametrize("again", [0, 1])
def test_runs_of_one_line_each_make_the_rows_of_one_call(
    again: int, loads: Loads, tmp_path: Path, small_batches: None
) -> None:
    """Lines that need no order are recorded as they are read; one more of the first run, and all need it."""
    lines = [*documents(0, 40), b'{"broken', *documents(0, again)]
    file = tmp_path / "distinct.ndjson.gz"
    file.write_bytes(gzip.compress(plain(lines)))
    counts = loads.load(file).counts
    assert (counts.read, counts.rejected) == (41 + again, 1)
    assert [row["line"] for row in loads.rejected()] == [41]
    assert loads.rows() == rows_of_one_call(documents(0, 40))


def test_the_sample_makes_the_rows_of_a_real_server(loads: Loads, tmp_path: Path) -> None:
    lines = encode_lines([*islice(sample.documents(END_MS), 0, None, 12), *AWKWARD])
    write_files(tmp_path / "in", lines)
    file = tmp_path / "all.ndjson"
    file.write_bytes(plain(lines))
    sent = f"sqlite:///{tmp_path}/server.db"
    with serving(sent, tmp_path) as server:
        assert fll("record", str(file), "--server", server).exit_code == 0
    assert loads.load(tmp_path / "in").counts == LineCounts(recorded=len(lines))
    assert loads.rows() == rows(sent)


def test_what_an_agent_sent_makes_the_rows_of_one_request(
    loads: Loads, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = open_table("sqlite:///:memory:")
    sent = events()
    # A larger request is recorded in parts, each of which leaves the commit records of its events.
    monkeypatch.setattr(blueprint, "PART_DOCUMENTS", len(sent))
    answer = create_app(LineageStore(table)).test_client().post("/api/v1/lineage/batch", json=sent)
    assert answer.json["summary"]["successful"] == len(sent) == 2_724
    assert loads.load(EVENTS).counts.read == len(sent)
    assert loads.rows() == rows_of(table)
    assert loads.load(EVENTS).counts.rejected == 0
    assert loads.rows() == rows_of(table)


def test_proposals_make_the_rows_of_the_online_path(loads: Loads, tmp_path: Path) -> None:
    inputs = [case.json("document") for case in read_cases("datahub")]
    proposals = [
        proposal
        for document in inputs
        for proposal in (document if isinstance(document, list) else [document])
    ]
    lines = encode_lines(proposals)
    file = tmp_path / "proposals.ndjson"
    file.write_bytes(plain([*lines, *encode_lines([datahub_messages.proposal(datahub_messages.lineage())])]))
    loaded = loads.load(file)
    assert loads.rows() == record_online(f"sqlite:///{tmp_path}/online.db", [file])
    assert loaded.counts.recorded >= 5


@pytest.mark.parametrize("kind", [pa.string(), pa.binary(), pa.large_string()], ids=str)
def test_parquet_has_its_lines_in_a_column(loads: Loads, tmp_path: Path, kind: pa.DataType) -> None:
    lines = documents(0, 8)
    write_parquet(tmp_path / "a b.parquet", [*lines[:4], b"{}", None, b" ", *lines[4:]], kind)
    loaded = loads.load(tmp_path / "a b.parquet", form=PARQUET)
    assert loaded.counts == LineCounts(recorded=8, rejected=1)
    assert loads.rows() == rows_of_one_call(lines)
    (rejected,) = loads.rejected()
    assert (Path(unquote(rejected["file"])).name, rejected["line"]) == ("a b.parquet", 5)


BAD = {
    b"": "",
    b" \t\r": "",
    b'{"half': "not JSON",
    b"[]": "must be an object",
    b'{"run": {"run": 1}}': "missing",
    b"\xff\xfe\x00": "not UTF-8",
    b"\xef\xbb\xbf{}": "byte order mark",
    b"[" * 5_000: "nested too deeply",
    b'{"a": "' + b"x" * 60_000 + b'"}': "longer than",
    b'"\xe2\x80\xa8 \x85"': "not UTF-8",
    b"NaN": "NaN",
}
"""Lines that record nothing, with the reason of their rejection; blank lines have none."""


@pytest.mark.parametrize("ending", [b"\n", b"\r\n"])
@pytest.mark.parametrize("block", ["65536", "134217728"])
def test_every_line_is_accounted_for(
    spark: SparkSession, tmp_path: Path, loads: Loads, ending: bytes, block: str
) -> None:
    """Also in files that are read in several blocks at once."""
    good = documents(0, 60)
    lines: list[bytes] = []
    for number, line in enumerate(good):
        lines += [line, *islice(BAD, number % 4 * 3, number % 4 * 3 + 3)]
    lines += [b"\xef\xbb\xbf" + good[0], good[1]]
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "a.ndjson").write_bytes(ending.join(lines))
    (folder / "b.ndjson").write_bytes(b"\xef\xbb\xbf" + ending.join([good[2], b"{}", b"", b"{]"]) + ending)
    (folder / "c.ndjson.gz").write_bytes(gzip.compress(ending.join(lines)))
    spark.conf.set(BLOCK_BYTES, block)
    try:
        loaded = loads.load(folder, document_bytes_max=50_000)
    finally:
        spark.conf.unset(BLOCK_BYTES)
    rest = b"\r" if ending == b"\r\n" else b""
    bad = [(number, line) for number, line in enumerate(lines, 1) if line not in good and line.strip()]
    bad_lines = {"a.ndjson": bad, "b.ndjson": [(2, b"{}"), (4, b"{]")], "c.ndjson.gz": bad}
    rejected = [
        (Path(urlsplit(reject["file"]).path).name, reject["line"], line_of(reject))
        for reject in loads.rejected()
    ]
    last = {"a.ndjson": len(lines), "c.ndjson.gz": len(lines)}
    assert rejected == [
        (name, number, (line + (b"" if number == last.get(name) else rest))[: shown(line)])
        for name, numbered in bad_lines.items()
        for number, line in numbered
    ]
    for reject in loads.rejected():
        text = line_of(reject).rstrip()
        reasons = (reason for line, reason in BAD.items() if reason and text == line[: shown(line)])
        reason = next(reasons, "")
        assert any(reason in error for error in reject["faults"]), reject
    assert loaded.counts == LineCounts(recorded=60, repeated=60 + 2 + 1, rejected=len(rejected))
    assert loads.rows() == rows_of_one_call(good)


def shown(line: bytes) -> int | None:
    """How much of a rejected line is written: the first bytes of one above the limit of 50,000, else all."""
    return FIRST_BYTES if len(line) > 50_001 else None


def line_of(rejected: dict[str, Any]) -> bytes:
    """The line, from its text, or from its bytes if it is not text."""
    if "bytes" in rejected:
        return base64.b64decode(rejected["bytes"], validate=True)
    text: str = rejected["value"]
    return text.encode()


def test_a_rejected_line_has_every_error(loads: Loads, tmp_path: Path) -> None:
    nameless = document("r", namespace="")
    del nameless["run"]["program"], nameless["operations"][0]["name"]
    (tmp_path / "in").write_text(json.dumps(nameless))
    assert loads.load(tmp_path / "in").counts == LineCounts(rejected=1)
    (rejected,) = loads.rejected()
    assert [error.partition(":")[0] for error in rejected["faults"]] == [
        "namespace",
        "run.program",
        "operations.0.name",
    ]
    assert json.loads(rejected["value"]) == nameless


def test_rejects_are_those_of_the_last_load(loads: Loads, tmp_path: Path) -> None:
    nameless = {name: value for name, value in document().items() if name != "namespace"}
    (tmp_path / "in").write_text(json.dumps(nameless))
    assert loads.load(tmp_path / "in").counts == LineCounts(rejected=1)
    assert len(loads.rejected()) == 1
    assert loads.load(tmp_path / "in", namespace="shop").counts == LineCounts(recorded=1)
    assert loads.rejected() == []


def test_lines_are_in_the_order_of_files_whatever_was_there_before(loads: Loads, tmp_path: Path) -> None:
    first, second = document("r"), document("r")
    second["run"]["startTime"] += 1
    lines = encode_lines([first, second, first, second])
    files = write_files(tmp_path / "in", lines)
    loads.load(*files[:3])
    assert loads.load(*reversed(files)).counts == LineCounts(recorded=1, replaced=1, repeated=3)
    (tmp_path / "all").write_bytes(plain(lines))
    online = record_online(f"sqlite:///{tmp_path}/online.db", [tmp_path / "all"])
    assert loads.rows() == rows_of_one_call(lines) == online


@pytest.mark.parametrize("name", ["in.ndjson", "in.ndjson.gz"])
def test_a_line_above_the_limit_is_rejected_alone(loads: Loads, tmp_path: Path, name: str) -> None:
    """In the default memory of a driver, which such a line fills when every step copies it."""
    sizes = [60_000_000, 100_000_000]
    long = [b'{"run": {"run": "long"}, "x": "%b"}' % (b"x" * (size - 33)) for size in sizes]
    lines = documents(0, 4)
    content = plain([*lines[:2], long[0], lines[2], long[1], lines[3]])
    (tmp_path / name).write_bytes(gzip.compress(content, 1) if name.endswith("gz") else content)
    assert loads.load(tmp_path / name).counts == LineCounts(recorded=4, rejected=2)
    assert loads.rows() == rows_of_one_call(lines)
    rejected = loads.rejected()
    assert [line["line"] for line in rejected] == [3, 5]
    for line, size, text in zip(rejected, sizes, long, strict=True):
        assert line["faults"] == [
            f"{size} bytes, longer than 16777216; split it, or raise FLL_DOCUMENT_BYTES_MAX"
        ]
        assert line["value"].encode() == text[:FIRST_BYTES]


def test_the_limit_of_a_line_is_that_of_a_document(loads: Loads, tmp_path: Path) -> None:
    line, last = documents(0, 2)
    content = b"\r\n".join([line, line + b" ", line + b"  ", b" " * len(line) * 2, last])
    (tmp_path / "in").write_bytes(content)
    counts = loads.load(tmp_path / "in", document_bytes_max=len(line)).counts
    assert (counts.read, counts.rejected) == (5, 3)
    assert [line["line"] for line in loads.rejected()] == [2, 3, 4]


def test_an_empty_input_is_a_load_of_nothing(loads: Loads, tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(b"\n \n")
    assert loads.load(tmp_path / "in").counts == LineCounts()


def test_a_directory_of_somebody_is_refused_for_rejects(
    loads: Loads, spark: SparkSession, tmp_path: Path
) -> None:
    """Also if all names in it are such as Spark writes: it may be a data set."""
    (tmp_path / "in").write_bytes(plain(documents(0, 1)))
    spark.range(3).write.parquet(str(tmp_path / "dataset"))
    (tmp_path / "dataset" / "_delta_log").mkdir()
    (tmp_path / "dataset" / "_delta_log" / "0.json").touch()
    files = sorted((tmp_path / "dataset").rglob("*"))
    loads.rejects = tmp_path / "dataset"
    with pytest.raises(ConfigurationError, match="no _FLL_REJECTS"):
        loads.load(tmp_path / "in")
    assert sorted((tmp_path / "dataset").rglob("*")) == files
    loads.rejects = tmp_path / "dataset" / "_SUCCESS" / "below"
    with pytest.raises(ConfigurationError, match="cannot be written"):
        loads.load(tmp_path / "in")
    assert not (tmp_path / "lineage.db").exists()


def test_folders_below_are_read_and_files_are_counted(loads: Loads, tmp_path: Path) -> None:
    """But neither hidden files nor, in the next load, the rejected lines of this one."""
    lines, folder = [*documents(0, 3), b"{}"], tmp_path / "in"
    for name, line in zip(("a.json", "b/a.json", "b/c=1/a.json", "b/_hidden.json"), lines, strict=True):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(line)
    (folder / "b" / "other.json").write_bytes(b"{}")
    report = loads.load(folder)
    assert (report.counts, report.files) == (LineCounts(recorded=3, rejected=1), 4)
    assert report.summary()["files"] == 4
    assert str(report).startswith("4 files: 4 read")
    assert loads.load(f"{folder}/b*").counts == LineCounts(repeated=2, rejected=1)
    loads.rejects = folder / "b" / "rejects"
    for path in (str(folder), f"{folder}/b*"):
        with pytest.raises(ConfigurationError, match="in a directory that the load reads"):
            loads.load(path)
    assert loads.load(folder / "a.json").counts == LineCounts(repeated=1)


def test_too_many_rejects_end_the_load_with_examples(loads: Loads, tmp_path: Path) -> None:
    """And the rejected lines of the load before stay."""
    (tmp_path / "good").write_bytes(plain([*documents(0, 1), b"[1]"]))
    (tmp_path / "bad").write_bytes(plain([*documents(0, 3), *[b"{}"] * 10]))
    assert loads.load(tmp_path / "good", rejects_max=RejectLimit(1)).counts.rejected == 1
    with pytest.raises(PySparkException) as error:
        loads.load(tmp_path / "bad", rejects_max=RejectLimit(1))
    (line,) = {
        line
        for line in str(error.value).splitlines()
        if line.startswith("fll_hbase.runtime.errors.TooManyRejects")
    }
    assert "more lines are rejected than 1, such as file:" in line
    assert "/bad: b'{}': namespace: missing" in line
    assert [reject["value"] for reject in loads.rejected()] == ["[1]"]
    # Of a share no task decides before it has read many lines.
    assert loads.load(tmp_path / "bad", rejects_max=RejectLimit(share=0.5)).counts.rejected == 10


def test_many_rejected_lines_are_written_by_all_tasks_in_order(
    loads: Loads, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rejects, "SORTED_MAX", 10)
    lines = [b'{"a":%d}' % number for number in range(1, 401)]
    write_files(tmp_path / "in", lines)
    assert loads.load(tmp_path / "in").counts == LineCounts(rejected=400)
    files = sorted(loads.rejects.glob("*.json"))
    assert len(files) > 1
    positions = [
        [(reject["file"], reject["line"]) for reject in map(json.loads, file.read_bytes().splitlines())]
        for file in files
    ]
    assert all(part == sorted(part) for part in positions)
    assert len({position for part in positions for position in part}) == 400
    sevenths = [json.loads(reject["value"])["a"] for reject in loads.rejected() if reject["line"] == 7]
    assert sorted(sevenths) == [7, 87, 167, 247, 327]


def test_a_missing_input_is_an_error(loads: Loads, tmp_path: Path) -> None:
    with pytest.raises(AnalysisException, match="PATH_NOT_FOUND"):
        loads.load(tmp_path / "nowhere")


def test_many_lines_with_equal_faults_are_counted(loads: Loads, tmp_path: Path) -> None:
    file = tmp_path / "in.ndjson"
    file.write_bytes(b"{}\n" * 5_000)
    report = loads.load(file)
    assert report.counts == LineCounts(rejected=5_000)
    lines = loads.rejected()
    assert sum(line.get("count", 1) for line in lines) == 5_000
    counted = [line for line in lines if "count" in line]
    assert all("value" not in line and line["faults"] == lines[0]["faults"] for line in counted)
    assert len(lines) - len(counted) == EQUAL_FAULTS * len(counted) > 0
    assert [line["line"] for line in lines if "count" not in line] == [*range(1, EQUAL_FAULTS + 1)]


def test_a_run_id_of_another_program_is_rejected_unless_replaced(loads: Loads, tmp_path: Path) -> None:
    first, other = document("shared"), document("shared")
    other["run"]["application"] = "other"
    files = [tmp_path / "1.ndjson", tmp_path / "2.ndjson"]
    for file, line in zip(files, (first, other), strict=True):
        file.write_text(json.dumps(line))
    counts = [loads.load(file, take_over=False).counts for file in files]
    assert [(count.recorded, count.rejected) for count in counts] == [(1, 0), (0, 1)]
    [rejected] = loads.rejected()
    assert "application 'a'" in str(rejected)
    assert loads.load(files[1]).counts.replaced == 1
