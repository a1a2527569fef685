"""Windows and parameters: which are accepted, by every route."""

from __future__ import annotations

import time

import pytest
from flask.testing import FlaskClient

from tests.support.api_client import errors_by_path, get_json, path, record_new
from tests.support.lineage_documents import copying, run
from tests.support.windowed_routes import DETAILED, HIGH_LEVEL, RUNS, WAYS, windowed

SECOND, MINUTE, HOUR, DAY = 1, 60, 3_600, 86_400


def starts_in(client: FlaskClient, start: str, end: str) -> list[int]:
    """The starts of the runs of a window, oldest first; every other question must see the same."""
    listed = get_json(client, *RUNS, start=start, end=end)["runs"]
    ways = [way["runs"] for way in get_json(client, *WAYS, start=start, end=end)["paths"]]
    assert ways == ([[item["run"] for item in listed]] if listed else [])
    assert bool(get_json(client, *HIGH_LEVEL, start=start, end=end)) is bool(listed)
    assert bool(get_json(client, *DETAILED, start=start, end=end)["nodes"]) is bool(listed)
    return sorted(item["startTime"] for item in listed)


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        ("0", "10", [1_000, 1_001, 2_000, 3_000]),
        ("1", "2", [1_000, 1_001]),
        ("1", "2.001", [1_000, 1_001, 2_000]),
        ("1.001", "3", [1_001, 2_000]),
        ("1.0001", "3", [1_001, 2_000]),
        ("1.000000000000000000000000000001", "2", [1_001]),
        ("1.0011", "3", [2_000]),
        ("0", "1", []),
        ("0", "1.0001", [1_000]),
        ("0", "1.0000000000000000000001", [1_000]),
        ("0", "1.001", [1_000]),
        ("1.0002", "1.0009", []),
        ("2", "2", []),
        ("2", "2.0", []),
        ("0", "0", []),
        ("2.000", "2.0010", [2_000]),
        ("0000000002", "00000003", [2_000]),
        ("3", "now", [3_000]),
        ("3", "99999999999999999999999", [3_000]),
        ("3", "9223372036854775.807", [3_000]),
        ("9223372036854775.807", "9223372036854775.807", []),
        ("4", "now", []),
    ],
)
def test_start_is_in_and_end_is_out_to_the_millisecond(
    thousands: FlaskClient, start: str, end: str, expected: list[int]
) -> None:
    assert starts_in(thousands, start, end) == expected


def test_times_are_decimals_and_no_floats(client: FlaskClient) -> None:
    start_ms = 1_700_000_000_123
    record_new(client, copying("a", "b", "x", run=run(start_ms=start_ms)))
    assert starts_in(client, "1700000000.123", "1700000000.124") == [start_ms]
    assert starts_in(client, "1700000000.12300000001", "1700000000.124") == []
    assert starts_in(client, "1700000000", "1700000000.123") == []
    assert starts_in(client, "1700000000", "1700000000.1230000001") == [start_ms]


def test_the_last_millisecond_that_there_is(client: FlaskClient) -> None:
    record_new(client, copying("a", "b", "x", run=run(start_ms=2**63 - 2)))
    assert starts_in(client, "9223372036854775.806", "9223372036854775.807") == [2**63 - 2]
    assert starts_in(client, "9223372036854775.8060001", "9223372036854775.807") == []


@pytest.mark.parametrize(
    ("age", "start", "end", "inside"),
    [
        (5 * SECOND, "now-60s", "now", True),
        (90 * SECOND, "now-60s", "now", False),
        (90 * SECOND, "now-2m", "now", True),
        (90 * SECOND, "now-2m", "now-1m", True),
        (30 * SECOND, "now-2m", "now-1m", False),
        (2 * HOUR, "now-3h", "now-1h", True),
        (3 * DAY, "now-4d", "now", True),
        (13 * DAY, "now-2w", "now-1w", True),
        (6 * DAY, "now-2w", "now-1w", False),
        (3 * DAY, "now-2d", "now", False),
        (36 * HOUR, "now-1d-13h", "now-1d-11h", True),
        (36 * HOUR, "now-1d-11h", "now", False),
        (45 * MINUTE, "now-1h", "now-1h+30m", True),
        (15 * MINUTE, "now-1h", "now-1h+30m", False),
        (-1 * HOUR, "now", "now+2h", True),
        (-1 * HOUR, "now-1d", "now", False),
        (5 * SECOND, "now-7d+6d+23h+59m", "now+0s", True),
        (5 * SECOND, "now-00001m", "now", True),
        (5 * SECOND, "now-900000d+899999d", "now", True),
        (5 * SECOND, "now-1d", "now+999999999999999999d", True),
    ],
)
def test_sums_of_now(client: FlaskClient, age: int, start: str, end: str, inside: bool) -> None:
    start_ms = int(time.time() * 1000) - age * 1000
    record_new(client, copying("a", "b", "x", run=run(start_ms=start_ms)))
    assert starts_in(client, start, end) == ([start_ms] if inside else [])


@pytest.mark.parametrize(
    ("start", "end", "inside"),
    [
        ("2023-11-14", "2023-11-15", True),
        ("2023-11-13", "2023-11-14", False),
        ("2023-11-14T22:13:20.123Z", "2023-11-14T22:13:20.124Z", True),
        ("2023-11-14T22:13:20.1230000000001Z", "2023-11-15", False),
        ("2023-11-14", "2023-11-14T22:13:20.1230000000001Z", True),
        ("2023-11-14", "2023-11-14T22:13:20.123Z", False),
        ("2023-11-14T22:13Z", "2023-11-14T22:14Z", True),
        ("2023-11-14T23:13:20+01:00", "2023-11-14T17:13:21-05:00", True),
        ("2023-11-15T03:43:21+05:30", "now", False),
        ("1970-01-01T00:00:00Z", "9999-12-31T23:59:59.999Z", True),
        ("1970-01-01T01:00:00+01:00", "1700000000.124", True),
    ],
)
def test_iso_8601(client: FlaskClient, start: str, end: str, inside: bool) -> None:
    start_ms = 1_700_000_000_123
    record_new(client, copying("a", "b", "x", run=run(start_ms=start_ms)))
    assert starts_in(client, start, end) == ([start_ms] if inside else [])


@windowed
def test_the_default_window_is_the_last_thirty_days(client: FlaskClient, route: tuple[str, ...]) -> None:
    now_ms = int(time.time() * 1000)
    for age_days in (29, 31):
        name = f"{age_days} days"
        document = copying("a", "b", "x", run=run(name, start_ms=now_ms - age_days * DAY * 1000))
        document["operations"][0]["description"] = name
        record_new(client, document)
    record_new(client, copying("a", "b", "x", run=run("to come", start_ms=now_ms + HOUR * 1000)))
    payload = client.get(path(*route))
    assert payload.status_code == 200
    assert payload.json == client.get(path(*route, start="now-30d", end="now")).json or route == WAYS
    if route in (WAYS, RUNS):
        assert "29 days" in payload.text
        assert "31 days" not in payload.text
        assert "to come" not in payload.text
        assert "31 days" in client.get(path(*route, start="now-32d")).text
        assert "to come" in client.get(path(*route, end="now+2h")).text


def test_the_window_asked_comes_back_in_seconds(thousands: FlaskClient) -> None:
    payload = get_json(thousands, *WAYS, start="1.5", end="3")
    assert (payload["startTimeInSeconds"], payload["endTimeInSeconds"]) == (1.5, 3)


def test_now_is_the_same_moment_in_both_ends(thousands: FlaskClient) -> None:
    assert get_json(thousands, *HIGH_LEVEL, start="now", end="now") == []


@windowed
def test_start_after_end_is_400(thousands: FlaskClient, route: tuple[str, ...]) -> None:
    for start, end in (("3", "2"), ("now", "now-1s"), ("2.0009", "2.0001"), ("now+1s", "now"), ("now", "5")):
        assert set(errors_by_path(thousands.get(path(*route, start=start, end=end)))) == {"start"}


def test_an_end_alone_is_measured_from_the_default_start(thousands: FlaskClient) -> None:
    (error,) = errors_by_path(thousands.get(path(*HIGH_LEVEL, end="5"))).items()
    assert error == ("end", "is before the default start, now-30d; give `start`, too")


def test_a_start_alone_is_measured_from_the_default_end(thousands: FlaskClient) -> None:
    (error,) = errors_by_path(thousands.get(path(*HIGH_LEVEL, start="now+1h"))).items()
    assert error == ("start", "is after the default end, now; give `end`, too")


@windowed
def test_answers_name_their_window(thousands: FlaskClient, route: tuple[str, ...]) -> None:
    given = thousands.get(path(*route, start="1970-01-01T00:00:01Z", end="2.0005"))
    assert given.headers["Window-Start"] == "1.000"
    assert given.headers["Window-End"] == "2.001", "rounded up, as times are compared"
    default = thousands.get(path(*route))
    start, end = (float(default.headers[name]) for name in ("Window-Start", "Window-End"))
    assert end - start == pytest.approx(30 * DAY)
    assert abs(end - time.time()) < HOUR
