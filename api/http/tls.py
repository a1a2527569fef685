"""TLS for the event loop: sockets whose handshake and records never wait for their client."""

from __future__ import annotations

import errno
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Lock
from typing import Any

from fll_hbase.runtime.config import Settings
from fll_hbase.runtime.errors import ConfigurationError


def tls_context(settings: Settings) -> ssl.SSLContext | None:
    """Return the TLS context of FLL_TLS_CERT and FLL_TLS_KEY, or None if neither is set.

    Raises ConfigurationError if only one is set or they are not a certificate and its key.
    """
    cert, key = settings.tls_cert, settings.tls_key
    if not cert and not key:
        return None
    if not cert or not key:
        raise ConfigurationError("TLS needs both FLL_TLS_CERT and FLL_TLS_KEY")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    # A client that renegotiates again and again would keep the event loop busy.
    context.options |= ssl.OP_NO_RENEGOTIATION
    try:
        # Without a password function, OpenSSL would ask for one on the terminal.
        context.load_cert_chain(cert, key, password=_no_password)
    except (OSError, ValueError) as error:
        raise ConfigurationError(
            f"FLL_TLS_CERT={cert} and FLL_TLS_KEY={key} are not a certificate and its key: {error}"
        ) from error
    return context


def _no_password() -> str:
    """Raise ValueError: an encrypted key needs a password, and this server never asks for one."""
    raise ValueError("the key is encrypted; decrypt it, and let only the server's user read it")


class TlsSocket:
    """A connected, non-blocking socket with TLS, with the methods that the event loop and waitress use.

    The handshake is part of the first reads. A call that would have to wait raises BlockingIOError, and any
    other failure is another OSError.
    """

    def __init__(self, context: ssl.SSLContext, sock: socket.socket) -> None:
        """Wrap a socket, which this object owns from now on. Raises OSError."""
        sock.setblocking(False)
        self._socket = context.wrap_socket(sock, server_side=True, do_handshake_on_connect=False)
        # The event loop reads while a request thread sends; OpenSSL allows only one call at a time.
        self._lock = Lock()

    def recv(self, size: int) -> bytes:
        """Return up to `size` bytes, or none at the end of input. Raises BlockingIOError if none has arrived.

        `size` must be at least 16 KiB, the size of a record: epoll does not see bytes left in OpenSSL's
        buffer.
        """
        with self._call():
            return self._socket.recv(size)

    def send(self, data: bytes) -> int:
        """Send some of the bytes; return how many. Raises BlockingIOError if none can be sent now."""
        with self._call():
            return self._socket.send(data)

    def shutdown(self, direction: int) -> None:
        """Signal the client that nothing more is sent. Raises OSError."""
        with self._lock:
            # The client's own `close_notify` is not awaited. ValueError means that there was no handshake.
            with suppress(ssl.SSLWantReadError, ssl.SSLWantWriteError, ValueError):
                # Sends the alert `close_notify`, which shows the client that the answer is complete.
                self._socket.unwrap()
            self._socket.shutdown(direction)

    def close(self) -> None:
        """Close the socket."""
        with self._lock:
            self._socket.close()

    def __getattr__(self, name: str) -> Any:
        """Return a member of the socket that needs no TLS, such as `fileno` or `setsockopt`."""
        return getattr(self._socket, name)

    @contextmanager
    def _call(self) -> Iterator[None]:
        """Return a context for one call of OpenSSL, which raises BlockingIOError instead of waiting."""
        with self._lock:
            try:
                yield
            except (ssl.SSLWantReadError, ssl.SSLWantWriteError) as error:
                # With its number, because waitress compares the number, not the class.
                raise BlockingIOError(errno.EWOULDBLOCK, "the client is not ready") from error
