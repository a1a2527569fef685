"""Jobs on a real Kafka: what capture reads of them is as recorded."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.capture import golden_capture
from tests.support.capture.golden_dumps import record, recorded
from tests.support.capture.kafka_jobs import BROKER, TOPICS
from tests.support.kafka.broker import Broker, connector

pytestmark = pytest.mark.java


@pytest.mark.long
def test_jobs_have_the_recorded_events(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Broker(tmp_path / "broker") as broker:
        for topic in TOPICS:
            broker.create(topic, partitions=1)
        monkeypatch.setenv(BROKER, broker.address)
        target = tmp_path / "kafka.ndjson"
        record("kafka", target, ",".join(map(str, connector())))
    captured, expected = (list(golden_capture.jobs(recorded(name))) for name in (target, "kafka-4.3.ndjson"))
    assert captured == expected
