"""Clients that are there are seen, and those whose requests are long are known by their time."""

from __future__ import annotations

from api.http.clients import FADE_SECONDS, KNOWN_MAX, LONG_SECONDS, PRESENT_SECONDS, LongRequests, Presence


class TestPresence:
    def test_a_client_is_alone_until_another_one_comes_and_when_it_has_left(self) -> None:
        presence = Presence()
        assert presence.is_alone("a", 0.0)
        for second in range(3):
            presence.note("a", second)
        assert presence.is_alone("a", 3.0)
        assert not presence.is_alone("b", 3.0)
        presence.note("b", 3.0)
        presence.note("a", 4.0)
        assert not presence.is_alone("a", 3.0 + PRESENT_SECONDS)
        assert presence.is_alone("a", 3.1 + PRESENT_SECONDS)
        assert not presence.is_alone("b", 4.0 + PRESENT_SECONDS)

    def test_of_three_the_other_two_count(self) -> None:
        presence = Presence()
        for client, second in (("a", 0.0), ("b", 8.0), ("c", 9.0)):
            presence.note(client, second)
        assert not presence.is_alone("c", 8.0 + PRESENT_SECONDS)
        assert presence.is_alone("c", 8.1 + PRESENT_SECONDS)


class TestLongRequests:
    def test_a_client_that_is_not_known_may_send_long_ones(self) -> None:
        long = LongRequests()
        assert long.has_long("a", 0.0)
        long.note("a", LONG_SECONDS / 2, 0.0)
        assert not long.has_long("a", 0.0)

    def test_short_ones_never_count(self) -> None:
        long = LongRequests()
        for number in range(1_000):
            long.note("a", LONG_SECONDS, number / 1_000)
        assert not long.has_long("a", 1.0)

    def test_long_ones_fade_and_short_ones_hide_none(self) -> None:
        long = LongRequests()
        long.note("a", 10.0, 0.0)
        for number in range(1_000):
            long.note("a", 0.0, number / 1_000)
        assert long.has_long("a", FADE_SECONDS)
        assert not long.has_long("a", 7 * FADE_SECONDS)

    def test_the_number_of_clients_is_bounded(self) -> None:
        long = LongRequests()
        for number in range(KNOWN_MAX + 100):
            long.note(number, 0.0, 0.0)
        assert len(long._clients) == KNOWN_MAX
