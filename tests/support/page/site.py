"""A real server of the page over a store of its own, which tests stop, pause and start again."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import quote, urlencode

import requests

from tests.support.ports import free_port
from tests.support.waiting import PATIENCE_SECONDS, eventually

FLL = str(Path(sys.executable).with_name("fll"))


class Site:
    """`fll serve` with one worker, in a process group of its own."""

    def __init__(self, folder: Path, *, store: str = "", **settings: object) -> None:
        """Serve the SQLite file of `folder`, or the store of a URL; `settings` are those of `FLL_*`."""
        self.store = store or f"sqlite:///{folder}/store.db"
        self.url = f"http://127.0.0.1:{free_port()}"
        self._log = folder / "server.log"
        values = {f"FLL_{name.upper()}": str(value) for name, value in settings.items()}
        self._environment = {**os.environ, **values}
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Site:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def load_sample(self) -> None:
        """Load the ninety days of the sample that end now."""
        subprocess.run([FLL, "sample", "--store", self.store], check=True, capture_output=True)

    def start(self) -> None:
        """Start the server, and wait until it answers."""
        port = self.url.rpartition(":")[2]
        command = [FLL, "serve", "--store", self.store, "--port", port, "--workers", "1"]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                command, stdout=log, stderr=log, env=self._environment, start_new_session=True
            )
        eventually(self._is_alive, f"the server answers, see {self._log}")

    def stop(self) -> None:
        """Kill the server; connections to it are refused from now on."""
        if self._process is not None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait(PATIENCE_SECONDS)
            self._process = None

    def pause(self) -> None:
        """Let the server accept connections without answering."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let a paused server answer."""
        self._signal(signal.SIGCONT)

    def get(self, path: str, **parameters: object) -> Any:
        """The JSON of a route below `/v3/`; raises requests.HTTPError."""
        response = requests.get(f"{self.url}/v3/{path}", parameters, timeout=120)  # type: ignore[arg-type]
        response.raise_for_status()
        return response.json()

    def send(self, method: str, path: str, document: object) -> None:
        """Send a document to a route below `/v3/`; raises AssertionError where it is refused."""
        response = requests.request(method, f"{self.url}/v3/{path}", json=document, timeout=300)
        assert response.ok, response.text

    def link(self, **state: object) -> str:
        """The URL of the page in a state, such as `view="dataset", ns="bank"`; `on_name` is `on.name`."""
        names = {name.replace("_", "."): str(value) for name, value in state.items()}
        return f"{self.url}/?{urlencode(names, quote_via=quote)}" if names else f"{self.url}/"

    def _signal(self, number: signal.Signals) -> None:
        assert self._process is not None
        os.killpg(self._process.pid, number)

    def _is_alive(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, self._log.read_text(errors="replace")
        try:
            return requests.get(f"{self.url}/healthz", timeout=120).ok
        except requests.RequestException:
            return False


def path(**names: str) -> str:
    """The path below `/v3/` of a field, dataset or namespace: `path(ns="bank", name="Customers")`."""
    parts: Mapping[str, str] = {"ns": "namespaces", "name": "endpoints", "field": "fields"}
    return "/".join(f"{parts[kind]}/{quote(name, safe='')}" for kind, name in names.items())
