"""Documents to record: a good one, and some whose names trip up whoever is not careful."""

from __future__ import annotations

from typing import Any

START_MS = 1_759_999_000_000

NAMES = (
    ".",
    "..",
    "s3://bucket/a",
    "50%|?&#+",
    "emoji 🙂",
    "\x1b[31mred\x1b[0m",
    "two\nlines",
    "[bold]x[/]",
    "'\"\\",
)


def document(run: str = "r1", **also: Any) -> dict[str, Any]:
    """A run that reads `orders` and writes `invoices`, both of namespace `shop`."""
    return {
        "namespace": "shop",
        "run": {"application": "a", "type": "t", "program": "p", "run": run, "startTime": START_MS},
        "operations": [
            {"type": "READ", "name": "read", "source": {"name": "orders"}, "outputs": ["net", "tax"]},
            {
                "type": "TRANSFORM",
                "name": "add",
                "inputs": [{"origin": "read", "name": "net"}, {"origin": "read", "name": "tax"}],
                "outputs": ["total"],
            },
            {
                "type": "WRITE",
                "name": "write",
                "destination": {"name": "invoices"},
                "inputs": [{"origin": "add", "name": "total"}],
            },
        ],
        **also,
    }


def _awkward(name: str) -> dict[str, Any]:
    payload = document(f"run of {name}")
    payload["operations"] = [
        {"type": "READ", "name": f"read {name}", "source": {"name": f"from {name}"}, "outputs": [name]},
        {
            "type": "WRITE",
            "name": "write",
            "description": name,
            "destination": {"name": name},
            "inputs": [{"origin": f"read {name}", "name": name}],
        },
    ]
    return payload


AWKWARD = [_awkward(name) for name in NAMES]
