"""Streams record every message of a real Kafka once, with its offset."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from fll_hbase.runtime.clock import now_ms
from fll_hbase.runtime.errors import ConfigurationError, LineageError
from fll_hbase.spark.lines.rejects import FIRST_BYTES
from fll_hbase.spark.stats import ConsumerLag, LineCounts
from fll_hbase.spark.streams.stream_options import (
    ValueFormat,
    parse_dead_letter,
    parse_position,
    parse_source,
)
from fll_hbase.spark.streams.stream_rejects import Rejection
from tests.support.kafka.broker import Broker, connector
from tests.support.kafka_topics import Message, Topics
from tests.support.stream_process import (
    StreamProcess,
    documents,
    move_file,
    record_online,
    rejected_lines,
    rows,
)
from tests.support.stream_setup import StreamSetup

pytestmark = pytest.mark.java

TOPIC, PARTITIONS = "lineage", 2


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    with Broker(tmp_path_factory.mktemp("kafka")) as running:
        running.create(TOPIC, partitions=PARTITIONS)
        yield running


def test_messages_make_the_rows_of_the_online_path_across_a_kill(broker: Broker, tmp_path: Path) -> None:
    url, source = f"sqlite:///{tmp_path}/store.db", f"kafka://{broker.address}/{TOPIC}"
    jars = [argument for jar in connector() for argument in ("--jar", str(jar))]
    first, more = documents(0, 30), documents(30, 30)
    broker.produce(TOPIC, _keyed(first))

    bounded = ("--offsets-max", "10", *jars)
    with StreamProcess(tmp_path, source, url, *bounded, "--interval", "0") as process:
        read = 0
        while read < len(first):
            read += process.next_report()["read"]
        broker.produce(TOPIC, [*_keyed(more), ("broken", b'{"broken')])
        assert 0 < process.next_report()["read"] <= 10
        process.kill()

    with StreamProcess(tmp_path, source, url, *bounded, "--once") as process:
        code, reports = process.wait()
    *batches, last = reports
    assert (code, last["rejected"]) == (3, 1)
    assert batches[-1]["lag"] == {"total": 0, "partitions": {}}
    assert last["batches"] == len(batches) >= 2

    file = move_file(tmp_path / "files", "all.ndjson", [*first, *more], time_s=1)
    assert rows(url) == record_online(f"sqlite:///{tmp_path}/online.db", [file])
    (reject,) = rejected_lines(tmp_path / "rejects")
    ends = _ends(tmp_path / "checkpoint")
    assert (reject["file"], reject["line"]) in {
        (f"{TOPIC}/{number}", end - 1) for number, end in ends.items()
    }
    assert sum(ends.values()) == len(first) + len(more) + 1


@pytest.fixture
def setup(tmp_path: Path, spark: SparkSession) -> StreamSetup:
    return StreamSetup(tmp_path, spark)


@pytest.fixture(scope="module")
def topics(spark: SparkSession, broker: Broker) -> Topics:
    topics = Topics(spark, broker.address)
    topics.create("mixed", "dead", "wire", "part-1", "part-2", "apart")
    return topics


BROKEN = Message(b"{", b"run 9", (("source", b"etl"), ("raw", b"\xff")))
BYTES_MAX = 2_000
LARGE = Message(b'{"a": "' + b"x" * 9_000 + b'"}', b"\xff")


def test_rejected_messages_are_written_and_sent_with_all_that_identifies_them(
    setup: StreamSetup, topics: Topics
) -> None:
    good = [Message(line, b"key") for line in documents(0, 3)]
    topics.send("mixed", [good[0], BROKEN, Message(None, b"deleted"), good[1], LARGE, good[2]])
    source = parse_source(topics.url("mixed"), offsets_max=4)
    letters = parse_dead_letter(topics.url("dead"), source)
    rejection = Rejection(dead_letter=letters)

    reports = setup.drain(source=source, rejection=rejection, document_bytes_max=BYTES_MAX)
    assert [batch.counts for batch in reports] == [
        LineCounts(recorded=2, rejected=1),
        LineCounts(recorded=1, rejected=1),
    ]
    assert [batch.lag for batch in reports] == [ConsumerLag(2, {"mixed/0": 2}), ConsumerLag(0, {})]
    broken, large = rejected_lines(setup.rejects)
    assert (broken["file"], broken["line"], broken["key"], broken["value"]) == ("mixed/0", 1, "run 9", "{")
    assert broken["headers"] == [
        {"key": "source", "value": "etl"},
        {"key": "raw", "value": "\ufffd", "bytes": "/w=="},
    ]
    assert (large["line"], large["keyBytes"], len(large["value"])) == (4, "/w==", FIRST_BYTES)
    assert f"{len(LARGE.value or b''):d} bytes, longer than {BYTES_MAX}" in large["faults"][0]

    first, second = topics.messages("dead")
    assert (first.value, first.key, first.headers[:2]) == (BROKEN.value, BROKEN.key, BROKEN.headers)
    added = dict(first.headers[2:])
    assert (added["fll.file"], added["fll.line"]) == (b"mixed/0", b"1")
    assert added["fll.faults"].decode() == broken["faults"][0]
    assert (second.value, second.key) == ((LARGE.value or b"")[:FIRST_BYTES], LARGE.key)

    setup.forget_commit(1)
    (again,) = setup.drain(source=source, rejection=rejection, document_bytes_max=BYTES_MAX)
    assert again.counts == LineCounts(repeated=1, rejected=1)
    assert len(rejected_lines(setup.rejects)) == 2
    assert topics.messages("dead") == [first, second, second]


def test_a_dead_letter_topic_that_does_not_exist_is_refused(setup: StreamSetup, topics: Topics) -> None:
    source = parse_source(topics.url("mixed"))
    rejection = Rejection(dead_letter=parse_dead_letter(topics.url("nowhere"), source))
    with pytest.raises(ConfigurationError, match=r"topic 'nowhere'.*UnknownTopicOrPartition"):
        setup.drain(source=source, rejection=rejection)
    assert not list(setup.checkpoint.glob("offsets/*"))


def test_the_wire_format_of_a_schema_registry_needs_a_word(setup: StreamSetup, topics: Topics) -> None:
    (line,) = documents(0, 1)
    header = b"\x00" + (258).to_bytes(4, "big")
    topics.send("wire", [header + line, header + b"\x02avro", documents(1, 1)[0]])
    url = topics.url("wire")
    with pytest.raises(LineageError, match=r"wire/0, offset 0: .*schema id 258.*confluent-json"):
        setup.drain(source=parse_source(url))
    assert rejected_lines(setup.rejects) == []

    (mixed,) = setup.drain(source=parse_source(url, value_format=ValueFormat.JSON))
    assert mixed.counts == LineCounts(recorded=1, rejected=2)
    faults = [reject["faults"][0] for reject in rejected_lines(setup.rejects)]
    assert all("schema id 258" in fault and "Avro and Protobuf cannot be read" in fault for fault in faults)

    setup.forget_commit(0)
    (stripped,) = setup.drain(source=parse_source(url, value_format=ValueFormat.CONFLUENT_JSON))
    assert stripped.counts == LineCounts(recorded=1, rejected=2)
    avro, plain = (reject["faults"][0] for reject in rejected_lines(setup.rejects))
    assert avro.startswith("no JSON behind the schema id 258")
    assert plain.startswith("not in Confluent's wire format")


def test_a_pattern_a_start_and_an_end_select_messages(setup: StreamSetup, topics: Topics) -> None:
    lines = documents(0, 8)
    topics.send("part-1", lines[:2])
    topics.send("apart", lines[2:3])
    time.sleep(0.01)
    middle_ms = str(now_ms())
    topics.send("part-1", lines[3:5])
    topics.send("part-2", lines[5:])
    pattern = partial(parse_source, f"kafka://{topics.address}", topic_pattern="part-.")

    (later,) = setup.drain(source=pattern(starting=middle_ms))
    assert later.counts == LineCounts(recorded=5)

    paths = {"checkpoint": setup.home / "checkpoint 2", "rejects": setup.home / "rejects 2"}
    earlier = pattern(ending=middle_ms)
    assert [batch.counts for batch in setup.drain(source=earlier, **paths)] == [LineCounts(recorded=2)]
    assert setup.drain(source=earlier, **paths) == []
    with pytest.raises(ConfigurationError, match=f"the ending '{middle_ms}', not ''"):
        setup.drain(source=pattern(), **paths)

    paths = {"checkpoint": setup.home / "checkpoint 3", "rejects": setup.home / "rejects 3"}
    offsets = {name: parse_position(text, now_ms=0) for name, text in OFFSETS.items()}
    (batch,) = setup.drain(source=pattern(**offsets), **paths)
    assert batch.counts == LineCounts(repeated=4)


OFFSETS = {
    "starting": '{"part-1": {"0": 1}, "part-2": {"0": -2}}',
    "ending": '{"part-1": {"0": 2}, "part-2": {"0": -1}}',
}


def _keyed(lines: list[bytes]) -> list[tuple[str, bytes]]:
    """Keyed by run, so that documents of one run stay in order."""
    return [(json.loads(line)["run"]["run"], line) for line in lines]


def _ends(checkpoint: Path) -> dict[str, int]:
    """The offset of each partition up to which it was read (excluded)."""
    *_, last = sorted((checkpoint / "offsets").glob("[0-9]*"), key=lambda path: int(path.name))
    ends: dict[str, int] = json.loads(last.read_text(encoding="utf-8").splitlines()[-1])[TOPIC]
    return ends
