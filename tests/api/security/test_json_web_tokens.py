"""JSON web tokens: only those that the issuer signed, for us and for now; forged ones are 401."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from flask.testing import FlaskClient
from hypothesis import given
from hypothesis import strategies as st

from api.security import json_web_tokens
from api.security.json_web_tokens import GROUPS_MAX, JwtVerifier, SigningKeys, key_set_fetcher, parse_keys
from fll_hbase.model.access import Grant, Role, Subject, SubjectKind
from fll_hbase.runtime.config import Settings
from fll_hbase.runtime.errors import ConfigurationError, Unauthenticated
from fll_hbase.store.access import AccessStore
from fll_hbase.store.lineage_store import LineageStore
from tests.support.api_client import assert_problem
from tests.support.identity_provider import (
    AUDIENCE,
    CONFIGURATION,
    JWKS,
    IdentityProvider,
    SigningKey,
    new_key,
    provider_of,
)
from tests.support.token_clients import LISTS, RemoteTable, app_of, bearer, new_token, status
from tests.support.waiting import PATIENCE_SECONDS, eventually, patience

KEYS = {algorithm: new_key(algorithm) for algorithm in ("RS256", "ES256", "EdDSA")}
READ, RECORD = Grant(Role.READER, "bank"), Grant(Role.RECORDER, "ns1")


@pytest.fixture
def provider() -> Iterator[IdentityProvider]:
    with provider_of(*KEYS.values()) as provider:
        yield provider


@pytest.fixture
def table(tmp_path: Any) -> RemoteTable:
    return RemoteTable(tmp_path / "store.db")


@pytest.fixture
def client(provider: IdentityProvider, table: RemoteTable) -> FlaskClient:
    return client_of(provider, table)


def settings_of(provider: IdentityProvider, **changes: Any) -> dict[str, Any]:
    return {"auth": "jwt", "jwt_issuer": provider.url, "jwt_audience": AUDIENCE, **changes}


def client_of(provider: IdentityProvider, table: RemoteTable, **changes: Any) -> FlaskClient:
    return app_of(table, **settings_of(provider, **changes)).test_client()


def detail(client: FlaskClient, token: str) -> str:
    """Return the reason for which a token is refused."""
    answer = client.get(LISTS, headers=bearer(token))
    assert answer.headers["WWW-Authenticate"] == 'Bearer error="invalid_token"'
    text: str = assert_problem(answer, 401)["detail"]
    assert token not in text
    return text


def encoded(value: Any) -> str:
    raw = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def hmac_token(header: dict[str, Any], claims: dict[str, Any], secret: bytes) -> str:
    """A token signed with HMAC, which no library would sign with a public key."""
    signed = f"{encoded(header)}.{encoded(claims)}"
    return f"{signed}.{encoded(hmac.new(secret, signed.encode(), hashlib.sha256).digest())}"


class TestGood:
    @pytest.mark.parametrize("algorithm", KEYS)
    def test_each_algorithm(self, provider: IdentityProvider, client: FlaskClient, algorithm: str) -> None:
        assert status(client, provider.token(KEYS[algorithm])) == 200
        assert provider.paths == [CONFIGURATION, JWKS]

    def test_keys_of_a_configured_address(self, provider: IdentityProvider, table: RemoteTable) -> None:
        client = client_of(provider, table, jwt_jwks_url=provider.url + JWKS)
        assert status(client, provider.token()) == 200
        assert provider.paths == [JWKS]

    def test_without_a_key_id_the_only_key(self, provider: IdentityProvider, client: FlaskClient) -> None:
        key = KEYS["EdDSA"]
        signed = f"{encoded({'alg': 'EdDSA'})}.{encoded(provider.claims())}"
        assert status(client, f"{signed}.{encoded(key.private.sign(signed.encode()))}") == 200

    def test_one_of_several_audiences(self, provider: IdentityProvider, client: FlaskClient) -> None:
        assert status(client, provider.token(aud=["other", AUDIENCE])) == 200

    def test_clocks_may_differ_by_a_minute(self, provider: IdentityProvider, client: FlaskClient) -> None:
        now = time.time()
        assert status(client, provider.token(exp=now - 20, nbf=now + 50, iat=now + 50)) == 200

    def test_beside_tokens_of_the_store(self, provider: IdentityProvider, table: RemoteTable) -> None:
        client = client_of(provider, table, auth="tokens,jwt")
        assert status(client, provider.token()) == status(client, new_token(table)[1]) == 200

    def test_not_without_being_turned_on(self, provider: IdentityProvider, table: RemoteTable) -> None:
        assert status(client_of(provider, table, auth="tokens"), provider.token()) == 401
        assert status(client_of(provider, table), new_token(table)[1]) == 401
        assert provider.paths == []

    @pytest.mark.parametrize("groups", [["etl", "other"], "etl", ["etl", "\x00", ""]])
    def test_grants_are_those_of_user_and_groups(
        self, provider: IdentityProvider, table: RemoteTable, groups: Any
    ) -> None:
        access = LineageStore(table).access
        access.set_grants(Subject(SubjectKind.USER, "ana"), [READ])
        access.set_grants(Subject(SubjectKind.GROUP, "etl"), [RECORD, READ])
        access.set_grants(Subject(SubjectKind.GROUP, "ana"), [Grant(Role.ADMIN, "*")])
        verified = verifier_of(provider, access).verify(provider.token(groups=groups))
        assert verified.principal.name == "user:ana"
        assert set(verified.principal.grants) == {READ, RECORD}
        assert len(verified.principal.grants) == 2
        assert verified.until_ms is not None

    def test_another_claim_of_groups(self, provider: IdentityProvider, table: RemoteTable) -> None:
        access = LineageStore(table).access
        access.set_grants(Subject(SubjectKind.GROUP, "etl"), [READ])
        verifier = verifier_of(provider, access, jwt_groups="roles")
        assert verifier.verify(provider.token(roles=["etl"], groups=["x"])).principal.grants == (READ,)


def verifier_of(provider: IdentityProvider, access: AccessStore, **changes: Any) -> JwtVerifier:
    settings = Settings(**settings_of(provider, **changes))
    return JwtVerifier(SigningKeys(key_set_fetcher(issuer=provider.url, jwks_url="")), access, settings)


class TestClaims:
    @pytest.mark.parametrize(
        ("changes", "reason"),
        [
            ({"exp": 1}, "has expired"),
            ({"exp": None}, "lacks a claim"),
            ({"nbf": 2**40}, "not valid yet"),
            ({"iat": 2**40}, "not valid yet"),
            ({"aud": "other"}, "another audience"),
            ({"aud": None}, "lacks a claim"),
            ({"aud": []}, "lacks a claim"),
            ({"aud": [AUDIENCE + "x"]}, "another audience"),
            ({"iss": "http://other"}, "another issuer"),
            ({"iss": None}, "lacks a claim"),
            ({"sub": None}, "lacks a claim"),
            ({"sub": ""}, "must be names"),
            ({"sub": "a\nb"}, "must be names"),
            ({"sub": "x" * 300}, "must be names"),
            ({"groups": 1}, "must be names"),
            ({"groups": ["a", None]}, "must be names"),
            ({"groups": {"etl": 1}}, "must be names"),
            ({"groups": [f"g{number}" for number in range(GROUPS_MAX + 1)]}, "more than 500 groups"),
        ],
    )
    def test_each(
        self, provider: IdentityProvider, client: FlaskClient, changes: dict[str, Any], reason: str
    ) -> None:
        assert reason in detail(client, provider.token(**changes))

    def test_a_minute_and_more_is_too_late(self, provider: IdentityProvider, client: FlaskClient) -> None:
        assert "expired" in detail(client, provider.token(exp=time.time() - 65))

    @pytest.mark.parametrize(
        "text", ['{"exp": 1e999}', '{"exp": "never"}', "[]", "1", "{", "\xff", "[" * 9_000]
    )
    def test_signed_nonsense(self, provider: IdentityProvider, client: FlaskClient, text: str) -> None:
        key = KEYS["EdDSA"]
        signed = f"{encoded({'alg': 'EdDSA', 'kid': key.id})}.{encoded(text.encode('latin-1'))}"
        assert detail(client, f"{signed}.{encoded(key.private.sign(signed.encode()))}")


class TestForged:
    @pytest.mark.parametrize("algorithm", ["none", "None", "NONE", "nOnE", ""])
    def test_without_a_signature(
        self, provider: IdentityProvider, client: FlaskClient, algorithm: str
    ) -> None:
        header = {"alg": algorithm, "kid": KEYS["RS256"].id}
        for signature in ("", "AA"):
            assert detail(client, f"{encoded(header)}.{encoded(provider.claims())}.{signature}")

    @pytest.mark.parametrize("claimed", ["HS256", "HS384", "RS256"])
    @pytest.mark.parametrize("form", ["PEM", "DER"])
    def test_a_public_key_as_secret(
        self, provider: IdentityProvider, client: FlaskClient, claimed: str, form: str
    ) -> None:
        public = KEYS["RS256"].private.public_key()
        encoding = getattr(serialization.Encoding, form)
        secret = public.public_bytes(encoding, serialization.PublicFormat.SubjectPublicKeyInfo)
        token = hmac_token({"alg": claimed, "kid": KEYS["RS256"].id}, provider.claims(), secret)
        assert detail(client, token)

    @pytest.mark.parametrize("algorithm", ["RS384", "RS512", "PS256", "ES384", "HS512"])
    def test_other_algorithms(self, provider: IdentityProvider, client: FlaskClient, algorithm: str) -> None:
        header = {"alg": algorithm, "kid": KEYS["RS256"].id}
        assert "signed with one of RS256, ES256, EdDSA" in detail(
            client, hmac_token(header, provider.claims(), b"secret" * 9)
        )

    def test_another_algorithm_than_that_of_the_key(
        self, provider: IdentityProvider, client: FlaskClient
    ) -> None:
        forged = SigningKey("ES256", KEYS["RS256"].id, new_key("ES256").private)
        assert detail(client, provider.token(forged))

    @pytest.mark.parametrize("algorithm", KEYS)
    def test_another_key_with_the_same_id(
        self, provider: IdentityProvider, client: FlaskClient, algorithm: str
    ) -> None:
        assert "wrong signature" in detail(client, provider.token(new_key(algorithm, KEYS[algorithm].id)))

    def test_changed_claims(self, provider: IdentityProvider, client: FlaskClient) -> None:
        header, _, signature = provider.token().split(".")
        assert "wrong signature" in detail(
            client, f"{header}.{encoded(provider.claims(sub='root'))}.{signature}"
        )

    @pytest.mark.parametrize(
        "key_id", ["../../etc/passwd", "' OR 1=1 --", "x" * 5_000, "", "\x00", "http://x/"]
    )
    def test_tricks_with_the_key_id(
        self, provider: IdentityProvider, client: FlaskClient, key_id: str
    ) -> None:
        assert detail(client, provider.token(headers={"kid": key_id}))
        assert set(provider.paths) == {CONFIGURATION, JWKS}

    @pytest.mark.parametrize("key_id", [1, ["a"], {"a": 1}, True])
    def test_a_key_id_that_is_no_text(
        self, provider: IdentityProvider, client: FlaskClient, key_id: Any
    ) -> None:
        header = {"alg": "RS256", "kid": key_id}
        assert detail(client, hmac_token(header, provider.claims(), b"x"))

    @pytest.mark.parametrize("name", ["jku", "x5u", "jwk", "x5c"])
    def test_keys_that_the_token_brings_are_ignored(
        self, provider: IdentityProvider, client: FlaskClient, name: str
    ) -> None:
        forged = new_key("RS256", "mine")
        with provider_of(forged) as attacker:
            value = {"jwk": forged.public(), "x5c": ["MII"]}.get(name, attacker.url + JWKS)
            assert detail(client, provider.token(forged, headers={name: value}))
            forged.id = KEYS["RS256"].id
            assert detail(client, provider.token(forged, headers={name: value}))
            assert attacker.paths == []
        assert set(provider.paths) == {CONFIGURATION, JWKS}

    def test_critical_extensions_are_not_understood(
        self, provider: IdentityProvider, client: FlaskClient
    ) -> None:
        assert detail(client, provider.token(headers={"crit": ["b64"], "b64": True}))

    def test_a_huge_one(self, provider: IdentityProvider, client: FlaskClient) -> None:
        assert "too long" in detail(client, provider.token(text="x" * 20_000))

    @pytest.mark.parametrize(
        "header", ["[" * 9_000, '{"alg":' * 2_000, "1", "[]", "null", '{"alg":1}', "\xff"]
    )
    def test_headers_of_nonsense(self, client: FlaskClient, header: str) -> None:
        assert detail(client, f"{encoded(header.encode('latin-1'))}.e30.AA")


class TestKeys:
    """The keys of the provider: which count, and where they come from."""

    def test_a_symmetric_key_is_left_out(self) -> None:
        secret = {"kty": "oct", "kid": "a", "k": encoded(b"x" * 32), "alg": "HS256"}
        claimed = {**secret, "alg": "RS256"}
        assert parse_keys({"keys": [secret, claimed, KEYS["ES256"].public()]})[0][0] == KEYS["ES256"].id

    @pytest.mark.parametrize(
        "changes",
        [{"use": "enc"}, {"alg": "RS512"}, {"kty": "EC"}, {"n": "AQAB"}, {"n": 1}, {"kid": 7}, {"e": None}],
    )
    def test_others_are_left_out(self, changes: dict[str, Any]) -> None:
        item = {**KEYS["RS256"].public(), **changes}
        assert [key[0] for key in parse_keys({"keys": [item, "x", KEYS["EdDSA"].public()]})] == [
            KEYS["EdDSA"].id
        ]

    def test_weak_keys_and_other_curves(self) -> None:
        weak = SigningKey("RS256", "a", rsa.generate_private_key(public_exponent=65537, key_size=1024))
        curve = SigningKey("ES256", "b", ec.generate_private_key(ec.SECP384R1()))
        assert parse_keys({"keys": [weak.public(), curve.public()]}) == ()

    @pytest.mark.parametrize("document", [{}, {"keys": {}}, {"keys": [{}] * 101}])
    def test_no_set(self, document: dict[str, Any]) -> None:
        with pytest.raises(ValueError, match="keys"):
            parse_keys(document)

    @pytest.mark.parametrize("path", [CONFIGURATION, JWKS])
    def test_redirects_are_not_followed(
        self, provider: IdentityProvider, client: FlaskClient, path: str
    ) -> None:
        with provider_of(new_key()) as other:
            provider.redirects[path] = other.url + path
            assert_problem(client.get(LISTS, headers=bearer(provider.token())), 503)
            assert other.paths == []

    def test_keys_of_another_server_have_to_be_configured(
        self, provider: IdentityProvider, table: RemoteTable, caplog: pytest.LogCaptureFixture
    ) -> None:
        with provider_of(*KEYS.values()) as other:
            provider.documents[CONFIGURATION]["jwks_uri"] = other.url + JWKS
            answer = client_of(provider, table).get(LISTS, headers=bearer(provider.token()))
            assert "cannot be checked" in assert_problem(answer, 503)["detail"]
            assert "FLL_JWT_JWKS_URL" in caplog.text
            assert other.paths == []
            configured = client_of(provider, table, jwt_jwks_url=other.url + JWKS)
            assert status(configured, provider.token()) == 200

    @pytest.mark.parametrize(
        "document",
        [
            b"<html>",
            b"[]",
            b"[" * 100_000,
            b'{"keys":[]' + b" " * 2**21 + b"}",
            {"issuer": "http://x", "jwks_uri": "/"},
        ],
    )
    def test_a_configuration_that_is_none(
        self, provider: IdentityProvider, client: FlaskClient, document: Any
    ) -> None:
        provider.documents[CONFIGURATION] = document
        assert status(client, provider.token()) == 503


class TestRotation:
    def test_a_new_key_is_found(self, provider: IdentityProvider, table: RemoteTable) -> None:
        clock = [0.0]
        keys = SigningKeys(key_set_fetcher(issuer=provider.url, jwks_url=""), clock=lambda: clock[0])
        verifier = JwtVerifier(keys, LineageStore(table).access, Settings(**settings_of(provider)))
        old, new = KEYS["ES256"], new_key()
        assert verifier.verify(provider.token(old))
        provider.publish(new, old)
        with pytest.raises(Unauthenticated):
            verifier.verify(provider.token(new))  # asked a moment ago
        clock[0] += json_web_tokens.PAUSE_SECONDS
        assert verifier.verify(provider.token(new))
        assert verifier.verify(provider.token(old))

    def test_a_withdrawn_key_ends(self, provider: IdentityProvider, table: RemoteTable) -> None:
        clock = [0.0]
        keys = SigningKeys(key_set_fetcher(issuer=provider.url, jwks_url=""), clock=lambda: clock[0])
        old, new = KEYS["ES256"], new_key()
        assert keys.find(old.id, "ES256")
        provider.publish(new)
        clock[0] += json_web_tokens.FRESH_SECONDS
        # This one answers from the cache, and begins a fetch.
        assert keys.find(old.id, "ES256")
        assert keys.find(new.id, "ES256")
        with pytest.raises(Unauthenticated):
            keys.find(old.id, "ES256")

    def test_unknown_keys_are_looked_for_at_most_every_ten_seconds(
        self, provider: IdentityProvider, client: FlaskClient
    ) -> None:
        assert status(client, provider.token()) == 200
        for number in range(15):
            assert status(client, provider.token(new_key(key_id=f"unknown-{number}"))) == 401
        assert provider.paths == [CONFIGURATION, JWKS]


def _has(keys: SigningKeys, key_id: str) -> bool:
    try:
        return keys.find(key_id, "ES256") is not None
    except json_web_tokens.ProviderAway:
        return False


class TestAway:
    @pytest.mark.slow
    def test_hanging_is_a_503_in_bounded_time(self, provider: IdentityProvider, client: FlaskClient) -> None:
        provider.hangs.set()
        statuses: list[int] = []
        threads = [
            threading.Thread(target=lambda: statuses.append(status(client, provider.token())))
            for _ in range(5)
        ]
        for thread in threads:
            thread.start()
        with patience():
            for thread in threads:
                thread.join()
        assert statuses == [503] * 5
        assert len(provider.paths) == 1
        assert client.get("/healthz").status_code == 200

    @pytest.mark.slow
    def test_fetches_that_never_end_are_few(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(json_web_tokens, "WAIT_SECONDS", 0.05)
        clock, began, ends = [0.0], [], threading.Event()

        def fetch() -> dict[str, Any]:
            began.append(clock[0])
            ends.wait(PATIENCE_SECONDS)
            return {"keys": [KEYS["ES256"].public()]}

        keys = SigningKeys(fetch, clock=lambda: clock[0])
        for _ in range(20):
            with pytest.raises(json_web_tokens.ProviderAway):
                keys.find(KEYS["ES256"].id, "ES256")
            eventually(lambda: len(began) == keys._running, "the thread of each fetch has begun")
            clock[0] += 30
        assert began == [0, 60, 120]
        ends.set()
        eventually(lambda: _has(keys, KEYS["ES256"].id), "the fetches have ended")

    def test_failing_is_a_503_at_once(self, provider: IdentityProvider, client: FlaskClient) -> None:
        provider.status = 500
        answer = client.get(LISTS, headers=bearer(provider.token()))
        assert "cannot be checked" in assert_problem(answer, 503)["detail"]
        assert answer.headers["Retry-After"]
        assert status(client, provider.token(sub="bob")) == 503
        assert len(provider.paths) == 1

    def test_gone(self, table: RemoteTable) -> None:
        with provider_of(*KEYS.values()) as provider:
            token = provider.token()
        assert status(client_of(provider, table), token) == 503

    def test_known_keys_count_for_an_hour(self, table: RemoteTable) -> None:
        clock = [0.0]
        with provider_of(*KEYS.values()) as provider:
            keys = SigningKeys(key_set_fetcher(issuer=provider.url, jwks_url=""), clock=lambda: clock[0])
            assert keys.find(KEYS["ES256"].id, "ES256")
        clock[0] = json_web_tokens.USABLE_SECONDS - 1
        assert keys.find(KEYS["ES256"].id, "ES256")
        clock[0] += json_web_tokens.PAUSE_SECONDS
        with pytest.raises(json_web_tokens.ProviderAway):
            keys.find(KEYS["ES256"].id, "ES256")

    def test_a_table_that_is_away_lets_no_one_in(
        self, provider: IdentityProvider, table: RemoteTable, client: FlaskClient
    ) -> None:
        table.is_away = True
        assert status(client, provider.token()) == 503


class TestSettings:
    @pytest.mark.parametrize(
        ("changes", "fault"),
        [
            ({"jwt_issuer": ""}, "FLL_JWT_ISSUER"),
            ({"jwt_audience": ""}, "FLL_JWT_AUDIENCE"),
            ({"jwt_groups": ""}, "FLL_JWT_GROUPS"),
            ({"jwt_issuer": "http://login.example.com"}, "https"),
            ({"jwt_jwks_url": "file:///etc/passwd"}, "FLL_JWT_JWKS_URL"),
            ({"jwt_jwks_url": "http://[::1"}, "FLL_JWT_JWKS_URL"),
            ({"jwt_jwks_url": "http://169.254.169.254/keys"}, "FLL_JWT_JWKS_URL"),
        ],
    )
    def test_faults(
        self, provider: IdentityProvider, table: RemoteTable, changes: dict[str, Any], fault: str
    ) -> None:
        with pytest.raises(ConfigurationError, match=fault):
            client_of(provider, table, **changes)


_FUZZED_HEADERS = st.dictionaries(
    st.sampled_from(["alg", "kid", "typ", "crit", "b64", "cty"]),
    st.recursive(
        st.none() | st.booleans() | st.text() | st.sampled_from([*KEYS, "none"]), st.lists, max_leaves=3
    ),
)


@pytest.mark.slow
@given(_FUZZED_HEADERS, st.binary(max_size=50), st.binary(max_size=50))
def test_any_token_of_the_form_is_refused(header: dict[str, Any], payload: bytes, signature: bytes) -> None:
    keys = SigningKeys(lambda: {"keys": [key.public() for key in KEYS.values()]})
    verifier = JwtVerifier(keys, None, Settings(jwt_issuer="https://x", jwt_audience="a"))  # type: ignore[arg-type]
    with pytest.raises(Unauthenticated):
        verifier.verify(f"{encoded(header)}.{encoded(payload)}.{encoded(signature)}")
