"""The page in Chromium: when the first picture of a graph is there, panning, and selecting a field.

Times are of Chromium without a GPU, by its own clock: compare them with each other, not with a desktop.
"""

from __future__ import annotations

import contextlib
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

from bench import chromium
from bench.layers import LARGE, MEDIUM, NAMESPACE, ROOT, Layers
from bench.report import print_figure
from bench.server import Server, call

LOADS, MOVES, CLICKS = 5, 60, 7
SAMPLE = "view=graph&ns=bank&name=DailyTransactions&field=UID&direction=forward&level=5"
LAYERS = f"view=graph&ns={NAMESPACE}&name={ROOT}&direction=forward&level=32"
FRAME_MS = 1000 / 60

# The time of the first frame after the boxes are there, since the navigation began.
PICTURE_MS = """
count => new Promise((resolve, reject) => {
    setTimeout(() => reject(new Error('no picture')), 30000);
    const look = () => document.querySelectorAll('[data-box]').length >= count
        ? requestAnimationFrame(() => resolve(performance.now()))
        : requestAnimationFrame(look);
    look();
})
"""
RECORD_FRAMES = """
() => {
    window.frames_ms = [];
    let last = performance.now();
    const frame = now => {
        window.frames_ms.push(now - last);
        last = now;
        window.next_frame = requestAnimationFrame(frame);
    };
    window.next_frame = requestAnimationFrame(frame);
}
"""
RECORDED_FRAMES = "() => { cancelAnimationFrame(window.next_frame); return window.frames_ms; }"
# From the click to the first frame after the field is marked as selected.
SELECT_MS = """
share => new Promise((resolve, reject) => {
    setTimeout(() => reject(new Error('nothing was selected')), 30000);
    const rows = [...document.querySelectorAll('[data-row][aria-pressed=false]')];
    const row = rows[Math.floor(share * rows.length)];
    const [name] = row.getAttribute('aria-label').split(', from ');
    const isSelected = () => document.querySelector('[data-row][aria-pressed=true]')
        ?.getAttribute('aria-label').startsWith(`${name}, `);
    const start = performance.now();
    const look = () => isSelected()
        ? requestAnimationFrame(() => resolve(performance.now() - start))
        : requestAnimationFrame(look);
    row.dispatchEvent(new MouseEvent('click', {bubbles: true}));
    look();
})
"""


def bench(sizes: Sequence[int]) -> None:
    """Measure the sample, a medium and a large graph, and print their ratios; `sizes` has no effect."""
    with (
        sync_playwright() as playwright,
        contextlib.closing(chromium.launch(playwright)) as browser,
    ):
        pictures = {name: _measure(browser, name) for name in ("sample", "M", "L")}
    print_figure("picture, L / sample", pictures["L"] / pictures["sample"], "", target="at most 4")


def _measure(browser: Browser, name: str) -> float:
    """Print the figures of one graph; returns the time of its picture in milliseconds."""
    layers = {"M": MEDIUM, "L": LARGE}.get(name)
    boxes, target = {"sample": (7, 500), "M": (50, 1_000), "L": (300, 1_500)}[name]
    with _serving(layers) as url:
        page = browser.new_page(viewport={"width": 1400, "height": 900})
        address = f"{url}/?{SAMPLE if layers is None else LAYERS}"
        pictures = [_picture_ms(page, address, boxes) for _ in range(LOADS)]
        if layers is not None:
            _picture_ms(page, f"{address}&on={NAMESPACE}&on.name={ROOT}&on.field=field_00", boxes)
        # Before the drag: the page takes no click that ends one.
        clicks = [page.evaluate(SELECT_MS, (number + 0.5) / CLICKS) for number in range(CLICKS)]
        frames = _pan(page)
        page.close()
    picture = statistics.median(pictures)
    print_figure(f"{name}: first picture, p50 of {LOADS}", picture, "ms", target=f"at most {target}")
    quantiles = statistics.quantiles(frames, n=20)
    print_figure(f"{name}: frame while panning, p50", statistics.median(frames), "ms")
    print_figure(f"{name}: frame while panning, p95", quantiles[-1] / FRAME_MS, "frames", target="at most 2")
    print_figure(f"{name}: click to selected, p50", statistics.median(clicks), "ms", target="at most 100")
    return picture


def _picture_ms(page: Page, address: str, boxes: int) -> float:
    page.goto("about:blank")
    page.goto(address, wait_until="commit")
    milliseconds: float = page.evaluate(PICTURE_MS, boxes)
    return milliseconds


def _pan(page: Page) -> list[float]:
    """Drag the picture in a circle; the time of each frame in milliseconds."""
    page.mouse.move(500, 700)
    page.mouse.down()
    page.evaluate(RECORD_FRAMES)
    for move in range(MOVES):
        page.mouse.move(500 + 3 * (move if move < MOVES // 2 else MOVES - move), 700 - 2 * (move % 20))
    frames: list[float] = page.evaluate(RECORDED_FRAMES)
    page.mouse.up()
    return frames


@contextlib.contextmanager
def _serving(layers: Layers | None) -> Iterator[str]:
    """Serve the sample, or the layers that were recorded a minute ago; yields the URL."""
    with tempfile.TemporaryDirectory() as folder:
        store = f"sqlite:///{folder}/page.db"
        if layers is None:
            command = [str(Path(sys.executable).with_name("fll")), "sample", "--store", store]
            subprocess.run(command, check=True, capture_output=True)
        server = Server(store)
        try:
            if layers is not None:
                body = b"\n".join(layers.documents(int(time.time() * 1000) - 60_000))
                call(server.connect(), "POST", f"/v3/namespaces/{NAMESPACE}/lineage/batch", body)
            yield f"http://127.0.0.1:{server.port}"
        finally:
            server.stop()
