"""Hosts that a request may name: a web page of another site must not use a server on its reader's machine.

A page can make a browser send requests to 127.0.0.1, and by DNS rebinding under the page's own name. Then it
may read the answers, too. Such requests name that site in Host or Origin, which scripts cannot change.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from http import HTTPStatus
from ipaddress import ip_address
from urllib.parse import urlsplit

from flask import Flask, Request, request
from werkzeug.exceptions import Forbidden, HTTPException

from fll_hbase.runtime.config import Settings

from .origins import allowed_origins

ANY = "*"
SITE_HEADER, CROSS_SITE = "Sec-Fetch-Site", "cross-site"
"""What browsers say of the page that asks, which scripts cannot change."""

_LOCAL = "localhost"
_READING = frozenset({"GET", "HEAD", "OPTIONS"})


class MisdirectedRequest(HTTPException):
    """A Host that this server does not answer for (RFC 9110, 15.5.20), which werkzeug has no class for."""

    code = HTTPStatus.MISDIRECTED_REQUEST.value


@dataclass(frozen=True, slots=True)
class AllowedHosts:
    """Names that are allowed beside `localhost` and addresses, or `is_any` if every name is.

    `origins` are those of other sites whose pages may change something.
    """

    names: frozenset[str]
    is_any: bool = False
    origins: frozenset[str] = frozenset()

    def allows(self, authority: str) -> bool:
        """Return whether Host or the authority of an origin may be used: a name, with or without a port."""
        name = host_name(authority)
        # Addresses are harmless: only a name can be made to lead elsewhere than to the site that has it.
        return self.is_any or name in self.names or name == _LOCAL or _is_address(name)


def allowed_hosts(settings: Settings) -> AllowedHosts:
    """Return the hosts of FLL_ALLOWED_HOSTS. Without any, all on an address that others can reach."""
    names = frozenset(name.strip().lower() for name in settings.allowed_hosts.split(",") if name.strip())
    is_open = not names and not is_loopback(settings.host)
    return AllowedHosts(names, is_open or ANY in names, allowed_origins(settings))


def is_loopback(host: str) -> bool:
    """Return whether an address to listen on is reached from this machine alone."""
    name = host.lower().rstrip(".")
    return name == _LOCAL or (_is_address(name) and ip_address(name).is_loopback)


@lru_cache(maxsize=256)
def host_name(authority: str) -> str:
    """Return the name or address of `host:port` in lower case, empty for text that is neither."""
    try:
        return (urlsplit(f"//{authority}").hostname or "").rstrip(".")
    except ValueError:
        return ""


@lru_cache(maxsize=256)
def _is_address(name: str) -> bool:
    """Return whether a text is an IPv4 or IPv6 address."""
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def register_host_check(app: Flask, settings: Settings) -> None:
    """Register hooks on the app that refuse what pages of other sites ask for, and foreign hosts.

    Where every host is allowed, no host is foreign.
    """
    hosts = allowed_hosts(settings)
    app.before_request(lambda: _check_site(request, hosts))
    if not hosts.is_any:
        app.before_request(lambda: _check_request(request, hosts))


def _check_site(req: Request, hosts: AllowedHosts) -> None:
    """Raise Forbidden for a request that a page of another site makes a browser send, except for a link."""
    if req.headers.get(SITE_HEADER) != CROSS_SITE or req.headers.get("Origin") in hosts.origins:
        return
    # Who follows a link sees the answer; the page with the link does not.
    is_link = req.method == "GET" and req.headers.get("Sec-Fetch-Dest") == "document"
    if not is_link:
        raise Forbidden(
            "a page of another site may not send requests here; list trusted origins in FLL_CORS_ORIGINS"
        )


def _check_request(req: Request, hosts: AllowedHosts) -> None:
    """Raise MisdirectedRequest for a foreign Host, Forbidden for a change that another site asks for."""
    host = req.environ.get("HTTP_HOST", "")
    # Without Host (HTTP/1.0) it is no browser.
    if host and not hosts.allows(host):
        raise MisdirectedRequest(f"this server does not answer for host {host[:100]!r}; {_ADVICE}")
    origin = req.headers.get("Origin")
    if origin is None or req.method in _READING:
        return
    authority = origin.rpartition("//")[2]
    # Not `allows`: another server at `localhost` or at an address is another site.
    if authority != host and host_name(authority) not in hosts.names and origin not in hosts.origins:
        raise Forbidden(f"a page of origin {origin[:100]!r} may not change anything here; {_ADVICE}")


_ADVICE = "add it to FLL_ALLOWED_HOSTS if it is a name of this server or of its proxy"
