"""The answers of every route and format are those of tests/golden/http, byte for byte."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from flask import Flask

import api
from api.wire.responses import route_path
from fll_hbase import queries
from fll_hbase.runtime.errors import PROBLEMS
from fll_hbase.store.lineage_store import LineageStore
from fll_hbase.tables import open_table
from tests.support.golden_http import Exchange, GoldenFile, differences, read_files, send
from tests.support.golden_stores import Clock, GoldenStores

pytestmark = pytest.mark.slow

FILES = read_files()
LINES_MAX = 1_000
"""Of one file: more than that nobody reads."""

OTHER_PROBLEMS = {"overloaded", "checksum-conflict", "read-only"}
"""Of a server without a free thread, of two contents with one checksum, and of a user without a right."""

Route = tuple[str, str]
"""A method, and a path as the OpenAPI document has it."""


@pytest.fixture(scope="module")
def stores() -> Iterator[GoldenStores]:
    clock = Clock()
    with pytest.MonkeyPatch.context() as patch:
        # Of times that the store and the API take by themselves, such as that of a tag.
        patch.setattr("fll_hbase.runtime.clock.now_ms", clock)
        all_stores = GoldenStores(clock)
        yield all_stores
        all_stores.close()


@pytest.fixture(scope="module")
def app() -> Flask:
    """An app that is asked for its routes alone."""
    return api.create_app(LineageStore(open_table("sqlite:///:memory:")))


@pytest.fixture(scope="module")
def exchanges(app: Flask) -> dict[Route, list[tuple[GoldenFile, Exchange]]]:
    """The exchanges of each route; those of no route are left out."""
    urls = app.url_map.bind("127.0.0.1")
    by_route = defaultdict(list)
    for golden in FILES:
        for exchange in golden.exchanges:
            if exchange.status not in (400, 404, 405) or exchange.path == "/":
                rule, _ = urls.match(exchange.path, exchange.method, return_rule=True)
                by_route[exchange.method, route_path(rule.rule)].append((golden, exchange))
    return by_route


@pytest.mark.parametrize("golden", FILES, ids=lambda golden: golden.name)
def test_answers_are_the_golden_ones(
    golden: GoldenFile, stores: GoldenStores, request: pytest.FixtureRequest
) -> None:
    actual = stores.answers(golden)
    if request.config.getoption("--update"):
        golden.path.write_bytes(str(actual).encode())
        return
    assert not (difference := differences(golden, actual)), f"\n{difference}"


@pytest.mark.parametrize("golden", FILES, ids=lambda golden: golden.name)
def test_files_are_short_and_in_their_own_form(golden: GoldenFile) -> None:
    text = golden.path.read_bytes().decode()
    assert text == str(golden)
    assert text.count("\n") <= LINES_MAX


def test_every_route_has_golden_answers(
    app: Flask, exchanges: dict[Route, list[tuple[GoldenFile, Exchange]]]
) -> None:
    routes = {
        (method, route_path(rule.rule))
        for rule in app.url_map.iter_rules()
        for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}
    }
    # It answers 404 to everyone.
    hint = ("POST", "/")
    answered = {
        route for route, items in exchanges.items() if any(item.status < 400 for _, item in items)
    } | {hint}
    assert routes - answered == set()
    assert exchanges[hint]


def test_every_parameter_and_value_of_a_route_has_a_golden_answer(
    app: Flask, exchanges: dict[Route, list[tuple[GoldenFile, Exchange]]]
) -> None:
    missing = [
        f"{method.upper()} {path}?{query}"
        for path, operations in app.extensions["fll-api"].document()["paths"].items()
        for method, operation in operations.items()
        if method != "parameters"
        for parameter in operation.get("parameters", ())
        if parameter.get("in") == "query"
        for query in _queries(parameter)
        if not any(
            item.status < 400 and re.search(rf"[?&]{query}", item.target)
            for _, item in exchanges[method.upper(), path]
        )
    ]
    assert not missing, "\n".join(missing)


def _queries(parameter: dict[str, Any]) -> Iterator[str]:
    """The beginnings of the pairs that a parameter needs: one for each value other than its default."""
    schema = parameter["schema"]
    values = ("true", "false") if schema.get("type") == "boolean" else schema.get("enum", ("",))
    default = str(schema.get("default")).lower()
    yield from (f"{parameter['name']}={value}" for value in values if value not in (default, None))


def test_every_format_of_an_answer_is_golden(
    stores: GoldenStores, exchanges: dict[Route, list[tuple[GoldenFile, Exchange]]]
) -> None:
    """A route is asked for all media types that the code names anywhere, but for the golden ones."""
    media_types, missing = _media_types(), set()
    for route, items in exchanges.items():
        golden_types = {item.media_type for _, item in items if item.status == 200}
        for golden, item in _shortest_read(items):
            others = ", ".join(sorted(media_types - golden_types))
            answer = send(stores.app(golden), item.method, item.target, {"Accept": others})
            assert answer.status == "200 OK", item.target
            if answer.media_type not in golden_types:
                missing.add((route, answer.media_type))
    assert {"text/csv", "text/vnd.mermaid"} <= media_types
    assert missing == set()


def _media_types() -> set[str]:
    """All texts of the code of the API and of its queries that are media types."""
    folders = (Path(module.__file__).parent for module in (api, queries))
    sources = (path for folder in folders for path in folder.rglob("*.py"))
    return {
        text
        for path in sources
        for text in re.findall(r'"((?:text|application)/[a-z0-9.+-]+)"', path.read_text())
    }


def _shortest_read(items: list[tuple[GoldenFile, Exchange]]) -> list[tuple[GoldenFile, Exchange]]:
    """The shortest answer of a route that reads, to a request that needs no other before it; [] for none."""
    reads = [
        (golden, item)
        for golden, item in items
        if item.method == "GET"
        and item.status == 200
        and golden.about["Store"] in ("sample", "hard")
        and "Settings" not in golden.about
        and not item.headers
    ]
    return sorted(reads, key=lambda read: len(read[1].answer))[:1]


def test_every_kind_of_problem_is_golden() -> None:
    texts = "".join(item.answer for golden in FILES for item in golden.exchanges)
    missing = {slug for slug in PROBLEMS if f"urn:fll-hbase:problem:{slug}" not in texts}
    assert missing == OTHER_PROBLEMS
