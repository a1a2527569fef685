"""Clients before their requests begin: a principal that was verified, else an address."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from api.http.clients import KNOWN_MAX, Clients
from fll_hbase.model.access import Principal

ADDRESS = "192.0.2.1"


def request(**headers: str) -> Any:
    return SimpleNamespace(headers=headers)


def test_tokens_of_a_principal_are_one_client_once_they_were_verified() -> None:
    clients = Clients(proxies=0)
    ana, ben = (Principal(name, ()) for name in ("ana", "ben"))
    tokens = [request(AUTHORIZATION=f"Bearer {number}") for number in range(4)]
    assert {clients.client_of(token, ADDRESS) for token in tokens} == {("address", ADDRESS)}
    for token, principal in zip(tokens, (ana, ana, ben, None), strict=True):
        clients.learn(token, principal)
    assert [clients.client_of(token, f"192.0.2.{9 - number}") for number, token in enumerate(tokens)] == [
        ("principal", ana.digest),
        ("principal", ana.digest),
        ("principal", ben.digest),
        # A token that is wrong does not make its sender another client.
        ("address", "192.0.2.6"),
    ]


def test_as_many_tokens_are_known_as_there_may() -> None:
    clients = Clients(proxies=0)
    for number in range(KNOWN_MAX + 10):
        clients.learn(request(AUTHORIZATION=f"Bearer {number}"), Principal("ana", ()))
    assert len(clients._by_token) == KNOWN_MAX


@pytest.mark.parametrize(
    ("proxies", "forwarded", "client"),
    [
        (0, "192.0.2.9", ADDRESS),
        (1, "", ""),
        (1, "192.0.2.9", "192.0.2.9"),
        (1, "192.0.2.8, 192.0.2.9", "192.0.2.9"),
        (2, "192.0.2.8, 192.0.2.9", "192.0.2.8"),
        (2, "192.0.2.9", ADDRESS),
    ],
)
def test_the_address_is_that_before_the_proxies(proxies: int, forwarded: str, client: str) -> None:
    clients = Clients(proxies=proxies)
    headers = {"X_FORWARDED_FOR": forwarded} if forwarded else {}
    assert clients.client_of(request(**headers), ADDRESS) == ("address", client or ADDRESS)


def test_of_ipv6_a_network_is_one_client() -> None:
    clients = Clients(proxies=0)
    same = {clients.client_of(request(), f"2001:db8::{number}") for number in range(1, 9)}
    assert len(same) == 1
    assert clients.client_of(request(), "2001:db8:0:1::1") not in same
