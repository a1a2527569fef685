"""Topics of a broker, through the JVM of a Spark that has the connector."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import Row, SparkSession

SCHEMA = "key binary, value binary, headers array<struct<key: string, value: binary>>"


@dataclass(frozen=True)
class Message:
    """A message to send, or one that was sent."""

    value: bytes | None
    key: bytes | None = None
    headers: tuple[tuple[str, bytes], ...] = field(default=())


class Topics:
    """Creates topics, sends messages in order, and reads them."""

    def __init__(self, spark: SparkSession, address: str) -> None:
        self._spark = spark
        self.address = address
        self._servers = {"kafka.bootstrap.servers": address}

    def create(self, *names: str) -> None:
        """Create topics with the broker's defaults: one partition."""
        java: Any = self._spark._jvm
        settings = java.java.util.Properties()
        settings.put("bootstrap.servers", self.address)
        admin = java.org.apache.kafka.clients.admin.AdminClient.create(settings)
        topics, default = java.java.util.ArrayList(), java.java.util.Optional.empty()
        for name in names:
            topics.add(java.org.apache.kafka.clients.admin.NewTopic(name, default, default))
        try:
            admin.createTopics(topics).all().get()
        finally:
            admin.close()

    def url(self, *names: str) -> str:
        return f"kafka://{self.address}/{','.join(names)}"

    def send(self, topic: str, messages: Sequence[Message | bytes]) -> None:
        """Send messages, or values without key and headers."""
        sent = [Message(message) if isinstance(message, bytes) else message for message in messages]
        rows = [(message.key, message.value, list(message.headers)) for message in sent]
        frame = self._spark.createDataFrame(rows, SCHEMA).coalesce(1)
        frame.write.format("kafka").options(**self._servers, topic=topic).save()

    def messages(self, topic: str) -> list[Message]:
        """Return all messages of a topic, in order."""
        options = {**self._servers, "subscribe": topic, "includeHeaders": "true"}
        rows = self._spark.read.format("kafka").options(**options).load().sort("offset").collect()
        return [Message(_bytes(row["value"]), _bytes(row["key"]), _pairs(row["headers"])) for row in rows]


def _bytes(value: Any) -> bytes | None:
    return None if value is None else bytes(value)


def _pairs(headers: Sequence[Row] | None) -> tuple[tuple[str, bytes], ...]:
    return tuple((header["key"], bytes(header["value"])) for header in headers or ())
