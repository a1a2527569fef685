"""Tokens: what is written is read again, typing errors are found, no text of a token shows its secret."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fll_hbase.model.access import AccessToken, new_token, parse_token

HEX = "0123456789abcdef"
tokens = st.builds(
    AccessToken, st.text(HEX, min_size=16, max_size=16), st.text(HEX, min_size=64, max_size=64)
)
SECURITY = Path(__file__).resolve().parents[2] / "docs" / "operate" / "security.md"


@given(tokens)
def test_a_token_is_read_as_written(token: AccessToken) -> None:
    assert parse_token(token.text()) == token


@pytest.mark.slow
@given(tokens, st.data())
def test_a_single_wrong_character_is_found(token: AccessToken, data: st.DataObject) -> None:
    text = token.text()
    index = data.draw(st.integers(0, len(text) - 1))
    other = data.draw(st.characters().filter(lambda character: character != text[index]))
    with pytest.raises(ValueError, match=r"form|checksum") as caught:
        parse_token(text[:index] + other + text[index + 1 :])
    assert token.secret not in str(caught.value)


@given(st.text())
def test_any_text_is_a_token_or_a_value_error(text: str) -> None:
    with suppress(ValueError):
        assert parse_token(text).text() == text


def test_no_text_of_a_token_shows_its_secret() -> None:
    token = new_token()
    for text in (str(token), repr(token), f"{token}", f"{[token]}"):
        assert token.secret not in text
    assert token.secret not in token.digest()


def test_tokens_are_random() -> None:
    created = {new_token() for _ in range(100)}
    assert len({token.id for token in created}) == len({token.secret for token in created}) == 100


def test_the_documented_expression_finds_tokens() -> None:
    (expression,) = re.findall(r"`(fll_\[.*?)`", SECURITY.read_text())
    assert re.search(rf"\b{expression}\b", f"export FLL_TOKEN={new_token().text()}\n")
