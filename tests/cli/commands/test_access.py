"""`fll token` and `fll grant`: a secret is printed once, what is wrong is said on one line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fll_hbase.model.access import parse_token
from fll_hbase.tables import open_table
from tests.support.commands import END_MS, complaint, fll, printed


@pytest.fixture
def store(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/store.db"


def create(store: str, *options: str) -> str:
    """The text of a new token."""
    result = fll("token", "create", "nightly", "--store", store, *options)
    assert result.exit_code == 0, result.output
    return result.stdout.strip()


READ = ("--role", "reader", "--namespace", "bank*")


class TestTokens:
    def test_it_is_printed_once(self, store: str) -> None:
        text = create(store, *READ, "--expires", "90d")
        token = parse_token(text)
        listed = printed("token", "list", "--store", store)
        assert token.id in listed
        assert token.secret not in listed
        assert "reader on bank*" in listed
        assert "2026-01-07" in listed
        cells = list(open_table(store).scan(b"k|", b"k}"))
        assert token.secret not in str(cells)

    def test_each_role_on_each_pattern(self, store: str) -> None:
        create(store, "--role", "reader", "--role", "recorder", "--namespace", "a", "--namespace", "b")
        (token,) = json.loads(printed("token", "list", "--json", "--store", store))["tokens"]
        pairs = [(grant["role"], grant["namespace"]) for grant in token["grants"]]
        assert pairs == [("reader", "a"), ("reader", "b"), ("recorder", "a"), ("recorder", "b")]
        assert token["at"] == END_MS
        assert "expires" not in token

    def test_as_json(self, store: str) -> None:
        open_table(store).close()
        result = fll("token", "create", "a", *READ, "--json", "--store", store)
        answer = json.loads(result.stdout)
        assert parse_token(answer["token"]).id == answer["id"]
        assert result.stderr == ""

    def test_revoked(self, store: str) -> None:
        token = parse_token(create(store, *READ))
        result = fll("token", "revoke", token.id, "--store", store)
        assert (result.exit_code, result.stdout) == (0, "")
        assert "nightly is revoked" in result.stderr
        (listed,) = json.loads(printed("token", "list", "--json", "--store", store))["tokens"]
        assert listed["revoked"] == END_MS
        assert "no token" in complaint("token", "revoke", "0" * 16, "--store", store, code=1)

    def test_an_empty_list_says_how(self, store: str) -> None:
        open_table(store).close()
        assert "fll token create" in printed("token", "list", "--store", store)
        assert "fll grant set" in printed("grant", "list", "--store", store)

    @pytest.mark.parametrize(
        ("options", "fault"),
        [
            (("--role", "reader"), "--namespace"),
            (("--namespace", "a"), "--role"),
            (("--role", "owner", "--namespace", "a"), "owner"),
            ((*READ, "--expires", "never"), "never"),
            ((*READ, "--expires", "36501d"), "36500d"),
            ((*READ, "--namespace", "a\nb"), "printable"),
        ],
    )
    def test_faults(self, store: str, options: tuple[str, ...], fault: str) -> None:
        assert fault in complaint("token", "create", "a", "--store", store, *options, code=2)

    def test_of_a_server_they_are_set_in_its_store(self, store: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("FLL_SERVER", "http://127.0.0.1:1")
        assert "--store" in complaint("token", "list", code=2)
        create(store, *READ)

    def test_a_store_that_is_not_there(self, store: str) -> None:
        assert "there is no store" in complaint("token", "list", "--store", store, code=2)

    @pytest.mark.parametrize(
        "command", [("token", "create", "a"), ("grant", "set", "user:ana")], ids=" ".join
    )
    def test_a_new_store_has_a_name_and_is_reported(
        self, store: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, command: tuple[str, ...]
    ) -> None:
        line = complaint(*command, *READ, code=2)
        assert "there is no store at sqlite:///data/field_level_lineage.db" in line
        assert "--store names another" in line
        assert not list(tmp_path.iterdir())
        assert f"fll: made a new store at {store}." in fll(*command, *READ, "--store", store).stderr
        assert "made" not in fll(*command, *READ, "--store", store).stderr
        monkeypatch.setenv("FLL_STORE", f"{store}2")
        assert f"fll: made a new store at {store}2." in fll(*command, *READ).stderr


class TestGrants:
    def test_set_listed_and_removed(self, store: str) -> None:
        assert (
            "group:etl has reader on bank*"
            in fll("grant", "set", "group:etl", *READ, "--store", store).stderr
        )
        fll("grant", "set", "user:ana", "--role", "admin", "--namespace", "*", "--store", store)
        lines = printed("grant", "list", "--store", store).splitlines()
        assert [line.split() for line in lines[2:]] == [
            ["group:etl", "reader", "bank*"],
            ["user:ana", "admin", "*"],
        ]
        assert fll("grant", "remove", "group:etl", *READ, "--store", store).exit_code == 0
        assert fll("grant", "remove", "user:ana", "--store", store).exit_code == 0
        assert json.loads(printed("grant", "list", "--json", "--store", store)) == {"subjects": []}
        assert "any grant" in complaint("grant", "remove", "user:ana", "--store", store, code=1)

    @pytest.mark.parametrize("subject", ["ana", "robot:x", "user", ":ana"])
    def test_subjects(self, store: str, subject: str) -> None:
        assert "user:NAME nor group:NAME" in complaint(
            "grant", "set", subject, *READ, "--store", store, code=2
        )

    def test_half_a_grant_is_not_all(self, store: str) -> None:
        fll("grant", "set", "user:ana", *READ, "--store", store)
        assert "both" in complaint(
            "grant", "remove", "user:ana", "--role", "reader", "--store", store, code=2
        )


class TestServe:
    @pytest.mark.parametrize("host", ["0.0.0.0", "::"])
    def test_others_are_not_let_in_by_accident(self, store: str, host: str) -> None:
        line = complaint("serve", "--host", host, "--store", store, code=2)
        assert "--allow-unauthenticated" in line
        assert "FLL_AUTH" in line

    @pytest.mark.parametrize(
        ("settings", "fault"),
        [
            ({"FLL_AUTH": "jwt"}, "FLL_JWT_ISSUER"),
            ({"FLL_AUTH": "token"}, "FLL_AUTH"),
            ({"FLL_TLS_CERT": "/nowhere"}, "FLL_TLS_KEY"),
            ({"FLL_CORS_ORIGINS": "*"}, "FLL_CORS_ORIGINS"),
            ({"FLL_PROXIES": "-1"}, "FLL_PROXIES"),
            ({"FLL_ALLOW_UNAUTHENTICATED": "yes"}, "FLL_ALLOW_UNAUTHENTICATED"),
        ],
    )
    def test_settings_are_checked_before_it_listens(
        self, store: str, settings: dict[str, str], fault: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name, value in settings.items():
            monkeypatch.setenv(name, value)
        assert fault in complaint("serve", "--store", store, code=2)
