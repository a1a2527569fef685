"""Options of streams are parsed before Spark starts, and those that a source does not have are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fll_hbase.runtime.errors import ConfigurationError
from fll_hbase.spark.stats import PARTITIONS_MAX, ConsumerLag, parse_lag
from fll_hbase.spark.streams.kafka_connector import connector_package, installed_jars, missing_packages
from fll_hbase.spark.streams.stream_options import (
    FolderOptions,
    KafkaOptions,
    parse_dead_letter,
    parse_position,
    parse_source,
)
from tests.support.commands import complaint

TOPIC = "kafka://a:1/c"


def test_sources_are_parsed() -> None:
    assert parse_source("/in") == FolderOptions("/in")
    assert parse_source("kafka://a:1,b:2/c,d") == KafkaOptions("a:1,b:2", "c,d")
    assert parse_source("kafka://a:1/", topic_pattern="c.*") == KafkaOptions("a:1", topic_pattern="c.*")
    assert parse_source(TOPIC, starting="latest", offsets_max=7).reader_options() == {
        "kafka.bootstrap.servers": "a:1",
        "subscribe": "c",
        "startingOffsets": "latest",
        "maxOffsetsPerTrigger": "7",
        "includeHeaders": "true",
    }
    assert KafkaOptions("b:2,a:1", "d,c").name == KafkaOptions("a:1,b:2", "c,d").name == "kafka://a:1,b:2/c,d"


@pytest.mark.parametrize(
    ("source", "options", "message"),
    [
        ("kafka://", {}, "should be kafka://"),
        ("kafka://a:1", {}, "--topic-pattern"),
        ("kafka:///topic", {}, "should be kafka://"),
        (TOPIC, {"topic_pattern": "c.*"}, "leave out --topic-pattern"),
        ("kafka://a:1", {"topic_pattern": "c["}, "not a regular expression"),
        (TOPIC, {"files_max": 1}, "no files"),
        (TOPIC, {"ending": "earliest"}, "nothing would be read"),
        (TOPIC, {"ending": '{"c": {"0": -2}}'}, "nothing would be read"),
        ("/in", {"files_max": 1, "extra": {"maxbytespertrigger": "1"}}, "Spark has one limit"),
        ("/in", {"offsets_max": 1}, "leave out --offsets-max"),
        ("/in", {"topic_pattern": "c.*"}, "leave out --topic-pattern"),
        ("/in", {"value_format": "json"}, "leave out --value-format"),
    ],
)
def test_other_sources_are_refused(source: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        parse_source(source, **options)


def test_a_password_in_the_url_is_refused_and_not_repeated() -> None:
    with pytest.raises(ConfigurationError) as caught:
        parse_source("kafka://user:secret@a:1/c")
    assert "kafka.sasl.jaas.config" in str(caught.value)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("source", "name", "message"),
    [
        ("/in", "maxFileAgee", "did you mean maxFileAge"),
        ("/in", "failOnDataLoss", "valid options: cleanSource, "),
        ("/in", "kafka.security.protocol", "unknown option"),
        ("/in", "maxFilesPerTrigger", "set by --files-max"),
        (TOPIC, "failondatalos", "did you mean failOnDataLoss"),
        (TOPIC, "maxFileAge", "and options of Kafka's client as kafka.NAME"),
        (TOPIC, "startingoffsets", "set by --starting"),
        (TOPIC, "kafka.bootstrap.servers", "set by SOURCE"),
        (TOPIC, "security.protocol", "unknown option 'security.protocol'"),
    ],
)
def test_unknown_options_are_refused_with_the_valid_ones(source: str, name: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        parse_source(source, extra={name: "x"})


def test_options_are_those_of_spark_whatever_their_case() -> None:
    options = parse_source("/in", extra={"MAXFILEAGE": "7d", "maxBytesPerTrigger": "9"}).reader_options()
    assert (options["maxFileAge"], options["maxBytesPerTrigger"]) == ("7d", "9")
    assert "maxFilesPerTrigger" not in options
    kafka = parse_source(TOPIC, extra={"kafka.security.protocol": "SSL", "failondataloss": "false"})
    assert kafka.reader_options()["kafka.security.protocol"] == "SSL"
    assert kafka.reader_options()["failOnDataLoss"] == "false"


def test_positions_are_words_times_or_offsets() -> None:
    assert parse_position("earliest", now_ms=0) == "earliest"
    assert parse_position("2026-11-01", now_ms=0) == "1793491200000"
    assert parse_position("now-1s", now_ms=9_000) == "8000"
    offsets = parse_position('{"c": {"1": -1, "0": 12}}', now_ms=0)
    assert offsets == '{"c": {"0": 12, "1": -1}}'
    assert parse_source(TOPIC, starting=offsets).reader_options()["startingOffsets"] == offsets
    options = parse_source(TOPIC, starting="8000").reader_options()
    assert (options["startingTimestamp"], options.get("startingOffsets")) == ("8000", None)


@pytest.mark.parametrize(
    "text", ["soon", "", "{", '{"c": 1}', '{"c": {"x": 1}}', '{"c": {"0": "1"}}', '{"c": {"0": -3}}']
)
def test_other_positions_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="offsets"):
        parse_position(text, now_ms=0)


def test_dead_letters_go_to_a_topic_that_is_not_read() -> None:
    source = parse_source(TOPIC, extra={"kafka.security.protocol": "SSL"})
    letters = parse_dead_letter("kafka://b:2/dead", source)
    assert letters.topic == "dead"
    assert letters.client_options == {"kafka.bootstrap.servers": "b:2", "kafka.security.protocol": "SSL"}
    for url in ("/dead", "kafka://b:2", "kafka://b:2/a,b"):
        with pytest.raises(ConfigurationError, match="--dead-letter"):
            parse_dead_letter(url, source)
    for read in (source, parse_source("kafka://a:1", topic_pattern="c.*")):
        with pytest.raises(ConfigurationError, match="would never end"):
            parse_dead_letter("kafka://other:9/c", read)


def test_the_connector_is_that_of_the_installed_spark() -> None:
    assert connector_package(installed_jars()).startswith("org.apache.spark:spark-sql-kafka-0-10_2.13:4.")
    vendor = ["scala-library-2.12.18.jar", "spark-core_2.12-3.5.1-amzn-0.jar"]
    assert connector_package(vendor) == "org.apache.spark:spark-sql-kafka-0-10_2.12:3.5.1"
    assert connector_package([]) == ""
    assert missing_packages((), ()) == (connector_package(installed_jars()),)
    assert missing_packages(("org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0",), ()) == ()
    assert missing_packages((), ("/lib/spark-sql-kafka-0-10_2.13-4.2.0.jar",)) == ()


def test_lag_is_what_spark_measured_for_the_partitions_furthest_behind() -> None:
    ends = {"t": {str(number): 10 for number in range(50)}}
    latest = {"t": {str(number): 10 + number for number in range(50)}}
    lag = parse_lag({"sources": [{"endOffset": ends, "latestOffset": latest}]})
    assert lag is not None
    assert lag.total == sum(range(50))
    assert list(lag.partitions.items())[:2] == [("t/49", 49), ("t/48", 48)]
    assert len(lag.partitions) == PARTITIONS_MAX
    text = parse_lag({"sources": [{"endOffset": '{"t":{"0":4}}', "latestOffset": '{"t":{"0":4}}'}]})
    assert text == ConsumerLag(0, {})
    assert parse_lag({"sources": [{"endOffset": {"logOffset": 0}, "latestOffset": None}]}) is None
    assert parse_lag({}) is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["in", "--option", "maxFileAgee=1d"], "did you mean maxFileAge"),
        (["in", "--option", "x"], "is not NAME=VALUE"),
        ([TOPIC, "--starting", "soon"], "--starting"),
        ([TOPIC, "--ending", "now-1d"], "--ending needs --once"),
        ([TOPIC, "--value-format", "avro"], "confluent-json"),
        (["in", "--store", "mysql://x"], "names no engine"),
    ],
    ids=lambda value: value if isinstance(value, str) else " ".join(value[1:]),
)
def test_options_are_refused_before_spark_starts(tmp_path: Path, options: list[str], message: str) -> None:
    paths = ["--rejects", str(tmp_path / "r"), "--checkpoint", str(tmp_path / "c")]
    assert message in complaint("spark", "stream", *options, *paths, code=2)
    assert list(tmp_path.iterdir()) == []
