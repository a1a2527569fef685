"""An identity provider: signs with real keys, serves them over HTTP, rotates them, hangs and goes away."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from itertools import count
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

from tests.support.threaded_server import HttpServer, in_thread
from tests.support.waiting import PATIENCE_SECONDS

AUDIENCE = "lineage"
CONFIGURATION, JWKS = "/.well-known/openid-configuration", "/keys"
_MAKERS: dict[str, Any] = {
    "RS256": lambda: rsa.generate_private_key(public_exponent=65537, key_size=2048),
    "ES256": lambda: ec.generate_private_key(ec.SECP256R1()),
    "EdDSA": ed25519.Ed25519PrivateKey.generate,
}
_ENCODERS: dict[str, Any] = {"RS256": RSAAlgorithm, "ES256": ECAlgorithm, "EdDSA": OKPAlgorithm}


@dataclass
class SigningKey:
    """A private key with its id."""

    algorithm: str
    id: str
    private: Any

    def public(self) -> dict[str, Any]:
        """The public key as a member of a key set."""
        encoded = json.loads(_ENCODERS[self.algorithm].to_jwk(self.private.public_key()))
        return {**encoded, "kid": self.id, "alg": self.algorithm, "use": "sig"}


_NUMBERS = count()


def new_key(algorithm: str = "ES256", key_id: str | None = None) -> SigningKey:
    return SigningKey(algorithm, key_id or f"key-{next(_NUMBERS)}", _MAKERS[algorithm]())


@dataclass
class IdentityProvider:
    """The documents that it serves by path; `paths` are those of all requests that it got."""

    url: str
    keys: list[SigningKey]
    documents: dict[str, Any] = field(default_factory=dict)
    paths: list[str] = field(default_factory=list)
    redirects: dict[str, str] = field(default_factory=dict)
    hangs: threading.Event = field(default_factory=threading.Event)
    status: int = 200

    def publish(self, *keys: SigningKey) -> None:
        """Serve these keys from now on, and sign with the first."""
        self.keys = list(keys)
        self.documents[JWKS] = {"keys": [key.public() for key in keys]}

    def claims(self, **changes: Any) -> dict[str, Any]:
        """The claims of a good token, with these changes; those that are None are left out."""
        now = int(time.time())
        claims = {
            "iss": self.url,
            "aud": AUDIENCE,
            "sub": "ana",
            "exp": now + 300,
            "iat": now,
            "groups": ["etl"],
            **changes,
        }
        return {name: value for name, value in claims.items() if value is not None}

    def token(self, key: SigningKey | None = None, *, headers: Any = None, **changes: Any) -> str:
        """A signed token."""
        key = key or self.keys[0]
        all_headers = {"kid": key.id, **(headers or {})}
        return jwt.encode(self.claims(**changes), key.private, algorithm=key.algorithm, headers=all_headers)


@contextmanager
def provider_of(*keys: SigningKey) -> Iterator[IdentityProvider]:
    """A provider with these keys, for as long as it is needed."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            provider.paths.append(self.path)
            if provider.hangs.is_set():
                time.sleep(2 * PATIENCE_SECONDS)
            status = 302 if self.path in provider.redirects else provider.status
            document = provider.documents.get(self.path)
            body = document if isinstance(document, bytes) else json.dumps(document).encode()
            self.send_response(status if document is not None or status != 200 else 404)
            if status == 302:
                self.send_header("Location", provider.redirects[self.path])
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = HttpServer(("127.0.0.1", 0), Handler)
    url = f"http://127.0.0.1:{server.server_port}"
    provider = IdentityProvider(url, list(keys))
    provider.documents[CONFIGURATION] = {"issuer": url, "jwks_uri": url + JWKS}
    provider.publish(*keys)
    with in_thread(server):
        yield provider
