"""A visit of the page in a browser context of its own, which notes what no visit may cause."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from playwright.sync_api import BrowserContext, ConsoleMessage, Locator, Page, Request, expect

FAILED_LOAD = "Failed to load resource"
"""Chromium reports each answer of 400 and above, and each refused connection, as an error of the console."""

LOCAL_SCHEMES = frozenset({"data", "blob", "about"})


@dataclass
class Visit:
    """One page of a site as a person uses it; `faults` are errors, dialogs and requests elsewhere."""

    context: BrowserContext
    page: Page
    requests: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    origin: str = ""

    def open(self, url: str) -> Page:
        """Load a URL, and wait until its screen stands: its heading is there, and nothing is pending."""
        self.start(url)
        self.settle()
        return self.page

    def start(self, url: str) -> None:
        """Load a URL without waiting for its answers."""
        self.origin = "{0.scheme}://{0.netloc}".format(urlsplit(url))
        self.page.goto(url)

    def settle(self) -> None:
        """Wait until the screen has its answers, or its problem."""
        expect(self.page.get_by_role("main")).to_be_visible()
        expect(self.page.locator("[aria-busy=true], .skeleton")).to_have_count(0)

    def text(self) -> str:
        """The text of the page, also of what is clipped or a tooltip of the drawing."""
        return self.page.locator("body").text_content() or ""

    def names(self, name: str) -> bool:
        """Whether a name can be read: it is in the text, or the tooltip of its shortened form."""
        titles = self.page.locator("[title]").evaluate_all("all => all.map(one => one.title)")
        return name in self.text() or any(name in title for title in titles)

    def watch(self) -> None:
        """Note requests and faults from now on."""
        self.page.on("request", self._on_request)
        self.page.on("console", self._on_console)
        self.page.on("pageerror", lambda error: self.faults.append(f"uncaught {error}"))
        self.page.on("dialog", lambda dialog: self.faults.append(f"dialog {dialog.message}"))

    def _on_request(self, request: Request) -> None:
        url = urlsplit(request.url)
        if url.scheme in LOCAL_SCHEMES:
            return
        self.requests.append(request.url)
        if f"{url.scheme}://{url.netloc}" != self.origin:
            self.faults.append(f"request to {request.url}")

    def _on_console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning") and not message.text.startswith(FAILED_LOAD):
            self.faults.append(f"console: {message.text}")


def drawn_field(page: Page, name: str, dataset: str) -> Locator:
    """A field of the drawing, by the beginning of what a screen reader says of it."""
    return page.locator(f"[role=button][aria-label^={json.dumps(f'{name} of {dataset},')}]")
