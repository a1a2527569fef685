"""Messages of Kafka as columns: their document, their fault, and their identity."""

from __future__ import annotations

from functools import reduce
from operator import or_

from pyspark.sql import Column
from pyspark.sql import functions as f

from fll_hbase.spark.streams.stream_options import LATEST, KafkaOptions, ValueFormat, offsets_of

HEADER_BYTES = 5
"""Confluent's wire format: a byte 0, the id of the schema in four bytes, then the value."""

_ALL = 2**31 - 1
_JSON_STARTS = [b"{", b"[", b'"', b" ", b"\t", b"\r", b"\n"]

_NO_AVRO = (
    "Avro and Protobuf cannot be read: let the producer write JSON, or convert the topic, for example with a"
    " Kafka Streams or ksqlDB query"
)


def has_wire_format(value: Column) -> Column:
    """Return the condition that a value begins like Confluent's wire format, unlike any JSON."""
    return (f.substring(value, 1, 1) == f.lit(b"\x00")) & (f.octet_length(value) >= HEADER_BYTES)


def schema_id(value: Column) -> Column:
    """Return a column with the schema id, in decimal, of a value in the wire format."""
    return f.conv(f.hex(f.substring(value, 2, 4)), 16, 10)


def document(value: Column, value_format: ValueFormat) -> Column:
    """Return the bytes of the document in a value without fault."""
    if value_format is not ValueFormat.CONFLUENT_JSON:
        return value
    return f.substring(value, HEADER_BYTES + 1, _ALL)


def fault(value: Column, value_format: ValueFormat, bytes_max: int) -> Column:
    """Return a column with the reason a value cannot be a document; null if it may be one or is absent."""
    header = HEADER_BYTES if value_format is ValueFormat.CONFLUENT_JSON else 0
    size = f.octet_length(value)
    too_large = f.format_string(
        f"%d bytes, longer than {bytes_max}; split it, or raise FLL_DOCUMENT_BYTES_MAX", size
    )
    return f.when(size > bytes_max + header, too_large).otherwise(_format_fault(value, value_format))


def _format_fault(value: Column, value_format: ValueFormat) -> Column:
    """Return a column with why the bytes of a value do not match the expected format, or null if they do."""
    is_wire = has_wire_format(value)
    if value_format is not ValueFormat.CONFLUENT_JSON:
        advice = f"if it is JSON Schema, start with --value-format confluent-json; {_NO_AVRO}"
        text = f"in Confluent's wire format, with schema id %s: {advice}"
        return f.when(is_wire, f.format_string(text, schema_id(value)))
    no_json = f"no JSON behind the schema id %s of Confluent's wire format: {_NO_AVRO}"
    is_json = f.substring(value, HEADER_BYTES + 1, 1).isin(_JSON_STARTS)
    plain = "not in Confluent's wire format: use --value-format json for a topic that mixes formats"
    return f.when(~is_wire, f.lit(plain)).when(~is_json, f.format_string(no_json, schema_id(value)))


def is_read(options: KafkaOptions) -> Column:
    """Return whether a message is before the end of the stream, if it has one."""
    if options.ending.isdecimal():
        return f.unix_millis("timestamp") < int(options.ending)
    ends = [
        (f.col("topic") == topic) & (f.col("partition") == int(partition)) & (f.col("offset") >= offset)
        for topic, partitions in offsets_of(options.ending).items()
        for partition, offset in partitions.items()
        if offset >= 0
    ]
    return ~reduce(or_, ends, f.lit(False)) if options.ending != LATEST else f.lit(True)
