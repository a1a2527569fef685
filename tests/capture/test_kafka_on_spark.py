"""Jobs on a real Kafka: what capture reads of them is as recorded."""

from __future__ import annotations

from pathlib import Path

import pytest
from kafka.broker import Broker, connector

from .golden_dumps import record, recorded
from .kafka_jobs import BROKER, TOPICS
from .test_resolver_jobs import events_of_lines, expected

pytestmark = pytest.mark.java


def test_jobs_have_the_recorded_events(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Broker(tmp_path / "broker") as broker:
        for topic in TOPICS:
            broker.create(topic, partitions=1)
        monkeypatch.setenv(BROKER, broker.address)
        target = tmp_path / "kafka.ndjson"
        record("kafka", target, ",".join(map(str, connector())))
    assert events_of_lines(recorded(target)) == expected("kafka-4.3")
