"""Lines of plan files as the listener writes them, and a process that appends them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

START_MS = 1_795_447_612_265

APPLICATION = {
    "application": {
        "id": "local-1795447613671",
        "name": "job one",
        "user": "root",
        "version": "4.3.0",
        "start": START_MS,
    }
}
END = {"applicationEnd": {"time": START_MS + 100_000, "dropped": 0}}


def execution(number: int, *, source: str = "/data/in", target: str = "") -> dict[str, object]:
    """The line of a job that wrote `n * 2 AS d` of the rows with `d > 3`, as PySpark 4.3 gave it."""
    start = START_MS + 1_000 + number
    target = target or f"/data/out/{number}"
    return {
        "execution": {"id": number, "root": number, "start": start, "end": start + 600, "action": "command"},
        "datasets": [
            {"format": "ParquetFileFormat", "kind": "files", "paths": [f"file:{source}"]},
            {"kind": "files", "paths": [f"file:{target}"]},
        ],
        "plan": {
            "expressions": [
                ["AttributeReference", [], 0, "n"],
                ["Literal", []],
                ["Cast", [1], None, "long"],
                ["Multiply", [0, 2]],
                ["Alias", [3], 1, "d"],
                ["AttributeReference", [], 1, "d"],
                ["Literal", []],
                ["Cast", [6], None, "long"],
                ["GreaterThan", [5, 7]],
            ],
            "nodes": [
                ["LogicalRelation", [], {"output": [0], "dataset": 0}],
                ["Project", [0], {"projectList": [4]}],
                ["Filter", [1], {"condition": 8, "output": [5]}],
                [
                    "InsertIntoHadoopFsRelationCommand",
                    [2],
                    {"outputColumnNames": ["d"], "target": 1, "query": {"node": 2}},
                ],
            ],
        },
    }


def lines(count: int, *, is_ended: bool = True) -> list[bytes]:
    """A plan file with `count` writes."""
    members = [APPLICATION, *(execution(number) for number in range(count)), *([END] if is_ended else [])]
    return [json.dumps(line).encode() + b"\n" for line in members]


def append(path: Path, content: bytes, *, pause_seconds: float = 0.0) -> subprocess.Popen[bytes]:
    """A process that appends content to a file in small pieces, so that lines are seen unfinished."""
    program = """
import sys, time
path, pause = sys.argv[1], float(sys.argv[2])
content = sys.stdin.buffer.read()
with open(path, "ab", buffering=0) as file:
    for start in range(0, len(content), 700):
        file.write(content[start:start + 700])
        time.sleep(pause)
"""
    process = subprocess.Popen(
        [sys.executable, "-c", program, str(path), str(pause_seconds)], stdin=subprocess.PIPE
    )
    assert process.stdin
    process.stdin.write(content)
    process.stdin.close()
    return process
