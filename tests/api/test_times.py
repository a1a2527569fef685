"""Windows and parameters: which are accepted, by every route."""

from __future__ import annotations

import time
from typing import Any
from urllib.parse import quote

import pytest
from api_client import ALL, assert_problem, error_paths, errors_by_path, get_json, lineage, path, record_new
from documents import copying, run
from flask.testing import FlaskClient

HIGH_LEVEL = ("ns1", "endpoints", "b", "fields", "lineage")
DETAILED = ("ns1", "endpoints", "b", "fields", "x", "lineage")
WAYS = ("ns1", "datasets", "b", "fields", "x", "lineage")
RUNS = ("ns1", "endpoints", "b", "runs")
WINDOWED = [HIGH_LEVEL, DETAILED, WAYS, RUNS]
windowed = pytest.mark.parametrize("route", WINDOWED, ids=["high level", "detailed", "first design", "runs"])

SECOND, MINUTE, HOUR, DAY = 1, 60, 3_600, 86_400


@pytest.fixture
def thousands(client: FlaskClient) -> FlaskClient:
    """Runs that start at 1, 1.001, 2 and 3 seconds after 1970 began."""
    starts = (1_000, 1_001, 2_000, 3_000)
    record_new(client, *(copying("a", "b", "x", run=run(f"r{ms}", start_ms=ms)) for ms in starts))
    return client


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


@pytest.mark.parametrize(
    "wrong",
    [
        "-1",
        "-0.5",
        "-0",
        "+5",
        "",
        " ",
        " 5",
        "5 ",
        "1e3",
        "0x10",
        ".5",
        "5.",
        "1_000",
        "1,5",
        "5s",
        "NaN",
        "Infinity",
        "inf",
        "٣",
        "５",
        "Now",
        "NOW",
        "now ",
        " now",
        "now 6h",
        "now-",
        "now-6",
        "now-h",
        "now-6H",
        "now-6y",
        "now-6W",
        "now-1.5h",
        "now--6h",
        "now-6h30m",
        "now/1d",
        "now*2",
        "now-3d+23lnk-6h",
        "nowish",
        "today",
        "5-1d",
        "now-999999999d",
        "now-1d-40000d",
        "2015-09-21T00:00:00",
        "2015-09-21T00:00",
        "2015-09-21 00:00:00Z",
        "2015-09-21t00:00:00z",
        "2015-09-21T00Z",
        "2015-09-21T00:00.5Z",
        "2015-09-21T00:00:00,5Z",
        "2015-09-21T00:00:00.Z",
        "2015-09-21T24:00:00Z",
        "2015-09-21T00:00:60Z",
        "2015-09-21T00:00:00+0100",
        "2015-09-21T00:00:00+01",
        "2015-09-21T00:00:00+24:00",
        "2015-09-21Z",
        "2015-9-21",
        "20150921T000000Z",
        "2015-W39-1",
        "2015-264",
        "2015-02-29",
        "2015-13-01",
        "0000-01-01",
        "1969-12-31",
        "1970-01-01T00:59:59+01:00",
        "٢٠١٥-09-21",
        "5\n",
        "now\n",
        "5\x00",
        "🙂",
    ],
    ids=ascii,
)
def test_what_is_no_time_is_400(thousands: FlaskClient, wrong: str) -> None:
    for route in WINDOWED:
        for name in ("start", "end"):
            assert set(errors_by_path(thousands.get(path(*route, **{name: wrong})))) == {name}


def test_both_ends_are_reported_at_once(thousands: FlaskClient) -> None:
    assert set(errors_by_path(thousands.get(path(*HIGH_LEVEL, start="x", end="y")))) == {"start", "end"}


class TestTheQueryString:
    """Parameters: escaped, each once, each known, each told."""

    def test_a_plus_must_be_escaped(self, thousands: FlaskClient) -> None:
        target = path(*HIGH_LEVEL)
        assert thousands.get(f"{target}?start=0&end=now%2B1d").status_code == 200
        assert set(errors_by_path(thousands.get(f"{target}?start=0&end=now+1d"))) == {"end"}
        assert set(errors_by_path(thousands.get(f"{target}?start=0&end=now%201d"))) == {"end"}

    @pytest.mark.parametrize("end", ["now+1d", "2026-11-01T06:00:00+01:00"])
    def test_a_blank_in_place_of_a_plus_is_explained(self, thousands: FlaskClient, end: str) -> None:
        (detail,) = errors_by_path(thousands.get(f"{path(*HIGH_LEVEL)}?start=0&end={end}")).values()
        assert detail.endswith("in a URL, `+` is written `%2B`")

    @pytest.mark.parametrize("query", ["start=%6Eow-1d", "%73tart=now-1d", "start=now%2D1d&end=now%2b1d"])
    def test_escapes_of_letters_that_need_none(self, thousands: FlaskClient, query: str) -> None:
        assert thousands.get(f"{path(*HIGH_LEVEL)}?{query}").status_code == 200

    @pytest.mark.parametrize("query", ["", "&", "&&", "start=0&&end=now&"])
    def test_nothing_between_ampersands_is_nothing(self, thousands: FlaskClient, query: str) -> None:
        assert thousands.get(f"{path(*HIGH_LEVEL)}?{query}").status_code == 200

    @pytest.mark.parametrize(
        "query", ["start=%", "start=%2", "start=%zz", "start=%FF", "start=%C3", "%FF=1", "%=1", "start=5&%zz"]
    )
    def test_broken_escapes_and_bytes_that_are_no_utf_8(self, thousands: FlaskClient, query: str) -> None:
        assert len(errors_by_path(thousands.get(f"{path(*HIGH_LEVEL)}?{query}"))) == 1

    @pytest.mark.parametrize(
        "name", ["Start", "START", "stat", "levels", "namespace", "🙂", "start[]", " start"]
    )
    def test_an_unknown_parameter_is_400_and_the_known_are_named(
        self, thousands: FlaskClient, name: str
    ) -> None:
        payload = errors_by_path(thousands.get(path(*HIGH_LEVEL, **{name: "5"})))
        assert list(payload) == [name]
        for existing in ("start", "end", "level", "direction", "indirect", "failed"):
            assert existing in payload[name]

    def test_the_first_thousand_errors_are_listed_and_the_others_counted(
        self, thousands: FlaskClient
    ) -> None:
        answered = thousands.get(f"{path(*HIGH_LEVEL)}?{'&'.join('x' for _ in range(1_500))}")
        errors = assert_problem(answered, 400)["errors"]
        assert len(errors) == 1_001
        assert errors[-1]["detail"] == "500 more are not listed; correct these first"

    def test_a_parameter_without_a_name_is_unknown(self, thousands: FlaskClient) -> None:
        assert list(errors_by_path(thousands.get(f"{path(*HIGH_LEVEL)}?=5"))) == [""]

    @pytest.mark.parametrize(
        ("route", "query", "existing"),
        [
            (HIGH_LEVEL, "start=5&start=5", ["start", "end", "level", "direction", "indirect", "failed"]),
            (
                DETAILED,
                "view=simple&view=simple",
                ["start", "end", "direction", "view", "indirect", "failed"],
            ),
            (WAYS, "end=now&start=0&end=now", ["start", "end", "failed"]),
            (RUNS, "limit=1&limit=2", ["start", "end", "limit", "cursor"]),
            (HIGH_LEVEL, "st%61rt=5&start=5", ["start", "end"]),
        ],
    )
    def test_a_parameter_given_twice_is_400_and_the_known_are_named(
        self, thousands: FlaskClient, route: tuple[str, ...], query: str, existing: list[str]
    ) -> None:
        (payload,) = errors_by_path(thousands.get(f"{path(*route)}?{query}")).values()
        assert not [name for name in existing if name not in payload]

    @pytest.mark.parametrize(
        ("query", "expected"),
        [
            ("start=x&colour=red", {"start", "colour"}),
            ("level=0&colour=red&direction=up", {"level", "colour", "direction"}),
            ("start=5&start=5&level=none", {"start", "level"}),
            ("start=%FF&end=x&indirect=1", {"start", "end", "indirect"}),
            ("start=5&end=4&level=0", {"start", "level"}),
            ("start=x&end=y&level=z&direction=w&indirect=v&failed=u", {"start", "end", "level", "direction"}),
        ],
    )
    def test_every_fault_is_reported_at_once(
        self, thousands: FlaskClient, query: str, expected: set[str]
    ) -> None:
        assert expected <= set(errors_by_path(thousands.get(f"{path(*HIGH_LEVEL)}?{query}")))

    @pytest.mark.parametrize(
        "target",
        ["/v3/namespaces", "/v3/namespaces/ns1/endpoints", "/v3/search", "/healthz", "/readyz"],
    )
    def test_every_route_refuses_what_it_does_not_know(self, thousands: FlaskClient, target: str) -> None:
        assert "start" in errors_by_path(thousands.get(f"{target}?start=5"))


class TestOtherValues:
    """Levels, limits, flags and words."""

    @pytest.mark.parametrize("level", ["0", "-1", "1.0", "1e2", "", " 1", "+1", "one", "٣", "0x1", "1\n"])
    def test_a_level_is_a_whole_number_from_one(self, thousands: FlaskClient, level: str) -> None:
        assert set(errors_by_path(thousands.get(path(*HIGH_LEVEL, level=level)))) == {"level"}

    @pytest.mark.parametrize("level", ["1", "2", "32", "33", "007", "999999999", "9" * 18, "9" * 30])
    def test_any_whole_number_is_a_level(self, thousands: FlaskClient, level: str) -> None:
        assert lineage(thousands, "b", level=level) == lineage(thousands, "b")

    @pytest.mark.parametrize(
        "route",
        [
            "/v3/namespaces?",
            "/v3/namespaces/ns1/endpoints?",
            "/v3/namespaces/ns1/endpoints/b/fields?",
            "/v3/namespaces/ns1/endpoints/b/runs?",
            "/v3/search?q=x&",
        ],
    )
    def test_a_limit_is_a_whole_number_from_one(self, thousands: FlaskClient, route: str) -> None:
        for limit in ("0", "-1", "1.0", "", "all", "１"):
            assert set(errors_by_path(thousands.get(f"{route}limit={quote(limit)}"))) == {"limit"}

    @pytest.mark.parametrize("value", ["True", "TRUE", "1", "0", "yes", "", "on", "truetrue", " true"])
    def test_a_flag_is_true_or_false(self, thousands: FlaskClient, value: str) -> None:
        for route in (HIGH_LEVEL, DETAILED):
            for name in ("failed", "indirect"):
                assert set(errors_by_path(thousands.get(path(*route, **{name: value})))) == {name}

    @pytest.mark.parametrize("value", ["Both", "BACKWARD", "up", "", "backward ", "backward,forward"])
    def test_a_direction_is_one_of_its_words(self, thousands: FlaskClient, value: str) -> None:
        assert set(errors_by_path(thousands.get(path(*HIGH_LEVEL, direction=value)))) == {"direction"}
        assert set(errors_by_path(thousands.get(path(*DETAILED, direction=value)))) == {"direction"}

    def test_both_is_a_direction_of_the_high_level_question_alone(self, thousands: FlaskClient) -> None:
        assert lineage(thousands, "b", direction="both") == lineage(thousands, "b")
        assert set(errors_by_path(thousands.get(path(*DETAILED, direction="both")))) == {"direction"}

    @pytest.mark.parametrize("value", ["Simple", "", "short", "simple "])
    def test_a_view_is_one_of_its_words(self, thousands: FlaskClient, value: str) -> None:
        assert set(errors_by_path(thousands.get(path(*DETAILED, view=value)))) == {"view"}

    def test_a_search_needs_something_to_search(self, client: FlaskClient) -> None:
        assert error_paths(client.get("/v3/search?q=%FF"), 400) == ["q"]
        assert set(errors_by_path(client.get("/v3/search"))) == {"q"}
        assert set(errors_by_path(client.get("/v3/search?q="))) == {"q"}

    def test_a_bad_question_is_400_even_about_what_never_was(self, client: FlaskClient) -> None:
        assert_problem(client.get(path("no", "endpoints", "no", "fields", "lineage", start="x")), 400)
        answer: Any = client.get(path("no", "endpoints", "no", "fields", "lineage", **ALL))
        assert_problem(answer, 404)


@windowed
def test_answers_name_their_window(thousands: FlaskClient, route: tuple[str, ...]) -> None:
    given = thousands.get(path(*route, start="1970-01-01T00:00:01Z", end="2.0005"))
    assert given.headers["Window-Start"] == "1.000"
    assert given.headers["Window-End"] == "2.001", "rounded up, as times are compared"
    default = thousands.get(path(*route))
    start, end = (float(default.headers[name]) for name in ("Window-Start", "Window-End"))
    assert end - start == pytest.approx(30 * DAY)
    assert abs(end - time.time()) < HOUR
