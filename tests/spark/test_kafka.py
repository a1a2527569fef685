"""Streams record every message of a real Kafka once, with its offset."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from kafka.broker import Broker, connector

from spark.stream_process import StreamProcess, documents, move_file, record_online, rejected_lines, rows

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
    assert (code, last["rejected"]) == (0, 1)
    assert last["batches"] == len(batches) >= 2

    file = move_file(tmp_path / "files", "all.ndjson", [*first, *more], time_s=1)
    assert rows(url) == record_online(f"sqlite:///{tmp_path}/online.db", [file])
    (reject,) = rejected_lines(tmp_path / "rejects")
    ends = _ends(tmp_path / "checkpoint")
    assert (reject["file"], reject["line"]) in {
        (f"{TOPIC}/{number}", end - 1) for number, end in ends.items()
    }
    assert sum(ends.values()) == len(first) + len(more) + 1


def _keyed(lines: list[bytes]) -> list[tuple[str, bytes]]:
    """Keyed by run, so that documents of one run stay in order."""
    return [(json.loads(line)["run"]["run"], line) for line in lines]


def _ends(checkpoint: Path) -> dict[str, int]:
    """The offset of each partition up to which it was read (excluded)."""
    *_, last = sorted((checkpoint / "offsets").glob("[0-9]*"), key=lambda path: int(path.name))
    ends: dict[str, int] = json.loads(last.read_text(encoding="utf-8").splitlines()[-1])[TOPIC]
    return ends
