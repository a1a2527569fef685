"""The web page: what the server sends of it, and that it was built from its source."""

from __future__ import annotations

import gzip
import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urljoin

import pytest
from flask.testing import FlaskClient
from werkzeug.middleware.dispatcher import DispatcherMiddleware
from werkzeug.test import Client

from api import create_app
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import open_table
from tests.support.api_client import assert_problem

ROOT = Path(__file__).resolve().parents[3]
SOURCE = ROOT / "page"
FILES = {
    "/": "text/html",
    "/page.js": "text/javascript",
    "/details.js": "text/javascript",
    "/page.css": "text/css",
}
POLICY = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "img-src": "'self' data: blob:",
    "connect-src": "'self'",
    "base-uri": "'none'",
    "form-action": "'none'",
    "frame-ancestors": "'none'",
}


@pytest.fixture(scope="module")
def store() -> Iterator[LineageStore]:
    table = open_table("sqlite:///:memory:")
    yield LineageStore(table)
    table.close()


@pytest.fixture
def client(store: LineageStore) -> FlaskClient:
    return create_app(store).test_client()


def references(html: str) -> list[str]:
    return [url for url in re.findall(r'(?:src|href)="([^"]*)"', html) if not url.startswith("data:")]


class TestServing:
    """Four files, the same for everyone, which a browser asks for again by their entity tags."""

    @pytest.mark.parametrize("target", FILES)
    def test_headers(self, client: FlaskClient, target: str) -> None:
        payload = client.get(target)
        assert (payload.status_code, payload.mimetype) == (200, FILES[target])
        policy = payload.headers["Content-Security-Policy"]
        directives = [part.strip().split(" ", 1) for part in policy.split(";")]
        assert dict(directives) == POLICY
        assert payload.headers["Cache-Control"] == "no-cache"
        assert payload.headers["X-Content-Type-Options"] == "nosniff"
        assert payload.headers["Referrer-Policy"] == "no-referrer"

    @pytest.mark.parametrize("target", FILES)
    def test_a_known_file_is_304(self, client: FlaskClient, target: str) -> None:
        tag = client.get(target).headers["ETag"]
        again = client.get(target, headers={"If-None-Match": tag})
        assert (again.status_code, again.data) == (304, b"")
        assert client.get(target, headers={"If-None-Match": '"other"'}).status_code == 200

    @pytest.mark.parametrize("target", ["/page.js", "/details.js", "/page.css"])
    def test_gzip(self, client: FlaskClient, target: str) -> None:
        plain = client.get(target)
        packed = client.get(target, headers={"Accept-Encoding": "gzip"})
        assert packed.headers["Content-Encoding"] == "gzip"
        assert "Accept-Encoding" in packed.headers["Vary"]
        assert gzip.decompress(packed.data) == plain.data
        assert packed.headers["ETag"] != plain.headers["ETag"]

    @pytest.mark.parametrize("target", FILES)
    def test_head_is_get_without_a_body(self, client: FlaskClient, target: str) -> None:
        got, headed = client.get(target), client.head(target)
        assert (headed.status_code, headed.data) == (200, b"")
        assert headed.headers["ETag"] == got.headers["ETag"]
        assert headed.headers["Content-Length"] == got.headers["Content-Length"]

    @pytest.mark.parametrize(
        ("target", "methods"),
        [("/", {"GET", "HEAD", "OPTIONS", "POST"}), ("/page.js", {"GET", "HEAD", "OPTIONS"})],
    )
    def test_other_methods_are_405(self, client: FlaskClient, target: str, methods: set[str]) -> None:
        for method in {"POST", "PUT", "PATCH", "DELETE"} - methods:
            refused = client.open(target, method=method)
            assert_problem(refused, 405)
            assert {name.strip() for name in refused.headers["Allow"].split(",")} == methods

    def test_post_is_still_the_hint_of_openlineage(self, client: FlaskClient) -> None:
        assert "/api/v1/lineage" in assert_problem(client.post("/", json={}), 404)["detail"]

    @pytest.mark.parametrize(
        "query",
        ["", "view=graph&ns=bank&name=s3%3A%2F%2Fx&field=UID", "view=nonsense&view=dataset&x", "%zz=%"],
    )
    def test_every_query_is_the_same_page(self, client: FlaskClient, query: str) -> None:
        assert client.get(f"/?{query}").data == client.get("/").data

    @pytest.mark.parametrize("target", ["/page.js.map", "/index.html", "/page/index.html", "/page.js/"])
    def test_there_are_no_other_files(self, client: FlaskClient, target: str) -> None:
        assert_problem(client.get(target), 404)


class TestContent:
    """The page runs under its policy, asks no other host, and works wherever it is mounted."""

    def test_nothing_is_inline(self, client: FlaskClient) -> None:
        html = client.get("/").text
        scripts = re.findall(r"<script\b([^>]*)>(.*?)</script>", html, re.DOTALL)
        assert scripts
        assert all("src=" in attributes and content == "" for attributes, content in scripts)
        assert not re.search(r"<style|\sstyle=|\son\w+=|javascript:", html)

    def test_references_are_relative_and_answered(self, client: FlaskClient) -> None:
        targets = references(client.get("/").text)
        assert sorted(targets) == ["./page.css", "./page.js"]
        for target in targets:
            assert client.get(urljoin("/", target)).status_code == 200

    @pytest.mark.parametrize("prefix", ["/lineage", "/a/b"])
    def test_behind_a_path_prefix(self, client: FlaskClient, prefix: str) -> None:
        mounted = Client(DispatcherMiddleware(client.application, {prefix: client.application}))
        page = f"{prefix}/?view=dataset&ns=a&name=b"
        for target in [*references(mounted.get(page).text), "docs", "v3/namespaces"]:
            assert mounted.get(urljoin(page, target)).status_code == 200, target
        documentation = f"{prefix}/docs"
        for target in references(mounted.get(documentation).text):
            assert mounted.get(urljoin(documentation, target)).status_code == 200, target

    @pytest.mark.parametrize("name", ["page.js", "page.css"])
    def test_no_other_host_is_asked(self, name: str) -> None:
        text = (ROOT / "api" / "page" / name).read_text()
        hosts = set(re.findall(r"(?:https?:)?//([\w-]+(?:\.[\w-]+)+)", text))
        # Names of XML vocabularies, and the licence of Preact; neither is requested.
        assert hosts <= {"www.w3.org", "preactjs.com"}

    def test_names_are_never_markup(self) -> None:
        sources = [path for path in SOURCE.glob("src/**/*") if path.suffix in (".ts", ".tsx")]
        assert len(sources) > 20
        pattern = re.compile(
            r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function\("
        )
        assert not [path for path in sources if pattern.search(path.read_text())]


class TestBuild:
    """The committed build is the one of the committed source; `make page` makes it."""

    def test_it_was_built_from_this_source(self) -> None:
        html = (ROOT / "api" / "page" / "index.html").read_text()
        match = re.search(r'<meta name="source-sha256" content="([0-9a-f]{64})">', html)
        assert match
        assert match[1] == source_hash(SOURCE), "page/ changed after the build: run `make page`"

    def test_it_has_these_files(self) -> None:
        assert {path.name for path in (ROOT / "api" / "page").iterdir()} == {
            "details.js",
            "index.html",
            "page.css",
            "page.js",
        }

    def test_locked_packages_name_no_registry(self) -> None:
        lock = json.loads((SOURCE / "package-lock.json").read_text())
        packages = {name: entry for name, entry in lock["packages"].items() if name}
        assert not [name for name, entry in packages.items() if "resolved" in entry]
        assert all("integrity" in entry for entry in packages.values() if not entry.get("inBundle"))


def source_hash(folder: Path) -> str:
    """Return the hash that page/source-hash.ts computes."""
    skipped = {"node_modules"}  # hidden files neither
    paths = [
        path.relative_to(folder)
        for path in folder.rglob("*")
        if path.is_file()
        and not any(part in skipped or part.startswith(".") for part in path.relative_to(folder).parts)
    ]
    digest = hashlib.sha256()
    for path in sorted(paths, key=lambda path: path.as_posix().encode()):
        content = (folder / path).read_bytes()
        digest.update(f"{path.as_posix()}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()
