"""Calls that the parser makes for a text, counted in a process with its sources: a compiled one shows none.

Run as a program, it reads pairs of dialect and text as JSON from its input, and prints the calls of each.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from collections.abc import Sequence
from importlib.machinery import FileFinder, ModuleSpec, SourceFileLoader
from pathlib import Path


def count_parser_calls(cases: Sequence[tuple[str, str]]) -> list[int]:
    """Calls of Python functions for each dialect and text, which is read or refused."""
    program = [sys.executable, "-m", "tests.support.parser_calls"]
    done = subprocess.run(program, input=json.dumps(cases).encode(), stdout=subprocess.PIPE, check=True)
    return list(map(int, json.loads(done.stdout)))


class _Sources:
    """Finds modules of sqlglot by their sources alone."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: object = None) -> ModuleSpec | None:
        if path is None or not name.startswith("sqlglot."):
            return None
        finders = (FileFinder(folder, (SourceFileLoader, [".py"])) for folder in path)
        return next(filter(None, (finder.find_spec(name) for finder in finders)), None)


def _calls(dialect: str, text: str) -> int:
    from fll_hbase.runtime.errors import LineageError
    from fll_hbase.sources.sql.parser import parse_script

    calls = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(count)
    try:
        parse_script(text, dialect)
    except LineageError:
        pass
    finally:
        sys.setprofile(None)
    return calls


if __name__ == "__main__":
    sys.meta_path.insert(0, _Sources)  # type: ignore[arg-type]
    parser = importlib.util.find_spec("sqlglot.parser")
    assert parser is not None
    assert Path(str(parser.origin)).suffix == ".py"
    cases = json.load(sys.stdin)
    # Those of the first text of a dialect also load it, and those of the first broken one all that are tried.
    for name in {dialect for dialect, _ in cases}:
        _calls(name, "INSERT INTO o SELECT x FROM t")
        _calls(name, "INSERT INTO o SELECT x y z FROM t")
    print(json.dumps([_calls(*case) for case in cases]))
