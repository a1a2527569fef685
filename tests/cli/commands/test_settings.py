"""`fll config` shows each setting with its source, and no secret."""

from __future__ import annotations

import json
from dataclasses import fields
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fll_hbase.runtime.config import Settings, without_credentials
from tests.support.commands import fll, printed

SECRET = "S3cretS3cretS3cretS3cretS3cretS3cret"


@pytest.fixture(autouse=True)
def _defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    for setting in fields(Settings):
        monkeypatch.delenv(f"FLL_{setting.name.upper()}", raising=False)


def shown(*options: str) -> dict[str, tuple[str, str]]:
    body = json.loads(printed("config", "--json", *options))
    return {name: (item["value"], item["from"]) for name, item in body.items()}


def test_each_setting_has_its_value_and_source(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLL_PORT", "09000")
    monkeypatch.setenv("FLL_LOG_LEVEL", "INFO")
    settings = shown("--store", "sqlite:///here.db")
    assert list(settings) == [f"FLL_{setting.name.upper()}" for setting in fields(Settings)]
    changed = {name: item for name, item in settings.items() if item[1] != "default"}
    assert changed == shown("--store", "sqlite:///here.db", "--changed")
    assert changed == {
        "FLL_STORE": ("sqlite:///here.db", "--store"),
        "FLL_PORT": ("9000", "environment"),
        "FLL_LOG_LEVEL": ("info", "environment"),
    }
    assert settings["FLL_THREADS"] == (str(Settings().threads), "default")


def test_the_table_says_what_commands_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLL_STORE", "sqlite:///one.db")
    assert printed("config").endswith("Commands ask the store sqlite:///one.db\n")
    monkeypatch.setenv("FLL_SERVER", "http://me:secret@lineage")
    assert printed("config").endswith("Commands ask the server http://***@lineage\n")
    assert printed("config", "--store", "sqlite:///two.db").endswith("the store sqlite:///two.db\n")


def test_no_secret_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    for setting in fields(Settings):
        if not setting.repr:
            monkeypatch.setenv(f"FLL_{setting.name.upper()}", SECRET)
    for name in ("STORE", "SERVER", "CAPTURE_URL", "JWT_JWKS_URL"):
        monkeypatch.setenv(f"FLL_{name}", f"https://me:{SECRET}@host/path?access_token={SECRET}&x=1")
    for options in ((), ("--json",), ("--changed",)):
        text = printed("config", *options)
        assert SECRET not in text
        assert "https://***@host/path?access_token=***&x=1" in text
    assert shown()["FLL_TOKEN"] == ("(set, 36 characters)", "environment")


@given(password=st.text(min_size=12).filter(str.strip), user=st.text("abc:", max_size=5))
def test_no_password_of_a_url_is_shown(password: str, user: str) -> None:
    for typed in (password, quote(password, safe="")):
        text = without_credentials(f"hbase://{user}q:{typed}@host:9090/table")
        assert text == "hbase://***@host:9090/table"


@pytest.mark.parametrize(
    "text", ["", "sqlite:///data/a@b.db", "hbase://h:1,g:2/t", "s3://a => b", "10", "sqlite:///x?mode=ro"]
)
def test_other_values_are_whole(text: str) -> None:
    assert without_credentials(text) == text


def test_a_value_that_is_not_usable_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLL_PORT", "http")
    monkeypatch.setenv("FLL_WORKERS", "0")
    result = fll("config", "--changed")
    assert result.exit_code == 2
    assert [line.split() for line in result.stdout.splitlines()[2:4]] == [
        ["FLL_PORT", "http", "environment"],
        ["FLL_WORKERS", "0", "environment"],
    ]
    assert "FLL_PORT='http' is not a whole number; invalid value FLL_WORKERS='0'" in result.stderr
