"""Encoded values survive the round trip and sort as the values do."""

from __future__ import annotations

import re
import sys

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fll_hbase.keys import codec
from fll_hbase.model.window import DAY_MS, START_LIMIT_MS
from fll_hbase.runtime.errors import CorruptRow, TooLarge
from tests.support.strategies import names, starts, texts

UNESCAPED = re.compile(rb"(?:[A-Za-z0-9._~/:@=,-]|%[0-9A-F]{2})*")
LAST_START_MS = START_LIMIT_MS - 1


@given(texts | names)
@example("")
def test_an_escaped_name_reads_back(name: str) -> None:
    segment = codec.escape(name)
    assert UNESCAPED.fullmatch(segment)
    assert codec.unescape(segment) == name


@pytest.mark.slow
def test_all_of_unicode_but_surrogates_reads_back() -> None:
    for begin in range(0, sys.maxunicode + 1, 4096):
        name = "".join(chr(code) for code in range(begin, begin + 4096) if not 0xD800 <= code <= 0xDFFF)
        segment = codec.escape(name)
        assert UNESCAPED.fullmatch(segment)
        assert codec.unescape(segment) == name


def test_what_is_kept_and_what_is_escaped() -> None:
    unescaped = "ABYZabyz0189._~-/:@=,"
    assert codec.escape(unescaped) == unescaped.encode()
    assert codec.escape("|% +\x00é🙂") == b"%7C%25%20%2B%00%C3%A9%F0%9F%99%82"


@given(texts, texts)
def test_a_prefix_of_a_name_is_a_prefix_of_its_bytes(prefix: str, rest: str) -> None:
    assert codec.escape(prefix + rest) == codec.escape(prefix) + codec.escape(rest)


@given(st.binary(max_size=12))
def test_any_bytes_read_back_or_are_corrupt(segment: bytes) -> None:
    try:
        name = codec.unescape_bytes(segment)
    except CorruptRow:
        assert codec.escape_bytes(segment) != segment
    else:
        assert codec.escape_bytes(name) == segment


@pytest.mark.parametrize(
    "segment", [b"|", b"%", b"%4", b"%zz", b"%c3%a9", b"%41", b" ", b"\xc3\xa9", b"%C3", b"%ED%A0%80"]
)
def test_what_escaping_would_not_have_made_is_corrupt(segment: bytes) -> None:
    with pytest.raises(CorruptRow, match="not an escaped name"):
        codec.unescape(segment)


@given(starts, starts)
@example(0, 1)
@example(LAST_START_MS - 1, LAST_START_MS)
def test_starts_sort_newest_first(left: int, other: int) -> None:
    assert (codec.inverted_start(left) < codec.inverted_start(other)) == (left > other)


@given(starts)
@example(0)
@example(LAST_START_MS)
def test_a_start_reads_back(start_ms: int) -> None:
    segment = codec.inverted_start(start_ms)
    assert re.fullmatch(rb"[0-9a-f]{16}", segment)
    assert codec.parse_inverted_start(segment) == start_ms


def test_days_change_at_midnight_and_share_the_last() -> None:
    assert [codec.day_of(start_ms) for start_ms in (0, DAY_MS - 1, DAY_MS, 2 * DAY_MS)] == [0, 0, 1, 2]
    last_ms = codec.DAY_MAX * DAY_MS
    beyond = [last_ms - 1, last_ms, last_ms + DAY_MS, LAST_START_MS]
    assert [codec.day_of(start_ms) for start_ms in beyond] == [codec.DAY_MAX - 1, *[codec.DAY_MAX] * 3]


@given(st.binary(max_size=20) | st.from_regex(rb"[0-9a-f]{15,17}", fullmatch=True))
def test_any_other_bytes_are_no_start(segment: bytes) -> None:
    try:
        start_ms = codec.parse_inverted_start(segment)
    except CorruptRow:
        return
    assert codec.inverted_start(start_ms) == segment


@pytest.mark.parametrize(
    "segment",
    [
        b"",
        b"0",
        b"000000000000000g",
        b"00000000000000001",
        b"000000000000000F",
        b"+00000000000001f",
        b"-00000000000001f",
        b"0x0000000000001f",
        b"             1f ",
        b"0000_0000_0001_f",
    ],
)
def test_sixteen_hex_digits_and_nothing_else_are_a_start(segment: bytes) -> None:
    with pytest.raises(CorruptRow, match="16 hex digits"):
        codec.parse_inverted_start(segment)


def test_a_key_is_as_long_as_hbase_takes_it() -> None:
    longest = b"x" * (codec.KEY_BYTES_MAX - 2)
    assert len(codec.join_key(b"e", longest)) == 32_767
    with pytest.raises(TooLarge, match=r"32768 bytes, at most 32767"):
        codec.join_key(b"e", longest + b"x")
