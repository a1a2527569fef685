"""axe on what the page shows: in light and dark, as wide as a desk, at 200 % zoom, and as a phone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.support.page.visit import Visit

AXE = Path(__file__).parents[3] / "page" / "node_modules" / "axe-core" / "axe.min.js"
# 200 % zoom of a window of 1280 is a window of 640 to the page.
SIZES = {"desk": (1400, 900), "zoomed": (640, 512), "phone": (360, 740)}

FIND_VIOLATIONS = """
async () => (await axe.run()).violations.flatMap(({id, nodes}) =>
    nodes.map(({target, failureSummary}) => `${id} ${target}: ${failureSummary}`))
"""


def violations(visit: Visit) -> list[str]:
    """Run axe on what the page shows now; each violation with its element."""
    if not visit.page.evaluate("() => 'axe' in window"):
        visit.page.evaluate(AXE.read_text(encoding="utf-8"))
    messages: list[Any] = visit.page.evaluate(FIND_VIOLATIONS)
    return [str(message) for message in messages]


def assert_accessible(visit: Visit) -> None:
    """Walk through the sizes and colours: no violation, and nowhere is the page wider than its window."""
    messages = []
    for size, (width, height) in SIZES.items():
        visit.page.set_viewport_size({"width": width, "height": height})
        for scheme in ("light", "dark"):
            visit.page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
            visit.settle()
            messages += [f"{size} {scheme}: {message}" for message in violations(visit)]
        if visit.page.evaluate("() => document.documentElement.scrollWidth > innerWidth"):
            messages.append(f"{size}: wider than {width} px")
    assert not messages, "\n".join(messages)
