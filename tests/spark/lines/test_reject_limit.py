"""A limit of rejected lines is a number or a share."""

from __future__ import annotations

import pytest

from fll_hbase.runtime.errors import ConfigurationError
from fll_hbase.spark.lines.reject_limit import LINES_MIN, NO_LIMIT, RejectLimit, parse_limit


def test_a_number_and_a_share_are_parsed() -> None:
    assert parse_limit("0") == RejectLimit(0)
    assert parse_limit("100") == RejectLimit(100)
    assert parse_limit("5%") == RejectLimit(share=0.05)
    assert parse_limit("100%") == RejectLimit(share=1)


@pytest.mark.parametrize("text", ["", "%", "-1", "5.5", "half", "nan%", "inf%", "-0.1%", "101%", "5 percent"])
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(ConfigurationError, match="such as 5%"):
        parse_limit(text)


def test_no_limit_is_never_exceeded() -> None:
    assert not NO_LIMIT.is_exceeded(10, 10)
    assert not NO_LIMIT.is_exceeded_by_task(10**9, 10**9)


def test_a_limit_is_exceeded_by_more() -> None:
    assert [RejectLimit(2).is_exceeded(count, 9) for count in (2, 3)] == [False, True]
    assert [RejectLimit(share=0.5).is_exceeded(count, 4) for count in (2, 3)] == [False, True]
    assert not RejectLimit(0).is_exceeded(0, 0)
    assert not RejectLimit(share=0.0).is_exceeded(0, 0)


def test_a_task_compares_a_share_of_many_lines_only() -> None:
    assert RejectLimit(2).is_exceeded_by_task(3, 3)
    share = RejectLimit(share=0.5)
    assert not share.is_exceeded_by_task(LINES_MIN - 1, LINES_MIN - 1)
    assert share.is_exceeded_by_task(LINES_MIN, LINES_MIN)
