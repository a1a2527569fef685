"""Prometheus, nginx and systemd themselves accept what is in `docker/`, and do with it what they should."""

from __future__ import annotations

import datetime
import ipaddress
import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import requests
import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.operators.conftest import StartServer
from tests.operators.scrapes import scrape
from tests.support.ports import free_port
from tests.support.server_process import Server
from tests.support.small_documents import document
from tests.support.waiting import eventually

pytestmark = pytest.mark.servers

DOCKER = Path(__file__).resolve().parents[2] / "docker"
HOST = "lineage.example.com"
CLAIMS = {
    "X-Forwarded-For": "203.0.113.9",
    "X-Forwarded-Proto": "http",
    "X-Forwarded-Prefix": "/evil",
    "X-Forwarded-Host": "evil.example",
    "X-Forwarded-Port": "1",
    "Forwarded": "for=203.0.113.9;host=evil.example;proto=http",
}


def run(*command: str, text: str = "") -> str:
    """The output of a program that must succeed."""
    environment = {**os.environ, "PATH": f"{os.environ['PATH']}:/usr/sbin"}
    done = subprocess.run(
        command, input=text, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@contextmanager
def running(*command: str) -> Iterator[None]:
    """A program that runs meanwhile."""
    environment = {**os.environ, "PATH": f"{os.environ['PATH']}:/usr/sbin"}
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        yield
    finally:
        process.terminate()
        process.communicate(timeout=120)


class TestPrometheus:
    """It scrapes a real server, and evaluates the alerts."""

    def test_promtool_accepts_metrics_rules_and_configuration(self, start_server: StartServer) -> None:
        server = start_server(workers=1)
        url = f"http://127.0.0.1:{server.port}/v3/namespaces/shop/lineage"
        assert requests.post(url, json=document(), timeout=120).status_code == 201
        assert run("promtool", "check", "metrics", text=scrape(server.port).text) == ""
        # Without the file of the token, which is on the machine of Prometheus.
        for name in ("prometheus.yml", "kubernetes.yml"):
            run("promtool", "check", "config", "--syntax-only", str(DOCKER / "prometheus" / name))

    def test_a_scrape(self, start_server: StartServer, tmp_path: Path) -> None:
        server = start_server()
        port = free_port()
        config = yaml.safe_load((DOCKER / "prometheus" / "prometheus.yml").read_text())
        config["global"] = {"scrape_interval": "1s", "evaluation_interval": "1s"}
        config["rule_files"] = [str(DOCKER / "prometheus" / "alerts.yml")]
        config["scrape_configs"][0]["static_configs"] = [{"targets": [f"127.0.0.1:{server.port}"]}]
        (tmp_path / "prometheus.yml").write_text(yaml.safe_dump(config))
        for _ in range(7):
            answer = requests.get(f"http://127.0.0.1:{server.port}/v3/namespaces", timeout=120)
            assert answer.status_code == 200
        with running(
            "prometheus",
            f"--config.file={tmp_path}/prometheus.yml",
            f"--storage.tsdb.path={tmp_path}/data",
            f"--web.listen-address=127.0.0.1:{port}",
        ):
            query = 'sum(fll_http_requests_total{route="/v3/namespaces",job="lineage"})'
            eventually(lambda: self._value(port, query) == 7, "it has scraped")
            # Of each target, Prometheus itself says whether it could be read.
            assert self._value(port, 'up{job="lineage"}') == 1
            rules = requests.get(f"http://127.0.0.1:{port}/api/v1/rules", timeout=120).json()
            (group,) = rules["data"]["groups"]
            eventually(lambda: self._are_healthy(port), "every alert is evaluated")
            assert {rule["state"] for rule in group["rules"]} == {"inactive"}

    def _value(self, port: int, query: str) -> float:
        try:
            answer = requests.get(
                f"http://127.0.0.1:{port}/api/v1/query", params={"query": query}, timeout=120
            )
        except requests.ConnectionError:
            return -1
        result = answer.json()["data"]["result"] if answer.status_code == 200 else []
        return float(result[0]["value"][1]) if result else -1

    def _are_healthy(self, port: int) -> bool:
        rules: dict[str, Any] = requests.get(f"http://127.0.0.1:{port}/api/v1/rules", timeout=120).json()
        return {rule["health"] for rule in rules["data"]["groups"][0]["rules"]} == {"ok"}


class TestNginx:
    """It passes paths on as they are, over TLS, and keeps `/metrics` to itself."""

    @pytest.fixture
    def front(self, start_server: StartServer, tmp_path: Path) -> Iterator[tuple[Server, int]]:
        access = str(tmp_path / "access.log")
        server = start_server(
            workers=1,
            FLL_ALLOWED_HOSTS=HOST,
            FLL_PROXIES="1",
            FLL_ALLOW_UNAUTHENTICATED="1",
            FLL_ACCESS_LOG=access,
        )
        port, plain = free_port(), free_port()
        _write_certificate(tmp_path)
        text = (DOCKER / "nginx" / "lineage.conf").read_text()
        for old, new in (
            ("127.0.0.1:8080", f"127.0.0.1:{server.port}"),
            ("/etc/nginx/tls", str(tmp_path)),
            ("listen 443", f"listen 127.0.0.1:{port}"),
            ("listen 80;", f"listen 127.0.0.1:{plain};"),
        ):
            assert old in text
            text = text.replace(old, new)
        (tmp_path / "lineage.conf").write_text(text)
        paths = "".join(
            f"{name}_temp_path {tmp_path}/{name};\n"
            for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        (tmp_path / "nginx.conf").write_text(
            f"daemon off;\npid {tmp_path}/nginx.pid;\nerror_log {tmp_path}/error.log;\nevents {{}}\n"
            f"http {{\naccess_log off;\n{paths}include {tmp_path}/lineage.conf;\n}}\n"
        )
        command = ("nginx", "-p", str(tmp_path), "-c", str(tmp_path / "nginx.conf"))
        assert "syntax is ok" in run(*command, "-t")
        with running(*command):
            eventually(lambda: self._answers(tmp_path, port), "nginx answers")
            yield server, port

    def _answers(self, folder: Path, port: int) -> bool:
        try:
            self._ask(folder, port, "/healthz")
        except requests.ConnectionError:
            return False
        return True

    def _ask(
        self, folder: Path, port: int, path: str, method: str = "GET", **options: Any
    ) -> requests.Response:
        # Not `requests.get`, which resolves `..` and changes escapes.
        with requests.Session() as session:
            prepared = session.prepare_request(
                requests.Request(method, f"https://127.0.0.1:{port}/", **options)
            )
            prepared.url = f"https://127.0.0.1:{port}{path}"
            prepared.headers["Host"] = HOST
            return session.send(prepared, verify=str(folder / "lineage.crt"), timeout=120)

    def test_what_passes(self, front: tuple[Server, int], tmp_path: Path) -> None:
        server, port = front
        sent = self._ask(tmp_path, port, "/v3/namespaces/shop/lineage", "POST", json=document())
        assert sent.status_code == 201
        assert sent.headers["Strict-Transport-Security"]
        for path in (
            "/v3/namespaces",
            "/v3/namespaces//endpoints",
            "/v3/namespaces/a%2Fb/endpoints",
            "/v3/namespaces/shop/endpoints/..%2f/fields",
            f"/v3/namespaces/shop/endpoints/{'%C3%A4' * 2_000}",
        ):
            direct = requests.Request("GET", f"http://127.0.0.1:{server.port}/").prepare()
            direct.url = f"http://127.0.0.1:{server.port}{path}"
            expected = requests.Session().send(direct, timeout=120)
            answer = self._ask(tmp_path, port, path)
            assert (answer.status_code, answer.content) == (expected.status_code, expected.content), path
        assert self._ask(tmp_path, port, "/metrics").status_code == 403

    def test_what_clients_claim_of_themselves_does_not_count(
        self, front: tuple[Server, int], tmp_path: Path
    ) -> None:
        _, port = front
        # Lists link to their next page by the path that the client knows, and `/docs` to the document.
        sent = self._ask(tmp_path, port, "/v3/namespaces/shop/lineage", "POST", json=document())
        assert sent.status_code == 201
        for path in ("/docs", "/v3/namespaces/shop/endpoints?limit=1"):
            expected = self._ask(tmp_path, port, path)
            claimed = self._ask(tmp_path, port, path, headers=CLAIMS)
            assert (claimed.status_code, claimed.content) == (200, expected.content)
            assert claimed.headers.get("Link") == expected.headers.get("Link")
        lines = [json.loads(line) for line in (tmp_path / "access.log").read_text().splitlines()]
        assert {line["remote"] for line in lines} == {"127.0.0.1"}


def _write_certificate(folder: Path) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, HOST)])
    now = datetime.datetime.now(datetime.UTC)
    names = [x509.DNSName(HOST), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .sign(key, hashes.SHA256())
    )
    (folder / "lineage.crt").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    (folder / "lineage.key").write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )


def test_systemd_accepts_the_unit(tmp_path: Path) -> None:
    text = (DOCKER / "systemd" / "fll.service").read_text()
    # The package is elsewhere here.
    unit = tmp_path / "fll.service"
    unit.write_text(text.replace("/opt/fll/bin/fll", "/bin/true"))
    assert run("systemd-analyze", "verify", "--man=no", str(unit)) == ""
