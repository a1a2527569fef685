"""Times in documents of other systems: what clients write, and what is refused."""

from __future__ import annotations

import pytest

from fll_hbase.sources.validation import Part, Validator

TEN = 1_795_168_800_000
HOUR = 3_600_000


@pytest.mark.parametrize(
    ("given", "time_ms"),
    [
        ("2026-11-20T10:00:00Z", TEN),
        ("2026-11-20T10:00:00.123456789Z", TEN + 123),
        ("2026-11-20 10:00:00", TEN),
        ("20261120T100000Z", TEN),
        ("2026-11-20T15:45:00+05:45", TEN),
        ("2026-11-20t10:00:00.5z", TEN + 500),
        ("2026-11-20T11:00:00+01:00[Europe/Berlin]", TEN),
        ("2026-11-20T10:00Z[UTC]", TEN),
        ("2026-11-20T09:59:60Z", TEN),
        ("2026-11-20T09:59:60.250+00:00", TEN + 250),
        ("2026-11-20T10:59:60+01:00[Europe/Berlin]", TEN),
    ],
)
def test_times_that_clients_write(given: str, time_ms: int) -> None:
    validator = Validator()
    assert Part(validator, {"time": given}).time_ms("time") == time_ms
    assert not validator.errors


@pytest.mark.parametrize(
    "given", ["?", "soon", "[UTC]", "1763632800", "2026-11-20T10:61:60Z", "2026-11-20T10:00:61Z", 5, None, ""]
)
def test_what_is_no_time_is_an_error(given: object) -> None:
    validator = Validator()
    assert Part(validator, {"time": given}).time_ms("time") == 0
    assert [error.path for error in validator.errors] == ["time"]
