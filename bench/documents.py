"""Documents of the benchmarks: runs of one hourly job, 2 kB and 20 fields each, three contents a day."""

from __future__ import annotations

import json
from collections.abc import Iterator

DAYS = 40
DAY_MS = 86_400_000
FIRST_DAY_MS = 20_000 * DAY_MS
CONTENTS = 3
NAMESPACE = "bench"
SOURCE, DESTINATION = "orders_raw", "orders"
RARE_DAY, RARE_UNTIL_MS = 5, DAY_MS // 3
"""Day and end of the content of the adversarial window, which occurs only in the first hours of that day."""


def generate(count: int) -> Iterator[bytes]:
    """Generate `count` documents in order of their starts, evenly over DAYS days."""
    operations = [json.dumps(_operations(content)).encode() for content in range(CONTENTS)]
    rare = json.dumps(_operations(CONTENTS)).encode()
    for number in range(count):
        start_ms = FIRST_DAY_MS + number * DAYS * DAY_MS // count
        day, within_ms = divmod(start_ms - FIRST_DAY_MS, DAY_MS)
        is_rare = day == RARE_DAY and within_ms < RARE_UNTIL_MS and number % 50 == 0
        content = rare if is_rare else operations[number % CONTENTS]
        yield document(f"{number:08x}-5b1e-7c33-9d2f-0242ac{number % 9973:06x}", start_ms, content)


def document(run: str, start_ms: int, operations: bytes) -> bytes:
    """One document, without a line end."""
    head = json.dumps(
        {
            "application": "shop",
            "version": "1.4",
            "type": "spark",
            "program": "nightly",
            "run": run,
            "startTime": start_ms,
        }
    )
    return b'{"run":%b,"operations":%b}' % (head.encode(), operations)


def single(number: int, start_ms: int) -> bytes:
    """One document for the route of single runs."""
    return document(f"single-{number:08x}", start_ms, json.dumps(_operations(0)).encode())


def _operations(content: int) -> list[dict[str, object]]:
    """A read of 20 fields, 8 transforms and a write: about 2 kB."""
    names = [f"field_{number}" for number in range(20)]
    steps: list[dict[str, object]] = [
        {
            "type": "TRANSFORM",
            "name": f"step_{number}",
            "description": f"content {content}",
            "inputs": [{"origin": "read", "name": name} for name in names[number::8]],
            "outputs": [f"made_{number}"],
        }
        for number in range(8)
    ]
    return [
        {
            "type": "READ",
            "name": "read",
            "description": "read the raw orders",
            "source": {"namespace": NAMESPACE, "name": SOURCE},
            "outputs": names,
        },
        *steps,
        {
            "type": "WRITE",
            "name": "write",
            "destination": {"namespace": NAMESPACE, "name": DESTINATION},
            "inputs": [{"origin": f"step_{number}", "name": f"made_{number}"} for number in range(8)],
        },
    ]
