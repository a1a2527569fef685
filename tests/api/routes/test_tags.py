"""Tags of fields over HTTP: put, removed, and listed by field, by dataset and by tag."""

from __future__ import annotations

from typing import Any

import pytest
from flask.testing import FlaskClient
from hypothesis import given
from hypothesis import strategies as st

from api.app import create_app
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import open_table
from tests.api.conftest import MakeClient
from tests.support.api_client import assert_problem, error_paths, record_new, target
from tests.support.lineage_documents import copying, run
from tests.support.tag_requests import STRANGE, pages, put

pytestmark = pytest.mark.hbase

FIELD = ("v3", "namespaces", "ns1", "endpoints", "people", "fields", "email")


def tag_names(client: FlaskClient, *segments: str) -> list[str]:
    return [tag["tag"] for tag in pages(client, target(*segments), "tags")]


@pytest.fixture
def people(client: FlaskClient) -> FlaskClient:
    """A client of a store that has the fields email and age of people, read from raw."""
    record_new(client, copying("raw", "people", "email", "age"))
    return client


class TestPut:
    def test_a_new_tag_is_created_and_read_again(self, people: FlaskClient) -> None:
        answer = put(people, *FIELD, "tags", "PII", by="ana", description="Identifies a person")
        assert answer.status_code == 201
        put_at = answer.json["at"]
        assert answer.json == {
            "namespace": "ns1",
            "name": "people",
            "field": "email",
            "tag": "PII",
            "by": "ana",
            "at": put_at,
            "description": "Identifies a person",
        }
        assert people.get(target(*FIELD, "tags", "PII")).json == answer.json
        assert people.get(target(*FIELD, "tags")).json == {"tags": [answer.json]}

    def test_the_same_again_changes_nothing_and_another_note_updates(self, people: FlaskClient) -> None:
        first = put(people, *FIELD, "tags", "PII", by="ana").json
        again = put(people, *FIELD, "tags", "PII", by="ana")
        assert (again.status_code, again.json) == (200, first)
        update = put(people, *FIELD, "tags", "PII", by="bob")
        assert (update.status_code, update.json["by"]) == (200, "bob")
        assert update.json["at"] >= first["at"]
        assert people.get(target(*FIELD, "tags", "PII")).json == update.json

    @pytest.mark.parametrize("field", [("people", "emial"), ("poeple", "email")])
    def test_a_field_that_was_never_recorded_is_404(
        self, people: FlaskClient, field: tuple[str, str]
    ) -> None:
        url = ("v3", "namespaces", "ns1", "endpoints", field[0], "fields", field[1], "tags")
        assert_problem(put(people, *url, "PII"), 404)
        assert_problem(people.get(target(*url)), 404)
        assert_problem(people.delete(target(*url, "PII")), 404)
        assert people.get("/v3/tags").json == {"tags": []}

    def test_every_error_of_a_body_at_once(self, people: FlaskClient) -> None:
        url = target(*FIELD, "tags", "PII")
        answer = people.put(url, json={"by": 7, "description": "d" * 4_097})
        assert error_paths(answer, 400) == ["by", "description"]
        for body in (b"", b"[]", b"null", b"{", b'{"by": "\xff"}', b'{"by": "\\ud800"}'):
            assert_problem(people.put(url, data=body, content_type="application/json"), 400)
        assert_problem(people.put(url, data=b"{}"), 415)
        assert_problem(people.put(url, data=b"{}", content_type="text/plain"), 415)
        assert people.get(target(*FIELD, "tags")).json == {"tags": []}

    def test_an_unknown_member_is_ignored_with_a_warning(self, people: FlaskClient) -> None:
        answer = put(people, *FIELD, "tags", "PII", person="ana")
        assert answer.status_code == 201
        assert [warning["at"] for warning in answer.json["warnings"]] == ["person"]

    def test_names_that_are_empty_or_long_and_unknown_parameters(self, people: FlaskClient) -> None:
        assert_problem(put(people, *FIELD, "tags", ""), 400)
        assert_problem(put(people, *FIELD, "tags", "é" * 513), 400)
        assert put(people, *FIELD, "tags", "é" * 512).status_code == 201
        assert_problem(people.get(target(*FIELD, "tags", colour="red")), 400)
        assert_problem(people.get(target(*FIELD, "tags", cursor="x")), 400)
        assert_problem(people.post(target(*FIELD, "tags", "PII"), json={}), 405)

    def test_an_answer_has_an_entity_tag(self, people: FlaskClient) -> None:
        put(people, *FIELD, "tags", "PII")
        for url in (target(*FIELD, "tags"), target(*FIELD, "tags", "PII"), "/v3/tags", "/v3/tags/PII"):
            entity_tag = people.get(url).headers["ETag"]
            assert people.get(url, headers={"If-None-Match": entity_tag}).status_code == 304


class TestDelete:
    def test_a_removed_tag_is_in_no_list_and_can_be_put_again(self, people: FlaskClient) -> None:
        put(people, *FIELD, "tags", "PII")
        put(people, *FIELD, "tags", "secret")
        url = target(*FIELD, "tags", "PII")
        assert (people.delete(url).status_code, people.delete(url).status_code) == (204, 404)
        assert_problem(people.get(url), 404)
        assert tag_names(people, *FIELD, "tags") == ["secret"]
        assert people.get("/v3/tags").json == {"tags": ["secret"]}
        assert people.get("/v3/tags/PII").json == {"tag": "PII", "fields": []}
        assert put(people, *FIELD, "tags", "PII").status_code == 201
        assert people.get("/v3/tags").json == {"tags": ["PII", "secret"]}


class TestLists:
    def test_strange_names_in_every_place(self, client: FlaskClient) -> None:
        record_new(client, copying("raw", STRANGE, STRANGE), namespace=STRANGE)
        url = ("v3", "namespaces", STRANGE, "endpoints", STRANGE, "fields", STRANGE, "tags")
        tag = put(client, *url, STRANGE, by=STRANGE)
        assert tag.status_code == 201, tag.text
        assert client.get(target(*url)).json == {"tags": [tag.json]}
        assert client.get(target(*url[:5], "tags")).json == {"tags": [tag.json]}
        assert client.get("/v3/tags").json == {"tags": [STRANGE]}
        assert client.get(target("v3", "tags", STRANGE)).json == {"tag": STRANGE, "fields": [tag.json]}
        assert client.delete(target(*url, STRANGE)).status_code == 204

    def test_all_fields_of_a_dataset_and_of_a_tag_page_by_page(self, client: FlaskClient) -> None:
        fields = ["a b", "a|b", "a/b", "a", "ab", "é", "~"]
        record_new(client, copying("raw", "people", *fields), copying("raw", "peo", *fields, run=run("r2")))
        tagged = []
        for name in ("peo", "people"):
            for field in sorted(fields):
                for tag in ("PII", "x y"):
                    url = ("v3", "namespaces", "ns1", "endpoints", name, "fields", field, "tags", tag)
                    assert put(client, *url).status_code == 201
                    tagged.append((name, field, tag))
        for limit in (1, 3, 100):
            by_field = pages(client, target(*FIELD[:5], "tags"), "tags", limit=limit)
            assert [(tag["name"], tag["field"], tag["tag"]) for tag in by_field] == [
                key for key in tagged if key[0] == "people"
            ]
            by_tag = pages(client, "/v3/tags/PII", "fields", limit=limit)
            assert [(tag["name"], tag["field"], tag["tag"]) for tag in by_tag] == [
                key for key in tagged if key[2] == "PII"
            ]
        assert pages(client, "/v3/tags", "tags", limit=1) == ["PII", "x y"]

    def test_a_known_dataset_without_tags_and_an_unknown_one(self, people: FlaskClient) -> None:
        assert people.get(target(*FIELD[:5], "tags")).json == {"tags": []}
        assert_problem(people.get(target(*FIELD[:4], "missing", "tags")), 404)

    def test_a_tag_survives_a_restart_of_the_server(self, make_client: MakeClient, tmp_path: Any) -> None:
        url = f"sqlite:///{tmp_path}/store.db"
        for number in range(2):
            store = LineageStore(open_table(url))
            client = create_app(store).test_client()
            if not number:
                record_new(client, copying("raw", "people", "email"))
                put(client, *FIELD, "tags", "PII")
            assert tag_names(client, *FIELD, "tags") == ["PII"]
            store.close()


ACTIONS = st.lists(
    st.tuples(
        st.sampled_from(["put", "delete"]),
        st.sampled_from(["email", "age"]),
        st.sampled_from(["PII", "a|b", "ä"]),
        st.sampled_from(["", "ana"]),
    ),
    max_size=20,
)


@pytest.mark.slow
@given(ACTIONS)
def test_any_sequence_of_puts_and_deletes_is_that_of_a_dictionary(
    actions: list[tuple[str, str, str, str]],
) -> None:
    store = LineageStore(open_table("sqlite:///:memory:"))
    client = create_app(store).test_client()
    record_new(client, copying("raw", "people", "email", "age"))
    expected: dict[tuple[str, str], str] = {}
    for action, field, tag, by in actions:
        url = (*FIELD[:6], field, "tags", tag)
        if action == "put":
            status = put(client, *url, **({"by": by} if by else {})).status_code
            assert status == (200 if (field, tag) in expected else 201)
            expected[field, tag] = by
        else:
            status = client.delete(target(*url)).status_code
            assert status == (204 if (field, tag) in expected else 404)
            expected.pop((field, tag), None)
    listed = client.get(target(*FIELD[:5], "tags")).json["tags"]
    assert {(tag["field"], tag["tag"]): tag.get("by", "") for tag in listed} == expected
    assert [(tag["field"], tag["tag"]) for tag in listed] == sorted(expected)
    assert client.get("/v3/tags").json["tags"] == sorted({tag for _, tag in expected})
    for tag in ("PII", "a|b", "ä"):
        fields = client.get(target("v3", "tags", tag)).json["fields"]
        assert [field["field"] for field in fields] == sorted(f for f, t in expected if t == tag)
    store.close()
