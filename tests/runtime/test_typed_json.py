"""Types that many threads use first, at once, end no process."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from fll_hbase.runtime import typed_json

ROOT = Path(__file__).resolve().parents[2]

_RACE = """
import json, sys, threading
import msgspec
from fll_hbase.runtime import typed_json

sys.setswitchinterval(1e-6)
DEPTH, THREADS = 30, 8


def nested(inner, depth):
    for number in range(depth):
        inner = msgspec.defstruct(f"S{number}", [("a", inner), ("b", "list[int] | None", None)])
    return inner


value = 1
for _ in range(DEPTH):
    value = {"a": value}
for number in range(20):
    shape, start = nested(int, DEPTH), threading.Barrier(THREADS)

    def use():
        start.wait()
        %s

    threads = [threading.Thread(target=use) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
"""


def _race(use: str) -> int:
    return subprocess.run([sys.executable, "-c", _RACE % use], check=False).returncode


@pytest.mark.slow
@pytest.mark.parametrize("use", ["decode(json.dumps(value), shape)", "convert(value, shape)"])
def test_threads_use_a_new_type_at_once(use: str) -> None:
    assert _race(f"typed_json.{use}") == 0


def test_no_module_decodes_a_type_otherwise() -> None:
    """Ruff forbids the decoders and `convert` of msgspec, but cannot see the argument `type`."""
    calls = [
        f"{path.name}:{node.lineno}"
        for package in ("fll_hbase", "api")
        for path in (ROOT / package).rglob("*.py")
        if path.name != "typed_json.py" and "msgspec" in (text := path.read_text(encoding="utf-8"))
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call)
        and ast.unparse(node.func) in ("msgspec.json.decode", "msgspec.msgpack.decode")
        and (len(node.args) > 1 or node.keywords)
    ]
    assert calls == []


def test_a_decoder_is_made_once() -> None:
    decoder = typed_json.decoder(list[str])
    assert typed_json.decoder(list[str]) is decoder
    assert typed_json.decode(b'["a"]', list[str]) == ["a"]
    with pytest.raises(msgspec.ValidationError):
        typed_json.convert([1], list[str])


@pytest.mark.parametrize("text", [b"", b'["\xff"]', b"[" * 100_000])
def test_every_other_text_raises_one_error(text: bytes) -> None:
    with pytest.raises(msgspec.DecodeError):
        typed_json.decode(text, list[Any])
