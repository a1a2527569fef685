"""Parameters of queries: which are accepted, by every route."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import pytest
from flask.testing import FlaskClient

from tests.support.api_client import ALL, assert_problem, error_paths, errors_by_path, lineage, path
from tests.support.windowed_routes import DETAILED, HIGH_LEVEL, RUNS, WAYS, WINDOWED


@pytest.fixture(scope="session")
def engine() -> str:
    """SQLite alone: a parameter is refused before the store is read."""
    return "sqlite"


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
        assert detail.endswith("write `+` as `%2B` in a URL")

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


@pytest.mark.parametrize("target", ["/openapi.json", "/docs", "/healthz"])
def test_routes_without_parameters_take_none(client: FlaskClient, target: str) -> None:
    problem = assert_problem(client.get(f"{target}?x=1"), 400)
    assert problem["errors"] == [{"at": "x", "detail": "unknown parameter; parameters here: none"}]
    assert client.get(target).status_code == 200
