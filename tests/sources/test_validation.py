"""Validator: errors of parts that are left out or refused keep their number, listed or not."""

from __future__ import annotations

from fll_hbase.runtime.errors import ERRORS_LISTED_MAX
from fll_hbase.sources.validation import Validator


def validator(count: int) -> Validator:
    result = Validator()
    for number in range(count):
        result.error(f"items.{number}", "missing")
    return result


def test_errors_that_are_only_counted_are_refused_with_the_others() -> None:
    for first, count in ((0, 5_000), (500, 5_000), (0, ERRORS_LISTED_MAX + 2), (ERRORS_LISTED_MAX, 1_002)):
        checks = validator(first + count)
        assert checks.refuse(errors_before=first)
        assert (checks.errors.count, checks.refused.count) == (first, count)
        assert sum(error.count for error in checks.refused) == count


def test_errors_that_are_only_counted_are_left_out_with_the_others() -> None:
    checks = validator(5_000)
    assert checks.leave_out("items", errors_before=0)
    assert (checks.errors.count, checks.warnings.count) == (0, 5_000)
