"""Roles on patterns of namespaces."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fll_hbase.model.access import Grant, Principal, Role

_NAMES = st.text(alphabet="ab.*|[(\n", max_size=6)


def _principal(*grants: tuple[Role, str]) -> Principal:
    return Principal("p", tuple(Grant(*grant) for grant in grants))


@pytest.mark.parametrize(
    ("role", "included"),
    [
        (Role.READER, {Role.READER}),
        (Role.RECORDER, {Role.RECORDER}),
        (Role.STEWARD, {Role.READER, Role.STEWARD}),
        (Role.ADMIN, set(Role)),
    ],
)
def test_a_role_includes_others(role: Role, included: set[Role]) -> None:
    principal = _principal((role, "sales"))
    assert {other for other in Role if principal.may(other, "sales")} == included
    assert not any(principal.may(other, "sales2") for other in Role)
    assert not any(principal.may_everywhere(other) for other in Role)


def test_grants_are_separate() -> None:
    principal = _principal((Role.READER, "sales.*"), (Role.RECORDER, "hr"))
    assert principal.may(Role.READER, "sales.eu")
    assert not principal.may(Role.RECORDER, "sales.eu")
    assert not principal.may(Role.READER, "hr")
    assert {role for role in Role if principal.may_anywhere(role)} == {Role.READER, Role.RECORDER}


def test_a_principal_without_grants_may_do_nothing() -> None:
    assert not any(_principal().may(role, "") or _principal().may_anywhere(role) for role in Role)


@given(_NAMES)
def test_only_the_star_is_special(name: str) -> None:
    assert _principal((Role.READER, name)).may(Role.READER, name)
    literal = name.replace("*", "")
    if literal != "a.b":
        assert not _principal((Role.READER, literal)).may(Role.READER, "a.b")
    assert _principal((Role.READER, f"{literal}*")).may(Role.READER, f"{literal}x\ny")


@given(_NAMES)
def test_a_star_alone_is_everything(name: str) -> None:
    everywhere = _principal((Role.ADMIN, "*"))
    assert everywhere.may(Role.READER, name)
    assert everywhere.may_everywhere(Role.READER)


@given(st.text(alphabet="ab*", max_size=8), st.text(alphabet="ab", max_size=12))
def test_a_star_is_any_characters(pattern: str, name: str) -> None:
    expected = re.fullmatch(pattern.replace("*", ".*"), name) is not None
    assert _principal((Role.READER, pattern)).may(Role.READER, name) is expected


def test_many_stars_are_no_more_work() -> None:
    """One more power of the length for each star, if matches were tried at every place: 10^30 steps."""
    assert not _principal((Role.READER, "*a" * 10 + "*b")).may(Role.READER, "a" * 1_000)
