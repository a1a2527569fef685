"""`fll serve` with TLS and tokens: stalled handshakes stop no one, no log has a secret."""

from __future__ import annotations

import datetime
import ipaddress
import os
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import requests
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from api import create_app
from api.http.tls import tls_context
from fll_hbase.client.remote.remote_client import HttpClient
from fll_hbase.runtime.config import Settings
from fll_hbase.runtime.errors import ConfigurationError
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import open_table
from tests.support.api_client import record_new
from tests.support.api_process import fll_program
from tests.support.lineage_documents import copying, encoded, run
from tests.support.ports import free_port
from tests.support.token_clients import EVERYTHING, LISTS, bearer
from tests.support.waiting import PATIENCE_SECONDS, eventually

pytestmark = pytest.mark.slow

STALLED = 60
FIELDS = [f"{number} {'x' * 500}" for number in range(1_500)]


@dataclass(frozen=True)
class TlsServer:
    """A server with one worker; its certificate, a token, and its process and log."""

    port: int
    certificate: str
    token: str
    process: subprocess.Popen[bytes]
    log: Path

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    def get(self, path: str = LISTS, **options: Any) -> requests.Response:
        options = {"headers": bearer(self.token), "timeout": PATIENCE_SECONDS, **options}
        return requests.get(self.url + path, verify=self.certificate, **options)


def write_certificate(directory: Path, *, password: bytes | None = None) -> tuple[str, str]:
    """Files with a self-signed certificate of this machine and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    names = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .sign(key, hashes.SHA256())
    )
    encryption: Any = serialization.NoEncryption()
    if password:
        encryption = serialization.BestAvailableEncryption(password)
    paths = directory / "cert.pem", directory / "key.pem"
    pem, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    paths[0].write_bytes(certificate.public_bytes(pem))
    paths[1].write_bytes(key.private_bytes(pem, form, encryption))
    return str(paths[0]), str(paths[1])


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TlsServer]:
    home = tmp_path_factory.mktemp("tls")
    certificate, key = write_certificate(home)
    table = open_table(f"sqlite:///{home}/store.db")
    store = LineageStore(table)
    record_new(create_app(store).test_client(), copying("a", "b", *FIELDS))
    _, token = store.access.create_token("all", EVERYTHING)
    table.close()
    port = free_port()
    environment = {**os.environ, "FLL_AUTH": "tokens", "FLL_TLS_CERT": certificate, "FLL_TLS_KEY": key}
    environment["FLL_QUESTIONS_MAX"] = "4"
    command = [
        fll_program(),
        "serve",
        "--store",
        f"sqlite:///{home}/store.db",
        "--port",
        str(port),
        "--workers",
        "1",
    ]
    with (home / "log").open("wb") as log:
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
    served = TlsServer(port, certificate, token.text(), process, home / "log")
    try:
        _wait(served)
        yield served
    finally:
        process.terminate()
        process.wait(PATIENCE_SECONDS)


def _wait(server: TlsServer) -> None:
    def is_ready() -> bool:
        assert server.process.poll() is None, server.log.read_text()
        try:
            return server.get("/readyz").status_code == 200
        except requests.ConnectionError:
            return False

    eventually(is_ready, f"the server is ready, see {server.log}")


def client_hello() -> bytes:
    """The first bytes of a handshake."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    context = ssl.create_default_context()
    with pytest.raises(ssl.SSLWantReadError):
        context.wrap_bio(incoming, outgoing, server_hostname="localhost").do_handshake()
    return outgoing.read()


def answers(server: TlsServer) -> None:
    for _ in range(3):
        assert server.get().status_code == 200


class TestTls:
    def test_it_says_so(self, server: TlsServer) -> None:
        answer = server.get()
        assert answer.headers["Strict-Transport-Security"]
        assert f"at {server.url}/" in server.log.read_text()
        refused = server.get("/v3/search?q=x", headers={"Transfer-Encoding": "gzip", **bearer(server.token)})
        assert refused.status_code >= 400
        assert refused.headers["Strict-Transport-Security"]

    @pytest.mark.parametrize(
        "sent", [b"", b"\x16", b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"\x16\x03\x01" + b"\xff" * 300, None]
    )
    def test_stalled_handshakes_stop_no_one(self, server: TlsServer, sent: bytes | None) -> None:
        first = client_hello() if sent is None else sent
        with ExitStack() as stack:
            for number in range(STALLED):
                connection = stack.enter_context(socket.create_connection(("127.0.0.1", server.port), 30))
                connection.sendall(first if sent is not None else first[: len(first) - number % 2])
            answers(server)
        answers(server)

    def test_a_byte_of_the_handshake_at_a_time(self, server: TlsServer) -> None:
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        context = ssl.create_default_context(cafile=server.certificate)
        tls = context.wrap_bio(incoming, outgoing, server_hostname="localhost")
        with socket.create_connection(("127.0.0.1", server.port), 30) as connection:

            def exchange(step: Any) -> Any:
                while True:
                    try:
                        result = step()
                    except ssl.SSLWantReadError:
                        result = None
                    for byte in outgoing.read():
                        connection.sendall(bytes([byte]))
                    if result is not None:
                        return result
                    incoming.write(connection.recv(7))

            exchange(lambda: tls.do_handshake() or True)
            request = (
                f"GET {LISTS} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {server.token}\r\n\r\n"
            )
            exchange(lambda: tls.write(request.encode()))
            assert exchange(lambda: tls.read(16)).startswith(b"HTTP/1.1 200")

    def test_large_bodies_and_answers(self, server: TlsServer) -> None:
        document = copying("big", "bigger", *FIELDS, run=run("big"))
        url = f"{server.url}/v3/namespaces/ns1/lineage"
        headers = {**bearer(server.token), "Content-Type": "application/json"}
        answer = requests.post(
            url, encoded(document), headers=headers, verify=server.certificate, timeout=300
        )
        assert answer.status_code in (200, 201), answer.text
        path = "/v3/namespaces/ns1/endpoints/bigger/fields/lineage?start=0&end=now"
        plain = {**bearer(server.token), "Accept-Encoding": "identity"}
        body = server.get(path, headers=plain).json()
        assert len(body[0]["fieldmap"]) == len(FIELDS)

    @pytest.mark.slow
    def test_a_client_that_reads_slowly_gets_all(self, server: TlsServer) -> None:
        path = "/v3/namespaces/ns1/endpoints/b/fields/lineage?start=0&end=now"
        plain = {**bearer(server.token), "Accept-Encoding": "identity"}
        expected = server.get(path, headers=plain).content
        with server.get(path, headers=plain, stream=True) as answer:
            body = bytearray()
            for number, part in enumerate(answer.iter_content(2**14)):
                body += part
                if number < 20:
                    time.sleep(0.05)
                    if number % 5 == 0:
                        answers(server)
        assert bytes(body) == expected

    @pytest.mark.slow
    def test_many_at_once_on_open_connections(self, server: TlsServer) -> None:
        def ask(number: int) -> int:
            with requests.Session() as session:
                options = {"headers": bearer(server.token), "verify": server.certificate, "timeout": 60}
                url = f"{server.url}/v3/search?q={number}"
                statuses = {session.get(url, **options).status_code for _ in range(5)}
            return max(statuses)

        with ThreadPoolExecutor(4) as pool:
            assert set(pool.map(ask, range(4))) == {200}

    @pytest.mark.filterwarnings("ignore::DeprecationWarning")
    def test_old_protocols_are_refused(self, server: TlsServer) -> None:
        context = ssl.create_default_context(cafile=server.certificate)
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        with (
            socket.create_connection(("127.0.0.1", server.port), 30) as raw,
            context.wrap_socket(raw, server_hostname="localhost") as connection,
        ):
            assert connection.version() == "TLSv1.2"
        context.minimum_version = ssl.TLSVersion.TLSv1
        context.maximum_version = ssl.TLSVersion.TLSv1_1
        with (
            socket.create_connection(("127.0.0.1", server.port), 30) as raw,
            pytest.raises((ssl.SSLError, OSError)),
        ):
            context.wrap_socket(raw, server_hostname="localhost")

    def test_our_client_uses_it(self, server: TlsServer, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("REQUESTS_CA_BUNDLE", server.certificate)
        with HttpClient(server.url, token=server.token) as client:
            assert [row["namespace"] for row in client.namespaces().rows]


class TestSecrets:
    def test_no_log_and_no_process_shows_one(self, server: TlsServer) -> None:
        wrong = server.token[:-8] + "00000000"
        for token in (server.token, wrong):
            server.get(headers=bearer(token))
            server.get("/v3/" + "x" * 20_000, headers=bearer(token))
        secret = server.token.split("_")[2]
        assert secret not in server.log.read_text()
        for path in (
            Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children").read_text().split()
        ):
            for name in ("cmdline", "environ"):
                assert secret.encode() not in Path(f"/proc/{path}/{name}").read_bytes()


class TestSettings:
    @pytest.mark.parametrize("given", [("cert",), ("key",)])
    def test_both_are_needed(self, tmp_path: Path, given: tuple[str, ...]) -> None:
        with pytest.raises(ConfigurationError, match="both FLL_TLS_CERT and FLL_TLS_KEY"):
            tls_context(Settings(**{f"tls_{name}": "x" for name in given}))

    def test_what_is_no_certificate(self, tmp_path: Path) -> None:
        certificate, key = write_certificate(tmp_path)
        for pair in (
            (key, certificate),
            (certificate, certificate),
            ("/nowhere", key),
            (certificate, "/nowhere"),
        ):
            with pytest.raises(ConfigurationError, match="not a certificate and its key"):
                tls_context(Settings(tls_cert=pair[0], tls_key=pair[1]))

    def test_an_encrypted_key_asks_no_one(self, tmp_path: Path) -> None:
        certificate, key = write_certificate(tmp_path, password=b"secret")
        with pytest.raises(ConfigurationError, match="decrypt it"):
            tls_context(Settings(tls_cert=certificate, tls_key=key))

    @pytest.mark.slow
    def test_none_by_default(self) -> None:
        assert tls_context(Settings()) is None
