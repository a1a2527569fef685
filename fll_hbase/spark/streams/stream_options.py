"""Options of the sources of a stream, parsed and checked before Spark starts."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from enum import Enum
from math import ceil
from typing import Any

from fll_hbase.queries import time_window
from fll_hbase.runtime.errors import ConfigurationError

KAFKA = "kafka://"
FORM = f"{KAFKA}host:port[,host:port]/topic[,topic]"
FILES_MAX, OFFSETS_MAX = 100, 100_000
FILE_AGE_MAX = "36500d"
"""Maximum age of files. By default Spark would ignore, and lose, files a week older than the newest."""

EARLIEST, LATEST = "earliest", "latest"
_OFFSETS = '{"topic": {"0": 12, "1": -1}}'
_LATEST_OFFSET, _EARLIEST_OFFSET = -1, -2

CLIENT_PREFIX = "kafka."
"""Prefix of options of Kafka's own client, whose names differ between versions."""

_FOLDER_OPTIONS = (
    "cleanSource",
    "discardCachedInputRatio",
    "encoding",
    "fileNameOnly",
    "ignoreCorruptFiles",
    "ignoreMissingFiles",
    "latestFirst",
    "lineSep",
    "maxBytesPerTrigger",
    "maxCachedFiles",
    "maxFileAge",
    "pathGlobFilter",
    "recursiveFileLookup",
    "sourceArchiveDir",
    "wholetext",
)
_KAFKA_OPTIONS = (
    "failOnDataLoss",
    "fetchOffset.numRetries",
    "fetchOffset.retryIntervalMs",
    "groupIdPrefix",
    "kafkaConsumer.pollTimeoutMs",
    "maxRecordsPerPartition",
    "maxTriggerDelay",
    "minOffsetsPerTrigger",
    "minPartitions",
)
"""Options that Spark documents for streams of text files and of Kafka, except those in the next table."""

_SET_BY = {
    "path": "SOURCE",
    "maxFilesPerTrigger": "--files-max",
    "kafka.bootstrap.servers": "SOURCE",
    "subscribe": "SOURCE",
    "assign": "SOURCE",
    "subscribePattern": "--topic-pattern",
    "maxOffsetsPerTrigger": "--offsets-max",
    "startingOffsets": "--starting",
    "startingTimestamp": "--starting",
    "startingOffsetsByTimestamp": "--starting",
    "startingOffsetsByTimestampStrategy": "--starting",
    "endingOffsets": "--ending",
    "endingTimestamp": "--ending",
    "endingOffsetsByTimestamp": "--ending",
}
"""Options of Spark for which our command has its own option or argument."""


class ValueFormat(Enum):
    """The format of the value of a message."""

    DETECT = ""
    JSON = "json"
    CONFLUENT_JSON = "confluent-json"


@dataclass(frozen=True, slots=True)
class FolderOptions:
    """NDJSON files moved into a folder, oldest first, at most `files_max` (None: the default) a batch."""

    path: str
    files_max: int | None = None
    extra: Mapping[str, str] = field(default_factory=dict)

    def reader_options(self) -> dict[str, str]:
        """Return the options of Spark's reader."""
        # Spark refuses both bounds together.
        files_max = self.files_max or (None if "maxBytesPerTrigger" in self.extra else FILES_MAX)
        bounds = {"maxFilesPerTrigger": str(files_max)} if files_max else {}
        return {"lineSep": "\n", "maxFileAge": FILE_AGE_MAX, **bounds, **self.extra, "path": self.path}


@dataclass(frozen=True, slots=True)
class KafkaOptions:
    """Messages of Kafka topics, at most `offsets_max` a batch, from `starting` up to `ending` (excluded).

    Either `topics` or `topic_pattern` is empty. Positions have the forms of `parse_position`, and an empty
    `ending` means that the stream does not end.
    """

    servers: str
    topics: str = ""
    topic_pattern: str = ""
    offsets_max: int = OFFSETS_MAX
    starting: str = EARLIEST
    ending: str = ""
    value_format: ValueFormat = ValueFormat.DETECT
    extra: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Return servers and topics in a form that does not depend on their order."""
        servers, topics = (",".join(sorted(names.split(","))) for names in (self.servers, self.topics))
        return f"{KAFKA}{servers}/{self.topic_pattern and '~'}{self.topic_pattern}{topics}"

    def client_options(self) -> dict[str, str]:
        """Return the servers, and the options in `extra` for Kafka's client, such as security."""
        client = {name: value for name, value in self.extra.items() if name.startswith(CLIENT_PREFIX)}
        return {**client, "kafka.bootstrap.servers": self.servers}

    def reader_options(self) -> dict[str, str]:
        """Return the options of Spark's reader, except `ending`; members take precedence over `extra`."""
        topics = (
            {"subscribePattern": self.topic_pattern} if self.topic_pattern else {"subscribe": self.topics}
        )
        bounds = {"maxOffsetsPerTrigger": str(self.offsets_max), "includeHeaders": "true"}
        return {**self.extra, **self.client_options(), **topics, **bounds, **_starting_options(self.starting)}

    def reads_topic(self, topic: str) -> bool:
        """Return whether a topic is listed, or its whole name matches the pattern."""
        if not self.topic_pattern:
            return topic in self.topics.split(",")
        return re.fullmatch(self.topic_pattern, topic) is not None


SourceOptions = FolderOptions | KafkaOptions


@dataclass(frozen=True, slots=True)
class DeadLetterTopic:
    """A topic for rejected messages, and the options of the client that sends them."""

    topic: str
    client_options: Mapping[str, str]


def parse_source(
    source: str,
    *,
    files_max: int | None = None,
    topic_pattern: str = "",
    extra: Mapping[str, str] | None = None,
    **kafka: Any,
) -> SourceOptions:
    """Parse `kafka://host:port[,host:port]/topic[,topic]` or the path of a folder. Raises ConfigurationError.

    None means the default. With a pattern, the URL has no topics. `kafka` are members of KafkaOptions.
    Options of the other kind of source are refused, and unknown ones in `extra`.
    """
    given = {name: value for name, value in kafka.items() if value is not None}
    if not source.startswith(KAFKA):
        if topic_pattern or given:
            option = "topic-pattern" if topic_pattern else next(iter(given)).replace("_", "-")
            raise ConfigurationError(
                f"{source!r} is a folder, which has no topics and offsets: leave out --{option}"
            )
        names = canonical_options(extra or {}, _FOLDER_OPTIONS)
        if files_max and "maxBytesPerTrigger" in names:
            raise ConfigurationError("leave out --files-max or maxBytesPerTrigger: Spark has one limit")
        return FolderOptions(source, files_max, names)
    if files_max is not None:
        raise ConfigurationError(f"{source!r} is Kafka, which has no files: limit its offsets")
    servers, topics = _parse_url(source)
    if not topics and not topic_pattern:
        raise ConfigurationError(f"{source!r} should be {FORM}, or {KAFKA}host:port with --topic-pattern")
    if topics and topic_pattern:
        raise ConfigurationError(f"{source!r} names topics: leave them out, or leave out --topic-pattern")
    _check_pattern(topic_pattern)
    _check_ending(given.get("ending", ""))
    names = canonical_options(extra or {}, _KAFKA_OPTIONS, open_prefix=CLIENT_PREFIX)
    return KafkaOptions(servers, topics, topic_pattern, extra=names, **given)


def parse_dead_letter(url: str, source: SourceOptions) -> DeadLetterTopic:
    """Parse `kafka://host:port[,host:port]/topic`; the client has the options of the source's client.

    Raises ConfigurationError, including for a topic that the source reads.
    """
    servers, topic = _parse_url(url)
    if not url.startswith(KAFKA) or not topic or "," in topic:
        raise ConfigurationError(f"--dead-letter should be {KAFKA}host:port[,host:port]/topic, not {url!r}")
    if not isinstance(source, KafkaOptions):
        return DeadLetterTopic(topic, {"kafka.bootstrap.servers": servers})
    # The servers do not matter: a cluster may have several names, and the stream would read its own rejects.
    if source.reads_topic(topic):
        raise ConfigurationError(
            f"--dead-letter {url!r} is a topic that the stream reads, and would never end: use another one"
        )
    return DeadLetterTopic(topic, {**source.client_options(), "kafka.bootstrap.servers": servers})


def _parse_url(url: str) -> tuple[str, str]:
    """Return servers and topics, "" if missing. Raises ConfigurationError for a user, or no servers."""
    servers, _, topics = url.removeprefix(KAFKA).partition("/")
    if "@" in url:
        # Do not repeat the password in the error, which is logged.
        raise ConfigurationError(
            "a Kafka URL has no user or password: use --option kafka.sasl.jaas.config=... and its companions"
        )
    if not servers and url.startswith(KAFKA):
        raise ConfigurationError(f"{url!r} should be {FORM}")
    return servers, topics


def _check_pattern(pattern: str) -> None:
    """Raise ConfigurationError if a pattern is not a valid regular expression in Python; "" is one."""
    try:
        re.compile(pattern)
    except re.error as error:
        raise ConfigurationError(
            f"--topic-pattern {pattern!r} is not a regular expression: {error}"
        ) from error


def _check_ending(ending: str) -> None:
    """Raise ConfigurationError for an ending at the earliest offset of any partition; "" is accepted."""
    numbers = [offset for partitions in offsets_of(ending).values() for offset in partitions.values()]
    if ending == EARLIEST or _EARLIEST_OFFSET in numbers:
        raise ConfigurationError(f"--ending cannot be {EARLIEST}: nothing would be read")


def canonical_options(
    options: Mapping[str, str], valid: Iterable[str], *, open_prefix: str = ""
) -> dict[str, str]:
    """Return options with their names as documented, since Spark ignores case.

    Raises ConfigurationError for a name that is neither valid nor has the prefix, and for names in _SET_BY.
    """
    spelling = {name.lower(): name for name in valid}
    set_by = {name.lower(): option for name, option in _SET_BY.items()}
    canonical: dict[str, str] = {}
    for name, value in options.items():
        key = name.lower()
        if key in set_by:
            raise ConfigurationError(f"--option {name} is set by {set_by[key]}; use that")
        if key not in spelling and not (open_prefix and name.startswith(open_prefix)):
            raise ConfigurationError(_unknown(name, spelling, open_prefix))
        canonical[spelling.get(key, name)] = value
    return canonical


def _unknown(name: str, spelling: Mapping[str, str], open_prefix: str) -> str:
    """Return the error text for an unknown option, with all valid names and the closest one, if any."""
    close = get_close_matches(name.lower(), spelling, n=1)
    advice = f" did you mean {spelling[close[0]]}?" if close else ""
    client = f", and options of Kafka's client as {open_prefix}NAME" if open_prefix else ""
    return f"unknown option {name!r};{advice} valid options: {', '.join(spelling.values())}{client}"


def parse_position(text: str, *, now_ms: int) -> str:
    """Parse a position in topics: `earliest`, `latest`, a time, or offsets by topic and partition as JSON.

    Return the same words, milliseconds since 1970, rounded up, or JSON with sorted members. Raises
    ValueError.
    """
    if text in (EARLIEST, LATEST):
        return text
    if text.startswith("{"):
        return json.dumps(_parse_offsets(text), sort_keys=True)
    try:
        return str(ceil(time_window.parse_seconds(text, now_ms=now_ms) * 1000))
    except ValueError as error:
        raise ValueError(
            f"{error}. Also valid: {EARLIEST}, {LATEST}, or offsets as JSON such as {_OFFSETS}"
        ) from error


def offsets_of(position: str) -> dict[str, dict[str, int]]:
    """Return the offsets by topic and partition of a parsed position, or {} for its other forms."""
    offsets: dict[str, dict[str, int]] = json.loads(position) if position.startswith("{") else {}
    return offsets


def _parse_offsets(text: str) -> dict[str, dict[str, int]]:
    """Parse offsets by topic and partition. Raises ValueError with an example."""
    try:
        offsets = {
            topic: {str(int(partition)): _check_offset(offset) for partition, offset in partitions.items()}
            for topic, partitions in json.loads(text).items()
        }
    except (ValueError, AttributeError) as error:
        raise ValueError(f"offsets look like {_OFFSETS}: {error}") from error
    return offsets


def _check_offset(offset: Any) -> int:
    """Return an offset. Raises ValueError unless it is an int of at least -2, the earliest."""
    if type(offset) is not int or offset < _EARLIEST_OFFSET:
        raise ValueError(f"{offset!r} is not an offset (-1 is the latest, -2 the earliest)")
    return offset


def _starting_options(position: str) -> dict[str, str]:
    """Return Spark's options for a parsed position; partitions without a later message begin at their end."""
    if position.isdecimal():
        # By default a partition without a later message is an error.
        return {"startingTimestamp": position, "startingOffsetsByTimestampStrategy": LATEST}
    return {"startingOffsets": position}
