"""A proxy between a client and a real gateway, through which tests disturb connections."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from types import TracebackType


class Gate:
    """Passes bytes to a gateway and back. It can hold replies back, end connections, and count them."""

    def __init__(self, gateway: tuple[str, int]) -> None:
        self._gateway = gateway
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        self.delay_seconds = 0.0
        self._ended = threading.Event()
        self.accepted = 0
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        self._lock = threading.Lock()

    def __enter__(self) -> Gate:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self.shut()
        self.end_connections()

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def open_connections(self) -> int:
        """Connections that neither side has ended."""
        with self._lock:
            return len(self._pairs)

    def shut(self) -> None:
        """Take no more connections."""
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()

    def end_connections(self) -> None:
        """End them all, as a gateway does with idle ones, or one that dies with every one."""
        with self._lock:
            pairs, self._pairs = self._pairs, []
        for pair in pairs:
            for end in pair:
                _shut(end)

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listening.accept()
            except OSError:
                return
            pair = client, socket.create_connection(self._gateway)
            with self._lock:
                self._pairs.append(pair)
                self.accepted += 1
            threading.Thread(target=self._pass_both, args=(pair,), daemon=True).start()

    def _pass_both(self, pair: tuple[socket.socket, socket.socket]) -> None:
        client, gateway = pair
        replies = threading.Thread(target=self._pass, args=(gateway, client, True), daemon=True)
        replies.start()
        self._pass(client, gateway, False)
        replies.join()
        with self._lock:
            self._pairs = [open_pair for open_pair in self._pairs if open_pair is not pair]
        # By the thread that has waited for the other: a thread about to read a closed descriptor would read
        # from the next connection, which gets the same number.
        client.close()
        gateway.close()

    def _pass(self, source: socket.socket, target: socket.socket, delayed: bool) -> None:
        with suppress(OSError):
            while data := source.recv(65_536):
                self._ended.wait(self.delay_seconds if delayed else 0)
                target.sendall(data)
        _shut(source)
        _shut(target)


def _shut(end: socket.socket) -> None:
    with suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)
