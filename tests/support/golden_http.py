"""Golden answers of the API: text files with requests and the whole answer to each.

A file begins with lines `Name: value`, which say what the requests are sent to. Each `### title` begins an
exchange: the request with `> ` before each of its lines, then status, headers and body of the answer.
"""

from __future__ import annotations

import gzip
import json
import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import unified_diff
from io import BytesIO
from pathlib import Path
from typing import Any

from tests.support.folded_json import fold

GOLDEN = Path(__file__).parents[1] / "golden" / "http"

COMMON_HEADERS = {
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
}
"""Headers of every answer: a file shows them only where an answer lacks them or has others."""

FILES = {
    "/": "(a file of api/page)",
    "/page.js": "(a file of api/page)",
    "/details.js": "(a file of api/page)",
    "/page.css": "(a file of api/page)",
    "/docs/swagger-ui.css": "(a file of Swagger UI)",
}
"""Paths of files that change without a change of the API, and what stands in place of their bodies."""

CHECK_SECONDS = 60.0
"""How long a request waits for the first check of a store."""

PROBLEM = "application/problem+json"

_NEW_REQUEST_ID = re.compile(r"[0-9a-f]{32}")
_TOKEN = re.compile(r"<([a-z]+)>")
_SECONDS = re.compile("in [0-9]+ s")
_NOT_CHECKED = b"the store has not answered for"
_DIFFERENCES_MAX = 5
_ELEMENT = re.compile("<(?:key|graph|node|edge) |</graph>")
# `\x00` as `␀`; `\x7f` has a picture of its own.
_PICTURES = {code: chr(0x2400 + code) for code in range(32) if code != ord("\n")} | {0x7F: "␡"}

Application = Callable[..., Any]


@dataclass(frozen=True)
class Exchange:
    """A request and the text of its answer, which is empty before the first `--update`."""

    title: str
    method: str
    target: str
    headers: tuple[tuple[str, str], ...]
    body: str
    answer: str

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]

    @property
    def status(self) -> int:
        return int(self.answer[:3])

    @property
    def media_type(self) -> str:
        """The type of the answer without its parameters; "" for none."""
        match = re.search(r"^Content-Type: ([^;\n]*)", self.answer, re.MULTILINE)
        return match[1] if match else ""

    def __str__(self) -> str:
        request = [f"{self.method} {self.target}", *(f"{name}: {value}" for name, value in self.headers)]
        if self.body:
            request += ["", *self.body.split("\n")]
        lines = [f"### {self.title}", *(f"> {line}".rstrip() for line in request)]
        return "\n".join([*lines, "", self.answer, ""])


@dataclass(frozen=True)
class GoldenFile:
    """The exchanges of one file, and its lines `Name: value`."""

    path: Path
    about: dict[str, str]
    exchanges: tuple[Exchange, ...]

    @property
    def name(self) -> str:
        return self.path.relative_to(GOLDEN).as_posix()

    def __str__(self) -> str:
        about = "".join(f"{name}: {value}\n" for name, value in self.about.items())
        return "\n".join([about, *map(str, self.exchanges)])

    def answered(self, app: Application, tokens: dict[str, str]) -> GoldenFile:
        """The file with the answers of an app, in the order of its requests."""
        return replace(self, exchanges=tuple(ask(app, exchange, tokens) for exchange in self.exchanges))


def read_files() -> list[GoldenFile]:
    return [read_file(path) for path in sorted(GOLDEN.glob("*/*.txt"))]


def read_file(path: Path) -> GoldenFile:
    # Not by universal newlines, and not `splitlines`: names may have other ends of lines than `\n`.
    head, *blocks = re.split(r"^### ", path.read_bytes().decode(), flags=re.MULTILINE)
    about = dict(line.split(": ", 1) for line in head.split("\n") if line)
    return GoldenFile(path, about, tuple(map(_parse, blocks)))


def _parse(block: str) -> Exchange:
    title, *lines = block.split("\n")
    count = next((number for number, line in enumerate(lines) if not line.startswith(">")), len(lines))
    request = [line[2:] for line in lines[:count]]
    end = request.index("") if "" in request else count
    method, target = request[0].split(" ")
    headers = tuple(tuple(line.split(": ", 1)) for line in request[1:end])
    answer = "\n".join(lines[count:]).strip("\n")
    return Exchange(title, method, target, headers, "\n".join(request[end + 1 :]), answer)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Answer:
    """An answer as the server would send it."""

    status: str
    headers: tuple[tuple[str, str], ...]
    body: bytes

    def header(self, name: str) -> str:
        """The value of a header, "" without it."""
        return dict(self.headers).get(name, "")

    @property
    def media_type(self) -> str:
        return self.header("Content-Type").partition(";")[0]


def ask(app: Application, exchange: Exchange, tokens: dict[str, str]) -> Exchange:
    """The exchange with the answer of an app. `<name>` in a header is replaced by the token of that name."""
    headers = {name: _TOKEN.sub(lambda match: tokens[match[1]], value) for name, value in exchange.headers}
    until = time.monotonic() + CHECK_SECONDS
    answer = send(app, exchange.method, exchange.target, headers, exchange.body)
    # Of `/readyz` until the first check of the store has ended, which runs in a thread of its own.
    while _NOT_CHECKED in answer.body and time.monotonic() < until:
        time.sleep(0.05)
        answer = send(app, exchange.method, exchange.target, headers, exchange.body)
    text = "\n".join(_lines(exchange, answer))
    assert not re.search(r"^(###|>) ", text, re.MULTILINE), f"{exchange.title}: has lines like a request"
    return replace(exchange, answer=text)


def send(app: Application, method: str, target: str, headers: dict[str, str], body: str = "") -> Answer:
    """The answer of a whole app, called as a server calls it.

    The body is compressed if the request has `Content-Encoding: gzip`.
    """
    payload = body.encode()
    # WSGI has bytes as latin-1 (PEP 3333).
    target = target.encode().decode("latin-1")
    if headers.get("Content-Encoding") == "gzip":
        payload = gzip.compress(payload, mtime=0)
    variables = {f"HTTP_{name.upper().replace('-', '_')}": value for name, value in headers.items()}
    variables["CONTENT_TYPE"] = variables.pop("HTTP_CONTENT_TYPE", "")
    path, _, query = target.partition("?")
    environ = {
        "REQUEST_METHOD": method,
        "REQUEST_URI": target,
        "PATH_INFO": path,
        "QUERY_STRING": query,
        "REMOTE_ADDR": "127.0.0.1",
        "SERVER_NAME": "127.0.0.1",
        "SERVER_PORT": "8080",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "HTTP_HOST": "127.0.0.1:8080",
        "CONTENT_LENGTH": str(len(payload)) if payload else "",
        "wsgi.url_scheme": "http",
        "wsgi.input": BytesIO(payload),
        **variables,
    }
    begun: list[tuple[str, list[tuple[str, str]]]] = []
    parts = app(environ, lambda status, headers, *_: begun.append((status, headers)))
    try:
        data = b"".join(parts)
    finally:
        if hasattr(parts, "close"):
            parts.close()
    ((status, answer_headers),) = begun
    return Answer(status, tuple(answer_headers), data)


def _lines(exchange: Exchange, answer: Answer) -> Iterator[str]:
    yield answer.status
    is_file = exchange.path in FILES and answer.status.startswith("200")
    varying = _varying(exchange, answer, is_file=is_file)
    for name, value in sorted(answer.headers):
        if name == "X-Request-ID" and value != dict(exchange.headers).get(name):
            assert _NEW_REQUEST_ID.fullmatch(value), value
        elif name in varying:
            yield f"{name}: (varies)"
        elif name == "Allow":
            # A set in Flask, whose order differs from process to process.
            yield f"{name}: {', '.join(sorted(value.split(', ')))}"
        elif COMMON_HEADERS.get(name) != value:
            yield f"{name}: {value}"
    for name in (*COMMON_HEADERS, "X-Request-ID"):
        if not answer.header(name):
            yield f"({name} is missing)"
    if answer.body:
        yield ""
        yield from [FILES[exchange.path]] if is_file else _body_lines(exchange, answer)


def _varying(exchange: Exchange, answer: Answer, *, is_file: bool) -> Sequence[str]:
    """The names of headers whose values depend on the machine or on how long a request took."""
    names = ["Date"]
    if is_file or exchange.path == "/metrics":
        names += ["Content-Length", "ETag", "Last-Modified"]
    if answer.status.startswith("429"):
        names += ["Content-Length", "Retry-After"]
    if answer.header("Content-Encoding"):
        # Libraries compress differently.
        names.append("Content-Length")
    return names


def _body_lines(exchange: Exchange, answer: Answer) -> Iterator[str]:
    """The lines of a body: an indented line of JSON and XML continues the one before it.

    Control characters are shown by their pictures, such as `␍`.
    """
    zipped = answer.header("Content-Encoding") == "gzip"
    body = gzip.decompress(answer.body) if zipped else answer.body
    if exchange.path in OUTLINES and answer.status.startswith("200"):
        yield from OUTLINES[exchange.path](body)
        return
    text = body.decode()
    if answer.status.startswith("429"):
        text = _SECONDS.sub("in (varies) s", text)
    if answer.media_type.endswith("json"):
        for line in text.removesuffix("\n").split("\n"):
            yield from fold(line)
        return
    if answer.media_type.endswith("+xml"):
        text = _ELEMENT.sub(r"\n  \g<0>", text)
    yield from text.removesuffix("\n").translate(_PICTURES).split("\n")
    if not text.endswith("\n"):
        yield "(no end of line)"


def _metrics(body: bytes) -> Iterator[str]:
    """The names and types of metrics: their values are those of the whole process."""
    yield from sorted(line for line in body.decode().split("\n") if line.startswith("# "))


def _openapi(body: bytes) -> Iterator[str]:
    """The operations of the OpenAPI document, whose bytes the entity tag has; other tests read it whole."""
    document = json.loads(body)
    yield f"openapi {document['openapi']}, {len(document['components']['schemas'])} schemas"
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            if method == "parameters":
                continue
            yield f"{method.upper()} {path}: {operation['operationId']}"
            query = [item["name"] for item in operation.get("parameters", ()) if item.get("in") == "query"]
            if query:
                yield f"  ?{' '.join(query)}"
            responses = operation["responses"]
            answers = (f"{status} {' '.join(item.get('content', ()))}" for status, item in responses.items())
            # Errors are problems everywhere.
            yield "  " + ", ".join(sorted(text.removesuffix(f" {PROBLEM}").strip() for text in answers))


OUTLINES = {"/metrics": _metrics, "/openapi.json": _openapi}
"""Paths of which only an outline of the body is shown."""


def differences(golden: GoldenFile, actual: GoldenFile) -> str:
    """The exchanges whose answers differ, each with the lines that do; "" if all are equal."""
    pairs = [(old, new) for old, new in zip(golden.exchanges, actual.exchanges, strict=True) if old != new]
    texts = []
    for old, new in pairs[:_DIFFERENCES_MAX]:
        lines = unified_diff(
            old.answer.split("\n"), new.answer.split("\n"), "golden", "answer", "", "", 3, ""
        )
        texts.append("\n".join([f"{golden.name}: {new.title}", f"{new.method} {new.target}", *lines]))
    if len(pairs) > _DIFFERENCES_MAX:
        texts.append(f"… and {len(pairs) - _DIFFERENCES_MAX} more answers of this file")
    return "\n\n".join(texts)
